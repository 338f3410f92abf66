#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command lines of gpuaas and gpuaasd: help everywhere, and each mistake is answered by one
line with the reason and the remedy."""

import os
import re
import socket
import tempfile

from lib import harness
from lib.harness import expect

SUBS = ("run", "devices", "status")


def answer(build, program, words, status, env=None):
    command = [build.path("bin", program), *words]
    return harness.run(command, build.environment(preload=False, extra=env), 30, status)


def expect_line(build, program, words, status, *texts, env=None):
    """One line on stderr, by the program, and nothing on stdout."""
    process = answer(build, program, words, status, env)
    expect(len(process.err.lines) == 1 and not process.out.text and
           re.match(rf"(\S+Z )?{program}(\[\d+\] error)?: ", process.err.text),
           f"one line of {program} is due for {words}\n{process.report()}")
    for text in texts:
        expect(text in process.err.text, f"{text!r} is missing\n{process.report()}")


def test_help(build):
    shown = answer(build, "gpuaas", ["--help"], 0).out.text
    for sub in SUBS:
        expect(f"gpuaas {sub} " in shown, f"{sub} is missing in --help\n{shown}")
        texts = {answer(build, "gpuaas", words, 0).out.text
                 for words in ([sub, "--help"], [sub, "-h"], ["help", sub], [sub, "--help", "x"])}
        expect(len(texts) == 1, f"different helps of {sub}: {texts}")
        text = texts.pop()
        expect(f"usage: gpuaas {sub}" in text and "--servers" in text and "Exit status" in text,
               text)
    process = answer(build, "gpuaas", [], 125)
    expect(process.err.text == shown and not process.out.text, process.report())


def test_help_of_the_program_is_its_own(build):
    words = ["run", "--servers", "127.0.0.1:1", "--force", "sh", "-c", 'echo "$1"', "x", "--help"]
    expect(answer(build, "gpuaas", words, 0).out.text == "--help", "the program's option")


def test_version(build):
    for program in ("gpuaas", "gpuaasd"):
        process = answer(build, program, ["--version"], 0)
        expect(re.fullmatch(rf"{program} \d+\.\d+\.\d+", process.out.text), process.report())


def test_wrong_words(build):
    for words, texts in (
            (["walk"], ["no sub-command walk"]),
            (["rnu", "--", "true"], ["did you mean run?"]),
            (["device"], ["did you mean devices?"]),
            (["help", "devcies"], ["did you mean devices?"]),
            (["--versoin"], ["did you mean --version?"]),
            (["--servers", "a", "run"], ["gpuaas run --servers"]),
            (["run", "--server", "a", "true"], ["--server,", "did you mean --servers?"]),
            (["run", "--device=1", "true"], ["did you mean --devices?"]),
            (["run", "--bogus", "true"], ["no option --bogus", "gpuaas run --help"]),
            (["run", "-s", "a", "true"], ["no option -s"]),
            (["devices", "--force"], ["devices has no option --force"]),
            (["run", "--servers"], ["--servers needs a value"]),
            (["run", "--servers=", "true"], ["--servers needs a value"]),
            (["run", "--servers", "--", "true"], ["--servers needs a value"]),
            (["run", "--local=2", "true"], ["--local takes no value"]),
            (["run", "--servers", "a"], ["no program"]),
            (["run", "--servers", "a", "--compilers=quick", "true"], ["auto, ptx or machine"]),
            (["run", "--gpus", "sms=1", "true"], ["--local"]),
            (["run", "--local", "--servers", "a", "true"], ["--local uses no server"]),
            (["run", "--local", "--devices", "0", "true"], ["--gpus"]),
            (["status", "--local"], ["no option --local"]),
            (["status", "--jsn"], ["did you mean --json?"]),
            (["devices", "gpu1"], ["no argument gpu1"])):
        expect_line(build, "gpuaas", words, 125, *texts)


def test_no_server_named(build):
    for servers in (None, "", " ", ",", " ,\t"):
        env = {"GPUAAS_SERVERS": servers} if servers is not None else None
        for words in (["run", "--", "true"], ["devices"], ["status"]):
            expect_line(build, "gpuaas", words, 125, "GPUAAS_SERVERS", env=env)
        expect_line(build, "gpuaas", ["run", "--", "true"], 125, "--local", env=env)


def test_programs_that_cannot_run(build):
    with tempfile.TemporaryDirectory() as folder:
        plain, script = os.path.join(folder, "plain"), os.path.join(folder, "script")
        with open(plain, "w", encoding="ascii") as file:
            file.write("text")
        with open(script, "w", encoding="ascii") as file:
            file.write("#!/nonexistent/interpreter\n")
        os.chmod(script, 0o755)
        for program, status, text in (("no-such-program", 127, "in no folder of PATH"),
                                      (folder + "/none", 127, "there is no program"),
                                      (plain, 126, "chmod +x"),
                                      (script, 126, "interpreter"),
                                      (folder, 126, "is a directory")):
            words = ["run", "--servers", "127.0.0.1:1", "--force", "--", program]
            expect_line(build, "gpuaas", words, status, program, text)


def test_output_that_cannot_be_written(build):
    for program, word, status in (("gpuaas", "--help", 125), ("gpuaasd", "--example-config", 1)):
        words = ["sh", "-c", '"$1" "$2" >/dev/full', "sh", build.path("bin", program), word]
        process = harness.run(words, build.environment(preload=False), 30, status)
        expect("standard output" in process.err.text, process.report())


def test_developers_words(build):
    dev = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "dev")
    for words, text in ((["biuld"], "./dev lists them"), (["build", "quick"], "tsan or release")):
        process = harness.run([dev, *words], build.environment(preload=False), 30, 1)
        expect(len(process.err.lines) == 1 and text in process.err.text, process.report())


def test_server_words(build):
    process = answer(build, "gpuaasd", ["--help"], 0)
    for word in ("usage: gpuaasd --config FILE", "--help", "--version", "Exit status"):
        expect(word in process.out.text, process.report())
    for words, texts in (
            ([], ["--config FILE", "--example-config"]),
            (["--config"], ["--config needs a value"]),
            (["--confg", "a"], ["no option --confg, did you mean --config?"]),
            (["--example-confg"], ["did you mean --example-config?"]),
            (["--versoin"], ["did you mean --version?"]),
            (["--bogus"], ["no option --bogus", "gpuaasd --help"]),
            (["-x"], ["no option -x"]),
            (["--version=1"], ["--version takes no value"]),
            (["gpuaasd.conf"], ["gpuaasd.conf", "--config FILE"]),
            (["--config", "a", "b"], ["b belongs to no option"])):
        expect_line(build, "gpuaasd", words, 2, *texts)


def test_server_configurations(build):
    """Files that are missing, no files, no text; the wrong lines of a file are bad_config.py's."""
    with tempfile.TemporaryDirectory() as folder:
        binary = os.path.join(folder, "binary")
        with open(binary, "wb") as file:
            file.write(b"[server]\0\xff")
        for path, texts in ((folder + "/none", ["No such file", "--example-config"]),
                            (folder, ["Is a directory", "give a file"]),
                            (binary, ["not a text"])):
            expect_line(build, "gpuaasd", ["--config", path], 1, path, *texts)
            expect_line(build, "gpuaasd", ["--config", path, "--check-config"], 1, path, *texts)


def test_server_without_a_place(build):
    """Addresses that cannot be listened on: the message says which line of the configuration, why,
    and what to do."""
    with tempfile.TemporaryDirectory() as folder, \
            socket.create_server(("127.0.0.1", 0)) as busy:
        config = os.path.join(folder, "gpuaasd.conf")
        taken = f"tcp://127.0.0.1:{busy.getsockname()[1]}"
        for url, texts in ((taken, ["in use", "another gpuaasd"]),
                           ("tcp://192.0.2.1:0", ["no such address"]),
                           ("tcp://no-such-host.invalid:0", ["no host of this name"])):
            with open(config, "w", encoding="ascii") as file:
                file.write(f"[server]\nlisten = {url}\ninsecure = yes\n[gpu.0]\n"
                           "driver = soft\n")
            expect_line(build, "gpuaasd", ["--config", config], 1, f"listen = {url} (line 2)",
                        *texts)


if __name__ == "__main__":
    harness.main(globals())
