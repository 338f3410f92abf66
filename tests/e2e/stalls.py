#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A gpuaasd that stands still for longer than it gives anybody to answer (stopped, on a machine
that is suspended or swaps) kills no backend process, drops no client and fails no program when it
goes on: what has come meanwhile counts as in time. And who has gone before gpuaasd is told to end
is not warned of."""

import contextlib
import os
import re
import signal
import socket
import threading
import time

from lib import harness
from lib.harness import expect, wait_until
from lib.limited import limited

STALL_SECONDS = 4  # more than a warm process (3 s), a recall or a closed channel (2 s) is given
HANDSHAKE_SECONDS = 2


def complaints(server):
    return [line for line in server.err.lines if re.search(r" (warn|error): ", line)]


def expect_quiet(server):
    expect(not complaints(server), server.report())


@contextlib.contextmanager
def standing_still(server, seconds=STALL_SECONDS):
    """The body runs while gpuaasd is stopped, which lasts so long at least."""
    server.kill(signal.SIGSTOP)
    began = time.monotonic()
    try:
        yield
        time.sleep(max(0, began + seconds - time.monotonic()))
    finally:
        server.kill(signal.SIGCONT)


def hello(build, server):
    return harness.running([build.program("hello")], build.remote([server]))


def test_a_process_that_has_answered_meanwhile(build):
    """A program has been given a spare, whose answer gpuaasd reads late."""
    with harness.serving(build, gpus=1) as server:
        spare, = server.wait_spares()
        os.kill(spare, signal.SIGSTOP)
        with hello(build, server) as program:
            try:
                wait_until(lambda: len(harness.children(server.pid)) == 2, 60, "it is taken")
                server.kill(signal.SIGSTOP)
            finally:
                os.kill(spare, signal.SIGCONT)
            with standing_still(server):
                pass
            expect(program.wait(harness.PROGRAM_SECONDS) == 0, program.report())
        expect_quiet(server)


class Relay:
    """A connection to the server that waits until it is told to pass bytes on."""

    def __init__(self, server):
        host, port = server.place.rsplit(":", 1)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        self.far = (host, int(port))
        self.go_on = threading.Event()
        self.accepted = threading.Event()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        near, _ = self.listener.accept()
        far = socket.create_connection(self.far)
        self.accepted.set()
        self.go_on.wait()
        for one, other in ((near, far), (far, near)):
            threading.Thread(target=self.copy, args=(one, other), daemon=True).start()

    @staticmethod
    def copy(one, other):
        with contextlib.suppress(OSError):
            while data := one.recv(65536):
                other.sendall(data)
            other.shutdown(socket.SHUT_WR)

    def close(self):
        self.go_on.set()
        self.listener.close()


def test_a_client_that_has_greeted_meanwhile(build):
    keys = [f"handshake_timeout_s = {HANDSHAKE_SECONDS}"]
    with harness.serving(build, gpus=1, keys=keys) as server, \
            contextlib.closing(Relay(server)) as relay:
        server.wait_spares()
        before = server.descriptors()
        env = build.remote([server])
        env["GPUAAS_SERVERS"] = env["GPUAAS_SERVERS"].replace(server.place, relay.address)
        with harness.running([build.program("hello")], env) as program:
            relay.accepted.wait(60)
            wait_until(lambda: server.descriptors() != before, 10, "gpuaasd has accepted it")
            with standing_still(server):
                relay.go_on.set()
            expect(program.wait(harness.PROGRAM_SECONDS) == 0, program.report())
        expect_quiet(server)


def start_idle(build, server):
    return harness.Process([build.program("endless"), "idle"], build.remote([server]))


def test_programs_that_start_and_end_meanwhile(build):
    """Several times; some are there all the time."""
    keys = ["spare_backends = 2", f"handshake_timeout_s = {HANDSHAKE_SECONDS}"]
    with harness.serving(build, keys=keys) as server, contextlib.ExitStack() as stack:
        lasting = [start_idle(build, server) for _ in range(2)]
        for program in lasting:
            stack.callback(program.end)
            program.wait_for_line("started", 60)
        serving = server.backends()
        for _ in range(2):
            ending = [start_idle(build, server) for _ in range(2)]
            for program in ending:
                stack.callback(program.end)
                program.wait_for_line("started", 60)
            with standing_still(server):
                for program in ending:
                    program.kill()
                starting = [stack.enter_context(hello(build, server)) for _ in range(3)]
            for program in starting:
                expect(program.wait(harness.PROGRAM_SECONDS) == 0, program.report())
        wait_until(lambda: sorted(server.backends()) == sorted(serving), 20,
                   "those that ended are gone, and the others are not")
        expect(all(program.running() for program in lasting), "they have lasted")
        expect_quiet(server)


def test_applications_that_share_a_process(build):
    """The process says that one of them has ended, and goes on."""
    with harness.serving(build, gpus=1, keys=["spare_backends = 0"],
                         extra={"GPUAAS_TEST_SEATS": "4"}) as server, \
            contextlib.ExitStack() as stack:
        programs = [start_idle(build, server) for _ in range(3)]
        for program in programs:
            stack.callback(program.end)
            program.wait_for_line("started", 60)
        process, = server.backends()
        with standing_still(server):
            programs[0].kill()
            programs[1].kill()
        with hello(build, server) as another:
            expect(another.wait(harness.PROGRAM_SECONDS) == 0, another.report())
        expect(server.backends() == [process], f"{process} serves all, not {server.backends()}")
        expect(programs[2].running() and len(complaints(server)) == 1 and
               "GPUAAS_TEST_SEATS" in complaints(server)[0], server.report())


def test_limits_of_time_that_pass_meanwhile(build):
    """The program's own process ends it, and says why, however late gpuaasd looks."""
    with limited(build, "wall-time=2s") as server:
        with harness.running([build.program("endless"), "idle"], build.remote([server])) as program:
            program.wait_for_line("started", 60)
            with standing_still(server, 12):
                wait_until(lambda: "limit wall-time" in program.err.text, 60, program.report())
        wait_until(lambda: not server.backends(), 20, "it has ended")
        expect("has not ended it" not in server.err.text, server.report())


def test_the_end_right_behind_a_program(build):
    """Whether gpuaasd knows yet that the program has gone: nobody is there to be warned of."""
    for delay_ms in (0, 0, 1, 3, 10, 30):
        with harness.serving(build, gpus=1) as server:
            server.wait_spares()
            harness.run_passing([build.program("vector_add")], build.remote([server]))
            time.sleep(delay_ms / 1000)
            server.stop()
            expect_quiet(server)


if __name__ == "__main__":
    harness.main(globals())
