#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bills: copies of a program pay what one alone pays, though they use the GPU together; all
together never pay for more time than there was; and work that has begun is paid for, whatever ends
it: a fault, kill -9 of the program or of its backend process, a reset, an exit."""

import contextlib
import os
import signal
import subprocess
import time

from lib import harness
from lib.accounts import NS, node
from lib.harness import expect, wait_until

MS = 10**6
FULL = bool(os.environ.get("GPUAAS_TEST_FULL"))
# The part of what one alone pays (docs/accounting.md).
EXACT = 0.02
# The error of a batch that ends in an unusual way: 5 %, or 1 ms; and the delay of this machine,
# which is not the server's.
LOST = 0.05
LATE_NS = 25 * MS
# A run of copies that takes longer than that, times what the GPU needs for it, is VOID.
BUSY, RUNS = 1.1, 4
LAUNCH_NS = 3000
TIMED = """[gpu.0]
driver = soft
model = {model}
memory = 256MiB
context_time = none
switch_time = none
timing = yes
execute = no
"""
# Without slices a GPU does one kernel after the other; with them contexts take turns.
SERIAL, SLICED = TIMED.format(model="c2050"), TIMED.format(model="a100")
EXECUTES = """[gpu.0]
driver = soft
memory = 256MiB
sms = 1
"""


def start(build, server, *words):
    return harness.Process([build.program("billed"), *map(str, words)], build.remote([server]),
                           stdin=subprocess.PIPE)


def ready(programs):
    for program in programs:
        program.wait_for_line("ready", harness.PROGRAM_SECONDS)


def begin(programs):
    """When they begin to work."""
    ready(programs)
    began = time.monotonic()
    for program in programs:
        program.popen.stdin.write("\n")
        program.popen.stdin.flush()
    return began


def rows(here, count):
    """The rows of the sessions, all of which have ended."""
    def ended():
        found = here.rows()
        return found if len(found) == count and all(row["ended"] for row in found) else None
    return wait_until(ended, 30, f"{count} sessions have ended")


def run_copies(here, server, count, words):
    """The bill of each since it is ready, in ns; how long all have worked, and been there."""
    made, before = time.monotonic(), {row["session"] for row in here.rows()}
    programs = [start(here.build, server, *words) for _ in range(count)]
    try:
        ready(programs)
        early = {session["id"][:8]: sum(use["gpu_ms"] for use in session["use"])
                 for session in here.admin.items("sessions")}
        began = begin(programs)
        for program in programs:
            expect(program.wait(harness.PROGRAM_SECONDS) == 0, program.report())
        took_ns, there_ns = (int((time.monotonic() - since) * NS) for since in (began, made))
    finally:
        for program in programs:
            program.end()
    here.sessions += count
    paid = [row["gpu_ns"] - early[row["session"][:8]] * MS
            for row in rows(here, here.sessions) if row["session"] not in before]
    return paid, took_ns, there_ns


def check_copies(build, gpu, way, count, us, most=8):
    """A machine that is so busy that the GPU stands still although somebody wants it, or lets only
    some of them go on, says little: such a run is VOID, as the software GPU says too. Then only
    that they do not pay for each other is looked at."""
    true_ns = count * (us * 1000 + LAUNCH_NS)
    with node(build, gpu=gpu) as here:
        here.sessions = 0
        with here.serving() as server:
            for copies in range(1, most + 1) if FULL else (1, 3, most):
                offs, void = [], False
                while len(offs) < RUNS and min(offs, default=1) > EXACT:
                    lines = len(server.err.lines)
                    paid, took_ns, there_ns = run_copies(here, server, copies, (way, count, us))
                    parts = sorted(ns / true_ns for ns in paid)
                    offs.append(max(1 - parts[0], parts[-1] - 1))
                    void = void or took_ns > BUSY * copies * true_ns or any(
                        "run is VOID" in line for line in server.err.lines[lines:])
                    print(f"{copies} x {way}: {[round(part, 4) for part in parts]} of "
                          f"{true_ns / MS} ms, in {took_ns / MS} ms{' VOID' if void else ''}")
                    expect(sum(paid) <= there_ns, "more than there was")
                expect(min(offs) <= (1 + copies / 4 if void else EXACT),
                       f"{copies} copies pay so much more or less than one: {offs}")


def test_copies_that_wait_for_each_kernel(build):
    check_copies(build, SERIAL, "kernels", *((60, 10000) if FULL else (60, 5000)))


def test_copies_that_wait_for_each_kernel_with_slices(build):
    check_copies(build, SLICED, "kernels", *((60, 10000) if FULL else (60, 5000)))


def test_copies_that_submit_all_at_once(build):
    check_copies(build, SERIAL, "queued", 200, 1000)


def test_copies_that_submit_all_at_once_with_slices(build):
    check_copies(build, SLICED, "queued", 200, 1000)


def test_short_kernels_beside_long_ones(build):
    """Each pays its own kernels, where the GPU does one after the other and each has one at a
    time."""
    ways = (("kernels", 300, 1000), ("kernels", 120, 9000))
    with node(build, gpu=SERIAL) as here, here.serving() as server:
        programs = [start(build, server, *way) for way in ways]
        try:
            begin(programs)
            for program in programs:
                expect(program.wait(harness.PROGRAM_SECONDS) == 0, program.report())
        finally:
            for program in programs:
                program.end()
        paid = sorted(row["gpu_ns"] for row in rows(here, len(programs)))
        true_ns = [count * (us * 1000 + LAUNCH_NS) for _, count, us in ways]
        parts = [ns / true for ns, true in zip(paid, true_ns)]
        print(f"{parts} of {true_ns}")
        expect(all(0.9 <= part <= 1.25 for part in parts), f"{paid} of {true_ns} ns")


def test_never_more_than_there_was(build):
    """Programs of kernels and copies in several streams: the sum of what all pay, at any sample."""
    for gpu in (SERIAL, SLICED):
        with node(build, gpu=gpu) as here, here.serving() as server:
            began = time.monotonic()
            programs = [start(build, server, "random", seed, 8000 if FULL else 2500)
                        for seed in (1, 2, 3)]
            paid_ms, samples = 0, 0
            try:
                begin(programs)
                while any(program.running() for program in programs):
                    before, paid_ms = paid_ms, sum(use["gpu_ms"] for session in
                                                   here.admin.items("sessions")
                                                   for use in session["use"])
                    most_ms = (time.monotonic() - began) * 1000
                    print(f"{paid_ms} ms of {most_ms:.0f} ms")
                    expect(paid_ms <= most_ms, f"{paid_ms} ms of {most_ms} ms")
                    samples += paid_ms > before
                for program in programs:
                    expect(program.wait(harness.PROGRAM_SECONDS) == 0, program.report())
            finally:
                for program in programs:
                    program.end()
            most_ns = (time.monotonic() - began) * NS
            paid = [row["gpu_ns"] for row in rows(here, len(programs))]
            true_ns = here.true_ns()
            print(f"{samples} samples, {paid}: {sum(paid) / MS} ms, {true_ns / MS} ms by the GPU")
            expect(samples >= 3 and sum(paid) <= most_ns, f"{paid}, {most_ns}")
            expect(sum(paid) >= (1 - LOST) * true_ns - LATE_NS, f"{paid}, {true_ns}")


class Ending:
    """One program, and for how long it has used the GPU at least and at most."""

    def __init__(self, here, server, *words):
        self.server, self.before = server, {row["session"] for row in here.rows()}
        self.here, self.words = here, words
        self.made = time.monotonic()
        self.program = start(here.build, server, *words)
        begin([self.program])
        if words[0] != "fault":
            self.program.wait_for_line("begins", harness.PROGRAM_SECONDS)
        self.runs = time.monotonic()
        self.backends = server.backends()

    def check(self, least_s):
        self.program.wait(harness.PROGRAM_SECONDS)
        self.program.end()
        wait_until(lambda: not any(map(harness.alive, self.backends)), 20, "its process is gone")
        most_ns = (time.monotonic() - self.made) * NS

        def ended():
            new = [row for row in self.here.rows() if row["session"] not in self.before]
            return new[0] if new and new[0]["ended"] else None
        row = wait_until(ended, 20, "its session has ended")
        print(f"{self.words}: {row['gpu_ns'] / MS} ms paid of {least_s * 1000:.1f} to "
              f"{most_ns / MS:.1f} ms; {row['reason']}")
        expect(least_s * NS * (1 - LOST) - MS <= row["gpu_ns"] <= most_ns + MS,
               f"{self.words}: {row} of {least_s} s to {most_ns} ns")
        return row["gpu_ns"]


def test_whatever_ends_it_work_that_has_begun_is_paid(build):
    with node(build, gpu=EXECUTES) as here, here.serving() as server:
        paid = [Ending(here, server, "fault", 150000).check(0.15) for _ in range(RUNS)]
        expect(min(paid) <= 150 * MS * (1 + LOST) + LATE_NS, f"{paid} ns of 150 ms")
        for way in ("runs", "asks"):
            ending = Ending(here, server, way, 60 * 10**6)
            time.sleep(0.2)
            runs = time.monotonic() - ending.runs
            ending.program.kill()
            ending.check(runs)
        ending = Ending(here, server, "runs", 60 * 10**6)
        time.sleep(0.15)
        runs = time.monotonic() - ending.runs
        for pid in ending.backends:
            os.kill(pid, signal.SIGKILL)
        ending.check(runs)
        Ending(here, server, "reset", 150000).check(0.1)
        Ending(here, server, "leave", 60 * 10**6).check(0.1)
        # A process that gives back all it has before it ends lets it end; others end at once.
        winds_up = build.sanitize != "none"
        paid = Ending(here, server, "leave", 600000).check(0.6 if winds_up else 0.1)
        expect(paid <= 600 * MS * (1 + LOST) + LATE_NS, f"{paid} ns of 600 ms")
        here.admin.run("tenant", "set-quota", "default", "kernel-time=300ms")
        Ending(here, server, "runs", 60 * 10**6).check(0.3)


def test_who_waits_for_a_dead_program(build):
    """Its kernel of 20 s goes on until its process is gone. Programs that have waited run then, and
    later ones, and pay for what they use."""
    for gpu in (SERIAL, SLICED):
        with contextlib.ExitStack() as stack:
            here = stack.enter_context(node(build, gpu=gpu))
            server = stack.enter_context(here.serving())

            def one(*words):
                program = start(build, server, *words)
                stack.callback(program.end)
                ready([program])
                return program
            early = one("kernels", 1, 1000)
            others, known = server.backends(), here.admin.items("sessions")
            killed = one("runs", 20 * 10**6)
            begin([killed])
            killed.wait_for_line("begins", harness.PROGRAM_SECONDS)
            mine = set(server.backends()) - set(others)
            wait_until(lambda: used_ms(here) >= 100, 20, "it runs")
            begin([early])
            time.sleep(0.3)
            expect(early.running() or gpu == SLICED, early.report())
            killed.kill()
            wait_until(lambda: not any(map(harness.alive, mine)), 20, "its process is gone")
            gone = time.monotonic()
            expect(early.wait(harness.PROGRAM_SECONDS) == 0, early.report())
            late = one("kernels", 1, 1000)
            begin([late])
            expect(late.wait(harness.PROGRAM_SECONDS) == 0, late.report())
            took_s = time.monotonic() - gone
            paid = {row["session"][:8]: row["gpu_ns"] / MS for row in rows(here, 3)}
            early_ms = paid.pop(known[0]["id"][:8])
            killed_ms, late_ms = max(paid.values()), min(paid.values())
            print(f"dead for {took_s:.3f} s: {killed_ms} ms, {early_ms} ms, {late_ms} ms")
            expect(took_s < 10, f"they wait for {took_s} s")
            expect(killed_ms >= 300 and 0.3 <= early_ms <= 600 and 1 <= late_ms <= 200,
                   f"{killed_ms} ms, {early_ms} ms, {late_ms} ms are paid")


def test_work_is_paid_while_its_process_stands_in_the_driver(build):
    """The queue of the stream is full, so its process looks no more at what is done."""
    with node(build, gpu=SERIAL) as here, here.serving() as server:
        ending = Ending(here, server, "fills", 60 * 10**6)
        time.sleep(6)
        seen_s, runs = used_ms(here) / 1000, time.monotonic() - ending.runs
        expect(runs - 1 <= seen_s <= runs + 0.1, f"{seen_s} s after {runs} s")
        ending.program.kill()
        ending.check(runs)


def test_a_limit_of_gpu_time_is_met_by_kernels_that_fault(build):
    with node(build, gpu=EXECUTES) as here, here.serving() as server:
        here.admin.run("tenant", "set-quota", "default", "gpu-seconds=300ms/day")
        ran = 0
        while ran == 0 or here.usage()["gpu_time_ms"] < 300:
            expect(ran < 2, f"{ran} programs of 170 ms have used less than 300 ms")
            Ending(here, server, "fault", 170000).check(0.17)
            ran += 1
        refused = harness.run([build.program("hello")], build.remote([server]), status=None)
        expect(refused.status != 0 and "limit gpu-seconds-day" in refused.err.text,
               refused.report())


def test_cap_of_several_programs(build):
    """Together they have what the cap allows, also if they wait for each other."""
    part = 0.25
    gpu = SLICED + "kernel_time = 2ms\n"
    with node(build, gpu=gpu) as here:
        here.config = here.config.replace("[server]\n", "[server]\nauth = on\n")
        with here.serving() as server:
            here.admin.run("tenant", "add", "capped", f"compute-cap={part:.0%}")
            token = os.path.join(here.folder, "token")
            here.admin.run("token", "issue", "capped", "--out", token)
            env = build.remote([server], GPUAAS_TOKEN_FILE=token)
            with contextlib.ExitStack() as stack:
                for _ in range(5):
                    program = harness.Process([build.program("metered"), "whole"], env,
                                              stdin=subprocess.PIPE)
                    stack.callback(program.end)
                    program.wait_for_line("begins", harness.PROGRAM_SECONDS)
                before, since = used_ms(here), time.monotonic()
                wait_until(lambda: used_ms(here) >= before + 600, 60, "they use the GPU")
                used = (used_ms(here) - before) / 1000 / (time.monotonic() - since)
        print(f"{used:.3f} of the GPU, of {part}")
        expect(0.6 * part <= used <= 1.2 * part, f"{used} of {part}")


def used_ms(here):
    return sum(use["compute_ms"] for session in here.admin.items("sessions")
               for use in session["use"])


if __name__ == "__main__":
    harness.main(globals())
