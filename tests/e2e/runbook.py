#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/operations.md, from its first command to its last, as they stand there: in folders, with
names and with addresses of their own (namespaces), where the machine allows that."""

import os
import re
import subprocess
import tempfile

from lib import harness, namespaces
from lib.harness import expect

DOCUMENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs",
                        "operations.md")
COMMAND = r"(gpuaasctl|gpuaasd|curl|mv|GPUAAS_\w+=\S+ .*gpuaasctl) "
# Indented lines that are neither commands nor the configuration.
OTHERS = {"gpu1,gpu2:9960 gpuaas_...": "a file of tokens",
          "*.lab.example.org gpuaas_...": "a file of tokens"}
# Steps that the text around a command describes.
BEFORE = {"GPUAAS_CA=ca.pem": "cp /var/lib/gpuaas/ca/ca.pem .",
          "gpuaasctl db restore": "stop"}
AFTER = {"gpuaasd --config": "ready",
         "gpuaasctl token issue": "GPUAAS_CA=/var/lib/gpuaas/ca/ca.pem "
                                  "GPUAAS_TOKEN_FILE=lab.token $PRELOAD gpuaas run --servers "
                                  "tls://gpu1 -- ./app",
         "gpuaasctl db restore": "start"}

SCRIPT = """
set -e
ip link set lo up
{own}
ready() {{
    for _ in $(seq 300); do grep -q 'ready tls' log && return; sleep 0.1; done; cat log; exit 1
}}
stop() {{ kill $server; wait $server; }}
start() {{ gpuaasd --config /etc/gpuaas/gpuaasd.conf 2> log & server=$!; ready; }}
trap 'kill $server 2>/dev/null; wait' EXIT
{commands}
echo END
"""


def indented():
    """The lines of all indented pieces, and the configuration, which is the first."""
    with open(DOCUMENT, encoding="utf-8") as f:
        text = f.read()
    pieces = [re.sub(r"(?m)^    ", "", piece)
              for piece in re.findall(r"(?m)^((?:    .*\n(?:\n(?=    ))?)+)", text)]
    return pieces[0], [line for piece in pieces[1:] for line in piece.splitlines() if line]


def inline():
    """Commands of gpuaasctl within the text, with their line breaks taken out."""
    with open(DOCUMENT, encoding="utf-8") as f:
        text = re.sub(r"(?m)^    .*\n", "", f.read())
    return [" ".join(words.split()) for words in re.findall(r"`(gpuaasctl [^`]+)`", text)]


def test_every_line_is_run(_):
    config, lines = indented()
    expect(config.startswith("[server]\n"), config)
    strange = [line for line in lines if not re.match(COMMAND, line) and line not in OTHERS]
    expect(not strange, f"neither a command nor on the list: {strange}")
    expect(set(OTHERS) <= set(lines), "the list has nothing else")


def test_commands_of_the_text(build):
    """gpuaasctl knows them, and their options."""
    commands = inline()
    expect(len(commands) > 10, f"{commands}")
    for command in commands:
        if "COMMAND" in command:
            continue
        words = command.split()[1:]
        process = harness.run([build.path("bin", "gpuaasctl"), *words, "--help"],
                              build.environment(preload=False))
        for option in re.findall(r"--[a-z-]+", command):
            expect(option in process.out.text, f"{command}\n{process.report()}")


def wrapped(line):
    """A command with what its surroundings say."""
    before = [text for start, text in BEFORE.items() if line.startswith(start)]
    after = [text for start, text in AFTER.items() if line.startswith(start)]
    if line.endswith("&"):
        line = line[:-1] + "2> log & server=$!"
    return [f"echo {shell_quoted('+ ' + line)}", *before, line, *after]


def shell_quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def own_namespaces():
    return namespaces.namespaces() and subprocess.run(
        ["unshare", "--mount", "--net", "ip", "link", "set", "lo", "up"], check=False,
        capture_output=True).returncode == 0


def test_commands(build):
    if not own_namespaces():
        print("  (left out: no namespaces here)")
        return
    config, lines = indented()
    commands = [line for line in lines if line not in OTHERS]
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + "/gpuaasd.conf", "w", encoding="utf-8") as f:
            f.write(config)
        os.symlink(build.program("vector_add"), folder + "/app")
        own = namespaces.OWN_FOLDERS.format(folder=folder)
        script = SCRIPT.format(own=own, commands="\n".join(
            text for line in commands for text in wrapped(line)))
        env = build.environment(preload=False)
        env["PATH"] = build.path("bin") + ":" + env["PATH"]
        env["ASAN_OPTIONS"] = "detect_leaks=0:verify_asan_link_order=0"
        env["PRELOAD"] = ""
        if build.sanitize in harness.RUNTIMES:
            env["PRELOAD"] = f"env LD_PRELOAD={harness.sanitizer_runtime(build.sanitize)}"
        process = harness.run(["unshare", "--mount", "--net", "bash", "-c", script], env,
                              status=None)
        log = ""
        if os.path.exists(folder + "/log"):
            with open(folder + "/log", encoding="utf-8") as f:
                log = f.read()
        expect(process.status == 0 and process.out.lines[-1] == "END",
               f"{process.report()}\n{log}")
        expect("PASSED" in process.out.lines, f"{process.report()}\n{log}")
        for line in commands:
            expect(any(line.rstrip("& ") in told for told in process.out.lines), line)


if __name__ == "__main__":
    harness.main(globals())
