#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A server that is busy is waited for, and by one connection of each program; one that says nothing
costs programs time once, and then little; and what they remember of it is their user's alone."""

import contextlib
import os
import re
import signal
import socket
import stat
import tempfile
import threading
import time

from lib import harness
from lib.addresses import silent_address
from lib.harness import expect, wait_until

PROGRAMS = 40 if os.environ.get("GPUAAS_TEST_FULL") == "1" else 12
BUSY_SECONDS = 3  # longer than a machine is waited for that does not take the connection
SILENT = "no answer within"
SHORTLY = "no answer within 0.2 s, nor in time before"


LEFT_OUT = re.compile(r"warn: (\d+) lines of this kind were left out: %s: connected")


def connections(server):
    """How many programs have connected, and how often one of them did that we know of."""
    lines = list(server.err.lines)
    found = [match.group(1) for line in lines
             if (match := re.search(r"hello \(pid (\d+)\): connected", line))]
    more = sum(int(match.group(1)) for line in lines if (match := LEFT_OUT.search(line)))
    return len(found) + more, len(found) - len(set(found))


def burst(build, server, count, busy):
    """Many programs start at once, perhaps while the server does not come to greet them; each gets
    in, with one connection."""
    env = build.remote([server])
    with contextlib.ExitStack() as stack:
        if busy:
            server.kill(signal.SIGSTOP)
            stack.callback(server.kill, signal.SIGCONT)
        began = time.monotonic()
        programs = [stack.enter_context(harness.running([build.program("hello")], env))
                    for _ in range(count)]
        if busy:
            time.sleep(max(0, began + BUSY_SECONDS - time.monotonic()))
            server.kill(signal.SIGCONT)
        for program in programs:
            expect(program.wait(harness.PROGRAM_SECONDS) == 0, program.report())

    def all_told():  # lines that were left out are counted when something else is said
        server.kill(signal.SIGUSR1)
        return connections(server)[0] >= count
    wait_until(all_told, 20, "all lines of the log are here")
    expect(connections(server) == (count, 0), f"one connection of each\n{server.report()}")


def test_a_server_that_is_busy_is_waited_for(build):
    with harness.serving(build, gpus=1, keys=["spare_backends = 4"]) as server:
        burst(build, server, 4, busy=True)


def test_many_start_at_once(build):
    with harness.serving(build) as server:
        burst(build, server, PROGRAMS, busy=False)


@contextlib.contextmanager
def remembering(build, server, silent, folder, **extra):
    """The environment of programs that remember in this folder."""
    env = build.remote([server], XDG_RUNTIME_DIR=folder, **extra)
    scheme = "tls://" if harness.TRANSPORT == "tls" and "://" not in silent else ""
    env["GPUAAS_SERVERS"] = f"{scheme}{silent},{env['GPUAAS_SERVERS']}"
    yield env


def run_hello(build, env):
    """The program's lines about the silent server."""
    process = harness.run_passing([build.program("hello")], env)
    lines = [line for line in process.err.lines if SILENT in line]
    expect(len(lines) == 1, process.report())
    return lines[0]


def test_a_silent_server_costs_time_once(build):
    with tempfile.TemporaryDirectory(prefix="gpuaas-e2e-") as folder, silent_address() as silent, \
            harness.serving(build) as server, \
            remembering(build, server, silent, folder, GPUAAS_CONNECT_TIMEOUT="2") as env:
        expect("no answer within 2 s; it takes connections" in run_hello(build, env), "at first")
        made, = os.listdir(f"{folder}/gpuaas")
        info = os.stat(f"{folder}/gpuaas")
        expect(stat.S_IMODE(info.st_mode) == 0o700 and
               os.stat(f"{folder}/gpuaas/{made}").st_size == 0, f"{info}")
        found = os.stat(f"{folder}/gpuaas/{made}").st_mtime_ns
        for _ in range(2):
            expect(SHORTLY in run_hello(build, env), "then")
        expect(os.stat(f"{folder}/gpuaas/{made}").st_mtime_ns == found, "which proves nothing new")
        # A minute later
        long_ago = time.time() - 61
        os.utime(f"{folder}/gpuaas/{made}", (long_ago, long_ago))
        expect("no answer within 2 s; it takes connections" in run_hello(build, env), "once more")


