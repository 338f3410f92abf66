#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A stopped peer (SIGSTOP) sends nothing and closes nothing: the other end, in every state, notices
after dead_after and says so. A shorter pause has no effect, and a busy peer is never taken for a
dead one."""

import contextlib
import os
import re
import signal
import tempfile
import time

import check  # it also makes the folder of the end-to-end tests known
from lib import ctl, harness
from check import Checker, expect, wait_until

# Seconds, here; on a machine that does many other things, or is emulated.
DEAD_AFTER = 6 if harness.TRANSPORT == "rdma" else 4
SLACK = 20

# The states of a program when its peer falls silent.
STATES = {"idle": ["endless", "idle"],  # nothing is due
          "request": ["endless", "kernel"],  # it waits for an answer
          "bytes": ["endless", "copy"],  # bytes on the way, in both directions
          "calls": ["steps", "0"]}


def configuration(dead_after=DEAD_AFTER):
    return harness.configuration(1, keys=[f"dead_after_s = {dead_after}"])


@contextlib.contextmanager
def in_every_state(build, server, **env):
    """One program in each state: {state: (program, its backend process)}."""
    with contextlib.ExitStack() as stack:
        found = {}
        for state, words in STATES.items():
            others = server.backends()
            command = [build.program(words[0]), *words[1:]]
            program = stack.enter_context(harness.running(command, build.remote([server], **env)))
            program.wait_for_line("started", 60)
            backends = [pid for pid in server.backends() if pid not in others]
            expect(len(backends) == 1, f"one backend process is due: {backends}")
            found[state] = (program, backends[0])
        yield found


def lines_of_ours(program):
    return harness.logged(program)


def expect_told(state, program, begin, why):
    """One line why, and 719 if it called. How many seconds after `begin`."""
    program.wait_for_line(why, DEAD_AFTER + SLACK, program.err)
    seconds = time.monotonic() - begin
    if state == "idle":
        program.kill(signal.SIGKILL)
    else:
        program.wait_for_line(r"error 719\b", 10)
    program.wait(30)
    lines = lines_of_ours(program)
    expect(len(lines) == 1, f"{state}: one line why is due\n{program.report()}")
    return seconds


def test_backend_that_stands_still(build):
    with harness.serving(build, config=configuration(60)) as server:
        checker = Checker(build, server)
        with in_every_state(build, server, GPUAAS_DEAD_AFTER=str(DEAD_AFTER)) as programs:
            begin = time.monotonic()
            stopped = [backend for _, backend in programs.values()]
            for backend in stopped:
                os.kill(backend, signal.SIGSTOP)
            for state, (program, _) in programs.items():
                seconds = expect_told(state, program, begin, f"no sign of life for {DEAD_AFTER} s")
                expect(seconds >= DEAD_AFTER / 2, f"{state}: given up after {seconds:.1f} s")
                print(f"{state}: noticed after {seconds:.1f} s")
        checker.check(killed=stopped)


def test_client_that_stands_still(build):
    with harness.serving(build, config=configuration()) as server:
        checker = Checker(build, server)
        with in_every_state(build, server) as programs:
            begin = time.monotonic()
            for program, _ in programs.values():
                program.kill(signal.SIGSTOP)
            wait_until(lambda: not server.backends(), DEAD_AFTER + SLACK,
                       "the backend processes of silent clients end")
            print(f"all freed after {time.monotonic() - begin:.1f} s")
            expect(len(re.findall(f"no sign of life of the client for {DEAD_AFTER} s",
                                  server.err.text)) == len(programs), server.report())
            resumed = time.monotonic()
            for program, _ in programs.values():
                program.kill(signal.SIGCONT)
            for state, (program, _) in programs.items():
                expect_told(state, program, resumed, "is lost")
        checker.check()


def test_short_pauses_harm_nobody(build):
    pause = 3
    with harness.serving(build, config=configuration(15)) as server:
        checker = Checker(build, server)
        with in_every_state(build, server, GPUAAS_DEAD_AFTER="15") as programs:
            pids = [pid for program, backend in programs.values()
                    for pid in (program.pid, backend)]
            # Each on its own, then all at once as when a machine is suspended.
            for group in [*([pid] for pid in pids), pids, [server.pid]]:
                for pid in group:
                    os.kill(pid, signal.SIGSTOP)
                time.sleep(pause if len(group) > 1 else 0.5)
                for pid in group:
                    os.kill(pid, signal.SIGCONT)
            steps, _ = programs["calls"]
            steps.kill(signal.SIGTERM)
            expect(check.victim_result(steps) == 0, steps.report())
            for state, (program, _) in programs.items():
                expect(not lines_of_ours(program), f"{state}\n{program.report()}")
                expect(state == "calls" or program.running(), f"{state}\n{program.report()}")
        checker.check()


def test_gpuaasd_that_stands_still(build):
    """A program that has its backend process needs gpuaasd no more; a new one is told in time."""
    with harness.serving(build, config=configuration()) as server:
        checker = Checker(build, server)
        with harness.running([build.program("steps"), "0"],
                             build.remote([server], GPUAAS_DEAD_AFTER=str(DEAD_AFTER))) as program:
            program.wait_for_line("started", 60)
            server.kill(signal.SIGSTOP)
            newcomer = harness.run([build.program("vector_add")],
                                   build.remote([server], GPUAAS_CONNECT_TIMEOUT="2"), status=None)
            time.sleep(DEAD_AFTER)
            server.kill(signal.SIGCONT)
            expect("no answer within 2 s" in newcomer.err.text, newcomer.report())
            program.kill(signal.SIGTERM)
            expect(check.victim_result(program) == 0, program.report())
        checker.check()


def test_busy_is_not_silent(build):
    """Behind a kernel of many times dead_after, with more copies queued than any buffer takes."""
    with harness.serving(build, config=configuration()) as server:
        checker = Checker(build, server)
        program = harness.run([build.program("busy"), str(3 * DEAD_AFTER)],
                              build.remote([server], GPUAAS_DEAD_AFTER=str(DEAD_AFTER)))
        expect("PASSED" in program.out.text, program.report())
        print(program.out.lines[0])
        checker.check()


def in_real_time(build):
    """With what users get unless they say otherwise: 10 s are survived, 60 s are not."""
    with harness.serving(build, gpus=1) as server:
        checker = Checker(build, server)
        killed = []
        for stopped in ("backend", "client"):
            with harness.running([build.program("steps"), "0"], build.remote([server])) as program:
                program.wait_for_line("started", 60)
                backend, = server.backends()
                pid = backend if stopped == "backend" else program.pid
                for seconds in (10, 60):
                    expect(program.running() and not lines_of_ours(program), program.report())
                    os.kill(pid, signal.SIGSTOP)
                    time.sleep(seconds)
                    with contextlib.suppress(ProcessLookupError):  # killed by gpuaasd by now
                        os.kill(pid, signal.SIGCONT)
                    time.sleep(2)
                expect(check.victim_result(program) == 719, program.report())
                expect(len(lines_of_ours(program)) == 1, program.report())
                killed.append(backend)
        checker.check(killed=killed)


if os.environ.get("GPUAAS_TEST_FULL") == "1":  # it takes minutes
    test_in_real_time = in_real_time


def test_limits_of_time(build):
    """gpuaasd ends what a backend process that does not go on should have ended. The limit comes
    when it has stopped, so that it cannot end by itself."""
    if harness.TRANSPORT != "tcp":
        return
    for limit in ("wall-time=1s", "idle-timeout=1s"):
        with tempfile.TemporaryDirectory(prefix="gpuaas-silence-") as folder, \
                harness.serving(build, config=ctl.configuration(folder)) as server:
            admin = ctl.Ctl(build, folder)
            with harness.running([build.program("endless"), "idle"],
                                 build.remote([server])) as program:
                program.wait_for_line("started", 60)
                expect(len(admin.items("sessions")) == 1, "a session is due")
                [backend] = server.backends()
                os.kill(backend, signal.SIGSTOP)
                admin.run("tenant", "set-quota", "default", limit)
                wait_until(lambda: f"limit {limit[:4]}" in server.err.text and
                           "its backend process has not ended it" in server.err.text and
                           not harness.alive(backend), 90, f"{limit}\n{server.report()}")


if __name__ == "__main__":
    harness.main(globals())
