#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 of the client in a copy, of a backend process in a kernel, of gpuaasd: the survivors
report it and go on, and nothing stays behind."""

import contextlib
import os
import re
import signal
import time

from lib import harness
from lib.harness import expect, wait_until


def start_endless(build, server, what):
    return harness.running([build.program("endless"), what], build.remote([server]))


def test_client_in_a_copy(build):
    with harness.serving(build) as server:
        traces = harness.Traces(server)
        for _ in range(3):
            with start_endless(build, server, "copy") as program:
                program.wait_for_line("started", 60)
                expect(server.backends(), "no backend process serves the program")
                program.kill()
                program.wait(10)
            traces.expect_none()
        harness.run_passing([build.program("vector_add")], build.remote([server]))


def kill_client(build, where):
    with harness.serving(build) as server:
        traces = harness.Traces(server)
        with start_endless(build, server, where) as program:
            program.wait_for_line("started", 60)
            program.kill()
            program.wait(10)
        traces.expect_none()


def test_client_in_a_kernel(build):
    kill_client(build, "kernel")


def test_backend_in_a_kernel(build):
    """semantics S27"""
    with harness.serving(build) as server:
        traces = harness.Traces(server)
        with contextlib.ExitStack() as programs:
            program = programs.enter_context(start_endless(build, server, "kernel"))
            program.wait_for_line("started", 60)
            backends = server.backends()
            expect(len(backends) == 1, f"one backend process is due: {backends}")
            other = programs.enter_context(start_endless(build, server, "idle"))
            other.wait_for_line("started", 60)
            begin = time.monotonic()
            backend = backends[0]
            os.kill(backend, signal.SIGKILL)
            program.wait_for_line(r"cudaDeviceSynchronize: error 719\b", 10)
            seconds = time.monotonic() - begin
            program.wait(30)
            expect(re.search(r"cudaMalloc: error 719\b", program.out.text), program.report())
            expect(len([line for line in program.err.lines if "gpuaas" in line]) == 1,
                   f"one line with the cause is due\n{program.report()}")
            expect(other.running(), f"another program ended too\n{other.report()}")
            print(f"719 came {seconds * 1000:.0f} ms after the kill")
        harness.run_passing([build.program("vector_add")], build.remote([server]))
        traces.expect_none()


def test_backend_that_has_done_everything(build):
    """A wait that asks nothing, because all is known to be done, says that the server is gone."""
    with harness.serving(build) as server:
        for what, call in (("done", "cudaDeviceSynchronize"), ("past", "cudaEventSynchronize")):
            with start_endless(build, server, what) as program:
                program.wait_for_line("started", 60)
                (backend,) = server.backends()
                os.kill(backend, signal.SIGKILL)
                program.wait_for_line(rf"{call}: error 719\b", 10)
                program.wait(30)
        harness.run_passing([build.program("vector_add")], build.remote([server]))


def test_client_in_a_callback(build):
    kill_client(build, "callback")


def test_client_leaves_a_callback(build):
    with harness.serving(build) as server:
        traces = harness.Traces(server)
        harness.run([build.program("endless"), "leave"], build.remote([server]), 60)
        traces.expect_none()


def test_backend_in_a_callback(build):
    with harness.serving(build) as server:
        traces = harness.Traces(server)
        with start_endless(build, server, "callback") as program:
            program.wait_for_line("started", 60)
            backends = server.backends()
            expect(len(backends) == 1, f"one backend process is due: {backends}")
            os.kill(backends[0], signal.SIGKILL)
            program.wait_for_line(r"cudaDeviceSynchronize: error 719\b", 20)
            program.wait_for_line(r"callback: error 719\b", 20)
            program.wait(30)
            expect("functions called afterwards: 0" in program.out.text, program.report())
        harness.run_passing([build.program("vector_add")], build.remote([server]))
        traces.expect_none()


def test_server_idle(build):
    with harness.serving(build) as server:
        with start_endless(build, server, "idle") as program:
            program.wait_for_line("started", 60)
            backends = server.backends()
            expect(backends, "no backend process serves the program")
            server.kill()
            server.wait(10)
            wait_until(lambda: not any(map(harness.alive, backends)), 10,
                       f"the backends {backends} die with gpuaasd")


def test_server_in_a_kernel(build):
    with harness.serving(build) as server:
        with start_endless(build, server, "kernel") as program:
            program.wait_for_line("started", 60)
            backends = server.backends()
            server.kill()
            server.wait(10)
            program.wait_for_line(r"cudaDeviceSynchronize: error 719\b", 20)
            program.wait(30)
            wait_until(lambda: not any(map(harness.alive, backends)), 10, "the backends die")


if __name__ == "__main__":
    harness.main(globals())