def test_a_program_with_no_other_server_waits(build):
    """The findings of other programs keep none from trying; the program itself need not try
    twice."""
    with tempfile.TemporaryDirectory(prefix="gpuaas-e2e-") as folder, silent_address() as silent:
        env = build.environment(build.path("lib", "gpuaas"), {
            "GPUAAS_SERVERS": silent, "XDG_RUNTIME_DIR": folder, "GPUAAS_CONNECT_TIMEOUT": "2"})
        for _ in range(2):
            process = harness.run([build.program("devices")], env, status=1)
            expect("no answer within 2 s; it takes connections, but is it gpuaasd? "
                   "(GPUAAS_CONNECT_TIMEOUT)" in process.err.text, process.report())


def test_a_server_that_answers_again(build):
    """The silence of a server is forgotten."""
    with tempfile.TemporaryDirectory(prefix="gpuaas-e2e-") as folder, \
            harness.serving(build) as server, harness.serving(build) as other, \
            remembering(build, server, other.address, folder, GPUAAS_CONNECT_TIMEOUT="2") as env:
        other.kill(signal.SIGSTOP)
        try:
            run_hello(build, env)
        finally:
            other.kill(signal.SIGCONT)
        expect(len(os.listdir(f"{folder}/gpuaas")) == 1, "it is remembered")
        wait_until(lambda: SILENT not in harness.run_passing(
            [build.program("hello")], env).err.text, 60, "it answers")
        expect(not os.listdir(f"{folder}/gpuaas"), "it is forgotten")


def link(folder):
    """The folder is a link to another one of the same user."""
    os.mkdir(f"{folder}/elsewhere", 0o700)
    os.symlink(f"{folder}/elsewhere", f"{folder}/gpuaas")


def open_to_all(folder):
    os.mkdir(f"{folder}/gpuaas")
    os.chmod(f"{folder}/gpuaas", 0o777)


def of_another_user(folder):
    os.mkdir(f"{folder}/gpuaas", 0o700)
    os.chown(f"{folder}/gpuaas", 65534, 65534)


def a_file(folder):
    with open(f"{folder}/gpuaas", "w", encoding="ascii"):
        pass


def test_folders_that_are_not_safe(build):
    """Nothing is written there, and programs run all the same."""
    with silent_address() as silent, harness.serving(build) as server:
        for prepare in (link, open_to_all, a_file, *([of_another_user] if os.geteuid() == 0
                                                      else [])):
            with tempfile.TemporaryDirectory(prefix="gpuaas-e2e-") as folder, \
                    remembering(build, server, silent, folder, GPUAAS_CONNECT_TIMEOUT="1") as env:
                prepare(folder)
                expect("no answer within 1 s" in run_hello(build, env), prepare.__name__)
                found = [name for _, _, files in os.walk(folder) for name in files]
                expect(found == (["gpuaas"] if prepare is a_file else []), f"{found}")


def test_links_in_the_folder(build):
    """A link with the name of a file is neither followed nor believed."""
    with tempfile.TemporaryDirectory(prefix="gpuaas-e2e-") as folder, silent_address() as silent, \
            harness.serving(build) as server, \
            remembering(build, server, silent, folder, GPUAAS_CONNECT_TIMEOUT="1") as env:
        run_hello(build, env)
        made, = os.listdir(f"{folder}/gpuaas")
        victim = f"{folder}/victim"
        with open(victim, "w", encoding="ascii") as file:
            file.write("text")
        os.utime(victim, (1, 1))
        os.remove(f"{folder}/gpuaas/{made}")
        os.symlink(victim, f"{folder}/gpuaas/{made}")
        for _ in range(2):
            expect("no answer within 1 s" in run_hello(build, env), "not believed")
        with open(victim, encoding="ascii") as file:
            expect(file.read() == "text" and os.stat(victim).st_mtime == 1, "not followed")


def test_a_server_that_says_too_much(build):
    """Hello requests without end, which TLS lets a client pass over, in a handshake."""
    with harness.serving(build) as server, \
            socket.create_server(("127.0.0.1", 0)) as listener:
        def flood():
            with contextlib.suppress(OSError):
                one, _ = listener.accept()
                while True:
                    one.sendall(b"\x16\x03\x03\0\1\0" * 10000)
        threading.Thread(target=flood, daemon=True).start()
        env = build.remote([server], GPUAAS_CA=harness.authority().ca)
        place = "tls://%s:%d" % listener.getsockname()
        env["GPUAAS_SERVERS"] = place + "," + env["GPUAAS_SERVERS"]
        program = harness.run_passing([build.program("hello")], env, 60)
        expect("too many of them" in program.err.text, program.report())


if __name__ == "__main__":
    harness.main(globals())
