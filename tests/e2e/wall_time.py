#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""wall-time counts from the first device that a program opens: one that has greeted, and looks at
its devices or waits, has used none of it, and has no usage (docs/quotas.md, docs/accounting.md)."""

import contextlib
import os
import signal
import subprocess
import sys
import time

import harness
import quotas
from harness import expect, wait_until

GRACE_S = 6  # so much later gpuaasd ends whom its backend process has not ended
# Evaluates each line that it reads, and prints what came out.
PROGRAM = """
import ctypes, sys, time
cuda = ctypes.CDLL("libcuda.so.1")
count, context = ctypes.c_int(), ctypes.c_void_p()

def look():
    return cuda.cuInit(0), cuda.cuDeviceGetCount(ctypes.byref(count)), count.value

def open_it():
    return (cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0),
            cuda.cuCtxSetCurrent(context))

def work(seconds): # fills memory for so long
    memory, size, end = ctypes.c_uint64(), ctypes.c_size_t(64 << 20), time.monotonic() + seconds
    rc = cuda.cuMemAlloc_v2(ctypes.byref(memory), size)
    while rc == 0 and time.monotonic() < end:
        rc = cuda.cuMemsetD8_v2(memory, 1, size) or cuda.cuCtxSynchronize()
    return rc

for line in sys.stdin:
    print(repr(eval(line)), flush=True)
"""


class Program(harness.Process):
    def __init__(self, env):
        super().__init__([sys.executable, "-c", PROGRAM], env, stdin=subprocess.PIPE)
        self.answers = 0

    def ask(self, line):
        self.popen.stdin.write(line + "\n")
        self.popen.stdin.flush()
        self.answers += 1
        wait_until(lambda: len(self.out.lines) >= self.answers or not self.running(),
                   harness.PROGRAM_SECONDS, f"an answer\n{self.report()}")
        expect(len(self.out.lines) >= self.answers, self.report())
        return eval(self.out.lines[self.answers - 1])  # pylint: disable=eval-used

    close = harness.Process.end


def told(process, allowed):
    return f"limit wall-time of tenant default: {allowed}" in process.err.text


def test_from_the_first_device(build):
    """It waits for longer than the limit and than gpuaasd's patience with backend processes, and
    has all of its time then."""
    limit_s = 3
    with quotas.limited(build, f"wall-time={limit_s}s") as server, \
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
    with quotas.limited(build) as server:
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
    with quotas.limited(build, "wall-time=1s") as server, \
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
    with quotas.limited(build) as server:
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
