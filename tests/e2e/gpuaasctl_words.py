#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every command and option of gpuaasctl stands in --help, in the manual page and in the completion
of bash, which are made of one table; and the manual page and the completion work."""

import os
import re
import subprocess
import tempfile

from lib import ctl, harness
from lib.ctl import OK, ROOT
from lib.harness import expect

PAGE = os.path.join(ROOT, "docs", "man", "gpuaasctl.1")


def asked(build, *words, status=OK):
    return ctl.Ctl(build, "/nonexistent").text(*words, server=False, status=status)


def commands(build):
    """{words: its --help}, as --help lists them."""
    shown = asked(build, "--help").split("\nExit status")[0]
    listed = re.findall(r"(?m)^  (\S+(?: \S+)*?)  +\S", shown)
    expect(len(listed) > 8 and "sessions kill" in listed, f"{listed}")
    return {words: asked(build, *words.split(), "--help") for words in listed}


def options(text):
    return set(re.findall(r"(?m)^  (?:-\w, |    )(--[a-z-]+)", text))


def test_help(build):
    for words, text in commands(build).items():
        expect(text.startswith(f"usage: gpuaasctl {words}") and f"\n{words}: " in text and
               "--help" in options(text) and "\nExit status:\n  0  it is done\n" in text, text)
        group = words.split()[0]
        if group != words:
            shown = asked(build, group, "--help")
            expect(f"\n  {words} " in shown or shown.startswith(f"usage: gpuaasctl {group} ["),
                   shown)
        expect(all(len(line) <= 110 for line in text.splitlines()), text)


def test_manual_page(build):
    """The page in docs/ is what the command writes, and has everything."""
    written = asked(build, "--manual")
    with open(PAGE, encoding="utf-8") as file:
        expect(file.read() == written + "\n", "docs/man/gpuaasctl.1 is old: gpuaasctl --manual")
    shown = subprocess.run(["man", "-l", PAGE] if os.path.exists("/usr/bin/man") else
                           ["nroff", "-man", PAGE], check=True, capture_output=True, text=True,
                           env={**os.environ, "MANWIDTH": "100", "LC_ALL": "C.UTF-8"})
    text = re.sub(r"\x1b\[[\d;]*m|.\x08", "", shown.stdout).replace("\u2010", "-")
    expect(not shown.stderr, shown.stderr)
    flat = re.sub(r"\s+", " ", text.replace("\u2212", "-"))
    for words, help_text in commands(build).items():
        expect(f"{words} " in flat, f"{words} is missing in the page")
        for option in options(help_text):
            expect(option in flat, f"{option} of {words} is missing in the page")


def completed(script, line):
    """The words that bash offers behind those of `line`, the last of which is being written."""
    words = line.split(" ")
    ask = (f". {script}; compopt() {{ :; }}; COMP_WORDS=({' '.join(map(repr, words))}); "
           f"COMP_CWORD={len(words) - 1}; _gpuaasctl; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
    got = subprocess.run(["bash", "-c", ask], check=True, capture_output=True, text=True,
                         stdin=subprocess.DEVNULL)
    expect(not got.stderr, got.stderr)
    return set(got.stdout.split())


def test_completion(build):
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "gpuaasctl")
        with open(script, "w", encoding="utf-8") as file:
            file.write(asked(build, "completion", "bash"))
        found = commands(build)
        firsts = {words.split()[0] for words in found}
        expect(completed(script, "gpuaasctl ") == firsts, "the first words")
        for words, text in found.items():
            expect(completed(script, f"gpuaasctl {words} --") == options(text), f"of {words}")
            if " " in words:
                first, second = words.split()
                expect(second in completed(script, f"gpuaasctl {first} "), f"behind {first}")
        expect(completed(script, "gpuaasctl ses") == {"sessions"}, "a beginning")
        expect(completed(script, "gpuaasctl gpus -o ") == {"wide"}, "a value")


def test_installed_completion(build):
    with open(build.path("share", "bash-completion", "completions", "gpuaasctl"),
              encoding="utf-8") as file:
        expect(file.read() == asked(build, "completion", "bash") + "\n", "it is old")


if __name__ == "__main__":
    harness.main(globals())
