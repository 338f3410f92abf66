#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""wall-time counts from the first device that a program opens: one that has greeted, and looks at
its devices or waits, has used none of it, and has no usage (docs/quotas.md, docs/accounting.md)."""

import contextlib
import os
import signal
import time

from lib import harness, limited
from lib.evaluator import Program
from lib.harness import expect, wait_until

GRACE_S = 6  # so much later gpuaasd ends whom its backend process has not ended


def told(process, allowed):
    return f"limit wall-time of tenant default: {allowed}" in process.err.text


def test_from_the_first_device(build):
    """It waits for longer than the limit and than gpuaasd's patience with backend processes, and
    has all of its time then."""
    limit_s = 3
    with limited.limited(build, f"wall-time={limit_s}s") as server, \
            contextlib.closing(Program(build.remote([server]))) as program:
        expect(program.ask("look()") == (0, 0, 1), program.report())
        time.sleep(limit_s + GRACE_S + 1)
        expect(not server.sessions(), "who has opened no device has no session")
        began = time.monotonic()
        expect(program.ask("open_it()") == (0, 0), program.report())
        opened = time.monotonic()
        session, = server.sessions()
        wait_until(lambda: told(program, f"{limit_s}s"), limit_s + 2 * GRACE_S, "it ends")
        expect(time.monotonic() - began > limit_s, program.report())
        expect(0 < session["wall_time_ms"] <= (time.monotonic() - began) * 1000 and
               session["age_ms"] - session["wall_time_ms"] > (limit_s + GRACE_S) * 1000,
               f"{session}, {opened - began}")


def test_who_opens_nothing_has_used_nothing(build):
    """The backend process that it is given beforehand is none of its usage."""
    with limited.limited(build) as server:
        with contextlib.closing(Program(build.remote([server]))) as program:
            expect(program.ask("look()") == (0, 0, 1), program.report())
            time.sleep(1.5)
        wait_until(lambda: not server.backends(), 20, "it has ended")
        expect(not server.usage(), f"{server.usage()}")


def test_a_backend_process_that_says_nothing(build):
    """A program that keeps its backend process from saying whether it serves, or gives it up, is
    counted from when its tickets are worth nothing."""
    if os.environ.get("GPUAAS_TEST_FULL") != "1":
        return
    with limited.limited(build, "wall-time=1s") as server, \
            contextlib.closing(Program(build.remote([server]))) as program:
        expect(program.ask("look()") == (0, 0, 1), program.report())
        backend, = wait_until(server.backends, 10, "it has one")
        os.kill(backend, signal.SIGSTOP)
        try:
            wait_until(lambda: told(server, "1s"), 2 * 10 + 1 + 3 * GRACE_S, program.report())
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(backend, signal.SIGCONT)


def test_a_gpuaasd_that_hears_late_of_the_first_device(build):
    """The program has the ticket already, and works while gpuaasd stands still: it has been there
    for as long as it has used the GPU, at least."""
    with limited.limited(build) as server:
        with contextlib.closing(Program(build.remote([server]))) as program:
            expect(program.ask("look()") == (0, 0, 1), program.report())
            server.kill(signal.SIGSTOP)
            try:
                expect(program.ask("open_it()") == (0, 0) and program.ask("work(1)") == 0,
                       program.report())
            finally:
                server.kill(signal.SIGCONT)
        used, = wait_until(server.usage, 20, "it has used something")
        wait_until(lambda: not server.sessions(), 20, "its session has ended")
        used, = server.usage()
        expect(0 < used["gpu_time_ms"] <= used["wall_time_ms"] + 1, f"{used}")


if __name__ == "__main__":
    harness.main(globals())
