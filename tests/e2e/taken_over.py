#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A backend process that somebody has taken over does nothing to the processes of others, nor to
gpuaasd and its log; whatever a process prints comes to that log as its own words. Each attack is a
function of taken_over_driver.c."""

import contextlib
import json
import os
import re
import signal
import subprocess
import tempfile

import harness
from harness import expect, wait_until
from logs import LINE

LOG_BYTES = 400 << 10  # of a process that writes for three seconds as fast as it can, with room
KEYS = ("log_level = info",)


@contextlib.contextmanager
def attacked_config(build, attack, *keys):
    """A configuration whose GPU attacks at each launch."""
    with tempfile.TemporaryDirectory(prefix="gpuaas-attack-") as folder:
        driver = os.path.join(folder, f"{attack}.so")
        os.symlink(build.path("tests", "libtaken_over_driver.so"), driver)
        os.chmod(folder, 0o755)
        config = harness.configuration(1) + f"driver_path = {driver}\n"
        yield config.replace("[server]\n", "\n".join(["[server]", *KEYS, *keys, ""]), 1)


def launch(build, env):
    """Somebody's program, whose backend process attacks."""
    program = harness.run([build.program("vector_add")], env, 60, status=None)
    expect(program.status != 0 and "PASSED" not in program.out.text, program.report())


@contextlib.contextmanager
def others(build, env):
    """A program of somebody else, who must not notice."""
    with harness.running([build.program("endless"), "idle"], env) as program:
        program.wait_for_line("started", 60)
        yield program
        expect(program.running(), f"the other program has ended\n{program.report()}")


def forbidden(call):
    return (r"error: \S+: backend process \d+ of vector_add .* made the system call "
            rf"{call} \(\d+\), which its sandbox does not allow")


def test_start_a_program(build):
    with attacked_config(build, "start_a_program") as config, \
            harness.serving(build, config=config) as server:
        launch(build, build.remote([server]))
        server.wait_for_line(forbidden("execve"), 10, server.err)


def test_take_memory(build):
    """Of this machine it has what its application may have, twice, and the spare."""
    with attacked_config(build, "take_memory", "application_host_memory = 64MiB") as config, \
            harness.serving(build, config=config) as server:
        with others(build, build.remote([server])):
            launch(build, build.remote([server]))
        took = int(server.wait_for_line(r"has (\d+) MiB", 10, server.err).group(1))
        print(f"  {took} MiB")
        expect(took <= 2 * 64 + 1024 + 32 * os.cpu_count(), f"{took} MiB")


# ---- the log

@contextlib.contextmanager
def logging_to(build, config, log, preload=False):
    """A server whose stderr is that file, or pipe."""
    with tempfile.TemporaryDirectory(prefix="gpuaas-e2e-") as folder:
        path = os.path.join(folder, "gpuaasd.conf")
        with open(path, "w", encoding="utf-8") as file:
            file.write(config)
        server = subprocess.Popen([build.path("bin", "gpuaasd"), "--config", path], stderr=log,
                                  stdin=subprocess.DEVNULL,
                                  env=build.environment(preload=preload))
        try:
            yield server
            expect(server.poll() is None, f"gpuaasd has ended: {server.returncode}")
            server.send_signal(signal.SIGTERM)
            expect(server.wait(harness.STOP_SECONDS) == 0, f"{server.returncode}")
        finally:
            server.kill()
            server.wait()


def text_of(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def log_after(build, attack, *keys, program=launch):
    """What a log file says, after the attack and the end of gpuaasd."""
    with attacked_config(build, attack, *keys) as config, \
            tempfile.NamedTemporaryFile(prefix="gpuaas-log-") as file:
        with logging_to(build, config, file) as server:
            ready = wait_until(lambda: re.search(r"ready tcp://([^\s\"]+)", text_of(file.name)),
                               harness.START_SECONDS, "gpuaasd is ready")
            env = build.environment(build.path("lib", "gpuaas"),
                                    {"GPUAAS_SERVERS": ready.group(1)})
            program(build, env)
            wait_until(lambda: re.search(r"vector_add \(pid \d+\): gone", text_of(file.name)), 20,
                       "the program has gone")
            expect(server.poll() is None, "gpuaasd has ended")
        return text_of(file.name)


def test_empty_the_log(build):
    log = log_after(build, "empty_the_log")
    expect("ready tcp://" in log.splitlines()[0] or "ready tcp://" in log, log)
    expect("\0" not in log, "there is a hole in the log")
    expect(re.search(r"on stderr: empties: 22", log), log)  # EINVAL: no file, but a pipe


def test_forge_lines(build):
    """Each line says whose words it has: the process and its client are as gpuaasd knows them."""
    text = log_after(build, "forge_lines")
    lines = [LINE.fullmatch(line) for line in text.split("\n")[:-1]]
    expect(all(lines), f"no line of the log: {text!r}")
    forged = [line for line in lines if re.search("forged|no end of the line", line["msg"])]
    expect(len(forged) == 5, text)
    json_text = log_after(build, "forge_lines", "log_format = json")
    records = [json.loads(line) for line in json_text.split("\n")[:-1]]
    forged += [record for record in records
               if re.search("forged|no end of the line", record["msg"])]
    expect(len(forged) == 10, json_text)
    for line in forged:
        expect(line["process"] == "gpuaasd-backend" and line["pid"] not in (1, "1") and
               line["client"].startswith("127."), f"{line}")


def test_fill_the_log(build):
    """It is cut short, others are served meanwhile, and its last words are there."""
    def beside(build, env):
        with others(build, env):
            launch(build, env)
    text = log_after(build, "fill_the_log", program=beside)
    expect(len(text) < LOG_BYTES, f"{len(text)} bytes")
    expect(max(map(len, text.splitlines())) < 1200, "a line is long")
    expect(re.search(r"\d+ lines of this process were left out", text), text[-3000:])
    last = text.find("on stderr: what it has printed last")
    end = text.find("ended: killed by signal 6")
    expect(0 < last < end, text[-3000:])


def test_nobody_reads_the_log(build):
    """Of gpuaasd: neither it nor others wait."""
    with attacked_config(build, "fill_the_log") as config:
        reader, writer = os.pipe()
        with open(reader, "rb", buffering=0) as end, logging_to(build, config, writer):
            os.close(writer)
            said = b""
            while b"ready tcp://" not in said or not said.endswith(b"\n"):
                said += end.read(4096)
            address = re.search(rb"ready tcp://(\S+)", said).group(1).decode()
            env = build.environment(build.path("lib", "gpuaas"), {"GPUAAS_SERVERS": address})
            with others(build, env):
                launch(build, env)
            with others(build, env):
                pass


def test_say_forbidden_without_being_it(build):
    """It is believed, once."""
    with attacked_config(build, "say_forbidden_without_being_it") as config, \
            harness.serving(build, config=config) as server:
        launch(build, build.remote([server]))
        server.wait_for_line(forbidden("execve"), 10, server.err)
        expect(len(re.findall("system call execve", server.err.text)) == 1, server.report())


# ---- what it has from gpuaasd

def test_write_the_grants(build):
    """It may only read them."""
    with attacked_config(build, "write_the_grants") as config, \
            harness.serving(build, config=config) as server:
        launch(build, build.remote([server]))
        server.wait_for_line(r"grants r--s: mprotect 13, remove (13|22)$", 10, server.err)


if __name__ == "__main__":
    harness.main(globals())
