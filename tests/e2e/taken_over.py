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
import time

from lib import harness
from lib.harness import LINE, expect, wait_until

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


def stopped(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
        return f.read().rsplit(")", 1)[1].split()[0] == "T"


def forbidden(call):
    return (r"error: \S+: backend process \d+ of vector_add .* made the system call "
            rf"{call} \(\d+\), which its sandbox does not allow")


def test_start_a_program(build):
    with attacked_config(build, "start_a_program") as config, \
            harness.serving(build, config=config) as server:
        launch(build, build.remote([server]))
        server.wait_for_line(forbidden("execve"), 10, server.err)


def test_take_memory(build):
    """The process takes of this machine what its application may have, twice, and the spare."""
    with attacked_config(build, "take_memory", "application_host_memory = 64MiB") as config, \
            harness.serving(build, config=config) as server:
        with others(build, build.remote([server])):
            launch(build, build.remote([server]))
        took = int(server.wait_for_line(r"has (\d+) MiB", 10, server.err).group(1))
        print(f"  {took} MiB")
        expect(took <= 2 * 64 + 1024 + 32 * os.cpu_count(), f"{took} MiB")


def test_stop_others(build):
    """Not even to the software GPUs of a node."""
    with attacked_config(build, "stop_others") as config, \
            harness.serving(build, config=config) as server:
        env = build.remote([server])
        with others(build, env):
            victims = harness.children(server.pid)
            launch(build, env)
            server.wait_for_line(r"it has tried to stop_others", 10, server.err)
            tried = re.findall(r"stops (\d+): (\d+)", server.err.text)
            expect(set(victims) & {int(pid) for pid, _ in tried}, f"{victims}, {tried}")
            expect(all(error == "1" for _, error in tried), f"not EPERM: {tried}")
            expect(not [pid for pid in victims if harness.alive(pid) and stopped(pid)],
                   server.report())


def test_kill_others_by_a_descriptor(build):
    """F_SETOWN, F_SETSIG and O_ASYNC: the kernel would send the signal for it."""
    with attacked_config(build, "kill_others_by_a_descriptor") as config, \
            harness.serving(build, config=config) as server:
        env = build.remote([server])
        with others(build, env):
            launch(build, env)
            server.wait_for_line(forbidden("fcntl"), 10, server.err)
            time.sleep(0.5)  # in which somebody would die


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


def log_after(build, attack, *keys, program=launch, until=r"vector_add \(pid \d+\): gone"):
    """The log file, after the attack and the end of gpuaasd."""
    with attacked_config(build, attack, *keys) as config, \
            tempfile.NamedTemporaryFile(prefix="gpuaas-log-") as file:
        with logging_to(build, config, file) as server:
            ready = wait_until(lambda: re.search(r"ready tcp://([^\s\"]+)", text_of(file.name)),
                               harness.START_SECONDS, "gpuaasd is ready")
            env = build.environment(build.path("lib", "gpuaas"),
                                    {"GPUAAS_SERVERS": ready.group(1)})
            program(build, env)
            wait_until(lambda: re.search(until, text_of(file.name)), 60, f"the log says {until!r}")
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
    """The output is cut short, others are served in this time, and its last words are there."""
    def beside(build, env):
        with others(build, env):
            launch(build, env)
    text = log_after(build, "fill_the_log", program=beside, until="ended: killed by signal 6")
    expect(len(text) < LOG_BYTES, f"{len(text)} bytes")
    expect(max(map(len, text.splitlines())) < 1200, "a line is long")
    expect(re.search(r"\d+ lines of this process were left out", text), text[-3000:])
    last = text.find("on stderr: what it has printed last")
    end = text.find("ended: killed by signal 6")
    expect(0 < last < end, text[-3000:])


def test_nobody_reads_the_log(build):
    """Nobody reads the log of gpuaasd: neither it nor others wait."""
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
    """The report is believed, once."""
    with attacked_config(build, "say_forbidden_without_being_it") as config, \
            harness.serving(build, config=config) as server:
        launch(build, build.remote([server]))
        server.wait_for_line(forbidden("execve"), 10, server.err)
        expect(len(re.findall("system call execve", server.err.text)) == 1, server.report())


# ---- what it has from gpuaasd

PAGE = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "isolation.md")


def table(head):
    """The rows of the page's table whose first heading that is; their words in `code`."""
    with open(PAGE, encoding="utf-8") as file:
        text = file.read()
    rows = text[text.index(f"\n| {head} |"):].split("\n\n")[0].splitlines()[3:]
    return [[cell.strip() for cell in row.split("|")[1:-1]] for row in rows]


def words(cell):
    return re.findall(r"`([^`]+)`", cell)


def expect_descriptors(pid):
    rows = table("descriptor")
    for name in os.listdir(f"/proc/{pid}/fd"):
        link = os.readlink(f"/proc/{pid}/fd/{name}")
        fixed = [row for row in rows if name in row[0].split(", ")]
        fits = any(link.startswith(start) for row in fixed or rows if fixed or row[0] == "more"
                   for start in words(row[1]))
        expect(fits, f"descriptor {name}: {link} is not in docs/isolation.md")


def expect_memory(pid):
    rows = table("memory that it shares")
    with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as file:
        maps = [line.split(None, 5) for line in file]
    for _, rights, *_, name in (row for row in maps if row[1][3] == "s"):
        fits = any(name.startswith(start) and rights[:2] in words(row[1])
                   for row in rows for start in words(row[0]))
        expect(fits, f"{rights} {name} is not in docs/isolation.md")


def test_descriptors_and_memory(build):
    """Descriptors and memory of a spare and of a process that serves, over each transport: those of
    the page, no more."""
    for transport in ("tcp", "auto"):
        with harness.serving(build, gpus=1) as server:
            env = {**build.remote([server]), "GPUAAS_TRANSPORT": transport}
            with others(build, env):
                server.wait_spares()
                for pid in harness.children(server.pid):
                    expect_descriptors(pid)
                    expect_memory(pid)
                    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
                        _, _, _, session, terminal = file.read().rsplit(")", 1)[1].split()[:5]
                    expect(session == str(pid) and terminal == "0", f"{session}, {terminal}")


def test_write_the_grants(build):
    """It may only read them."""
    with attacked_config(build, "write_the_grants") as config, \
            harness.serving(build, config=config) as server:
        launch(build, build.remote([server]))
        server.wait_for_line(r"grants r--s: mprotect 13, remove (13|22)$", 10, server.err)


if __name__ == "__main__":
    harness.main(globals())
