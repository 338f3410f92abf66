#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The use of applications is in the store: GPU time as the GPU says, memory, bytes and launches;
written again nothing changes; a killed server loses 0.45 s at most, a killed backend process
nothing, and nothing is ever too much; a store that cannot be written stops nobody, and gets it all
later."""

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import time

from lib import harness
from lib.gpu_log import GPU
from lib.harness import expect, wait_until
from lib.player import Player

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "faults"))
from points import Fuse  # noqa: E402 (it lies beside)
from lib.accounts import NS, node

INTERVAL_NS = NS
# The most that is lost when gpuaasd is killed: the journal is written ten times a second, with all
# figures up to then.
KILLED_NS = 450_000_000
LONG = GPU.replace("kernel_time = 10us", "kernel_time = 5ms")
# The trace says what a kernel takes when it begins.
AHEAD_NS = 20_000_000
# The death of a process is seen so much later, here and by gpuaasd.
NOTICED_NS = 150_000_000


@contextlib.contextmanager
def metered(build, server, way):
    program = harness.Process([build.program("metered"), way], build.remote([server]),
                              stdin=subprocess.PIPE)
    try:
        yield program
    finally:
        program.end()


def finish(program):
    program.wait_for_line("PASSED", harness.PROGRAM_SECONDS)
    program.popen.stdin.close()
    expect(program.wait(60) == 0, program.report())


def test_usage(build):
    with node(build) as here:
        with here.serving() as server:
            with metered(build, server, "streams") as program:
                finish(program)
            wait_until(lambda: here.rows() and here.rows()[0]["ended"], 20, "the session has ended")
            usage, (row,) = here.usage(), here.rows()
        true_ns = here.true_ns()
        print(f"{row['gpu_ns']} ns in the store, {true_ns} ns by the GPU; {usage}")
        expect(abs(row["gpu_ns"] - true_ns) < 0.05 * true_ns + 1_000_000, f"{row}, {true_ns}")
        expect(row["reason"] == "the program has ended" and row["epoch"] == 1 and
               row["gpu"].startswith("GPU-"), f"{row}")
        expect(usage["tenant"] == "default" and usage["sessions"] == 1 and
               usage["launches"] == 1700 and
               usage["compute_time_ms"] <= usage["gpu_time_ms"] and
               usage["gpu_time_ms"] - 1 <= usage["compute_time_ms"] + usage["h2d_time_ms"] +
               usage["d2h_time_ms"] + 1 and usage["h2d_time_ms"] > 0 and
               usage["in_bytes"] > 20 << 20 and
               usage["out_bytes"] > 20 << 20 and usage["memory_peak_bytes"] >= 1 << 20 and
               usage["wall_time_ms"] >= usage["gpu_time_ms"], f"{usage}")
        with here.serving() as server:  # a second epoch, and what was written stays
            expect(here.usage() == usage, f"{here.usage()}, {usage}")
            with metered(build, server, "graph") as program:
                finish(program)
            wait_until(lambda: len(here.rows()) == 2, 20, "a second row")
        expect([row["epoch"] for row in here.rows()] == [1, 2], f"{here.rows()}")


def test_memory(build):
    """Bytes times seconds, and the most of them at a time."""
    with node(build) as here:
        with here.serving() as server, metered(build, server, "pauses") as program:
            program.wait_for_line("PASSED", harness.PROGRAM_SECONDS)
            begin, first = time.monotonic(), here.usage()["memory_mib_seconds"]
            time.sleep(4)
            wait_until(lambda: here.usage()["memory_mib_seconds"] >= first + 8, 20, "it grows")
            took, usage = time.monotonic() - begin, here.usage()
            held = usage["memory_peak_bytes"] / (1 << 20)
            grown = usage["memory_mib_seconds"] - first
            expect(grown <= held * (took + 2) + 1, f"{grown} MiB s in {took} s with {held} MiB")
            finish(program)


def forget_old(here):
    """With ledger_keep_days old usage goes, that of now stays."""
    def count():
        with contextlib.closing(sqlite3.connect(here.store, timeout=20)) as database:
            return [database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
                    for table in ("usage_day", "usage")]
    there = count()
    with contextlib.closing(sqlite3.connect(here.store, timeout=20)) as database:
        for table, day in (("usage_day", "day"), ("usage", "last")):
            columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
            others = [column for column in columns if column not in (day, "gpu")]
            database.execute(f"INSERT INTO {table} ({day}, gpu, {', '.join(others)}) SELECT 1, "
                             f"'old', {', '.join(others)} FROM {table} LIMIT 1")
        database.commit()
    expect(count() == [rows + 1 for rows in there], f"{count()}")
    here.config = here.config.replace("[server]\n", "[server]\nledger_keep_days = 40\n")
    with here.serving():
        wait_until(lambda: count() == there, 20, f"what is old is forgotten: {count()}")


def test_of_two_gpus(build):
    """Each has its own memory and bytes; what is of both is divided, and nothing counts twice."""
    mib = 1 << 20
    with node(build, gpu=GPU + GPU.replace("[gpu.0]", "[gpu.1]")) as here:
        with here.serving() as server:
            player = Player(build, build.remote([server]))
            for number, take, copies in ((0, 8, 1), (1, 40, 3)):
                expect(player.ask(f"device {number}") == "changed" and
                       player.ask(f"take {take}") == "took" and
                       player.ask(f"copy {copies}") == "copied", player.report())
            player.end()
            wait_until(lambda: here.rows() and all(row["ended"] for row in here.rows()), 20,
                       "the session has ended")
        forget_old(here)
        with here.serving():
            expect(here.admin.json("db", "check")["findings"] == [], "its sums are right")
            both, total = here.admin.items("usage", "--by", "gpu"), here.usage()
    print(f"{both}")
    expect(len(both) == 2, f"{both}")
    both.sort(key=lambda each: each["memory_peak_bytes"])
    for gpu, (peak, copied) in zip(both, ((20, 12), (52, 36))):
        expect(peak * mib <= gpu["memory_peak_bytes"] < (peak + 8) * mib and
               all(copied / 2 < gpu[way] / mib < copied * 3 / 2
                   for way in ("in_bytes", "out_bytes")), f"{gpu}")
    for figure in ("in_bytes", "out_bytes"):
        expect(sum(gpu[figure] for gpu in both) == total[figure], f"{both}, {total}")


def check_killed(here, until_ns=None):
    """No more is lost than what the journal did not have, and nothing is too much."""
    got, true_ns = sum(row["gpu_ns"] for row in here.rows()), here.true_ns(until_ns)
    print(f"{got} ns in the store, {true_ns} ns by the GPU")
    expect(true_ns > 2 * INTERVAL_NS, f"{true_ns} ns: it has not worked for long enough")
    expect(got >= true_ns - KILLED_NS - AHEAD_NS, f"{got} ns of {true_ns} ns")
    expect(got <= true_ns + AHEAD_NS + NOTICED_NS, f"{got} ns of {true_ns} ns")


def killed(build, backend, control, seconds):
    with node(build, gpu=LONG) as here:
        if control:  # nothing has been written by then
            here.config = here.config.replace("[server]\n", "[server]\nledger_interval_s = 60\n")
        with here.serving() as server:
            with metered(build, server, "long") as program:
                program.wait_for_line("begins", harness.PROGRAM_SECONDS)
                time.sleep(seconds)
                pids = server.backends()
                if control:
                    server.kill(signal.SIGKILL)
                for pid in pids if backend else []:
                    os.kill(pid, signal.SIGKILL)
                until_ns = time.monotonic_ns()
                if control:
                    server.wait(20)
                wait_until(lambda: not any(map(harness.alive, pids)), 20, "the backend has ended")
                program.wait(60)
            if not control:
                wait_until(lambda: here.rows()[0]["ended"], 20, "the row says so")
                expect("signal 9" in here.rows()[0]["reason"], f"{here.rows()}")
        if control:  # whoever comes next ends what was begun
            with here.serving():
                expect(here.rows()[0]["ended"], f"{here.rows()}")
        check_killed(here, until_ns)


def test_backend_killed(build):
    killed(build, True, False, 3.3)


def test_gpuaasd_killed(build):
    killed(build, False, True, 3.6)


def test_both_killed(build):
    killed(build, True, True, 3.9)


def test_killed_while_it_writes(build):
    """Before rows are written, and behind: as if they were written once."""
    if not build.has_failpoints():
        return
    for point in ("gpuaasd: before usage is written", "gpuaasd: usage written"):
        for count in (4, 5):
            with node(build, gpu=LONG) as here, Fuse() as fuse:
                fuse.arm(point, "kill", count)
                with here.serving(**fuse.env) as server, \
                        metered(build, server, "long") as program:
                    expect(server.wait(60) != 0, server.report())
                    until_ns = time.monotonic_ns()  # its backend process may go on for a while
                    program.wait(60)
                fuse.disarm()
                with here.serving():
                    row, = here.rows()
                    expect(row["ended"], f"{row}")
                got, true_ns = row["gpu_ns"], here.true_ns(until_ns)
                print(f"{point}: {got} ns in the store, {true_ns} ns by the GPU")
                expect(true_ns - KILLED_NS - AHEAD_NS - NOTICED_NS <= got <= true_ns + AHEAD_NS,
                       f"{got} ns of {true_ns} ns")


def test_a_store_that_cannot_be_written(build):
    """Applications go on, and what they have used is written when it can be."""
    if not build.has_failpoints():
        return
    with node(build, gpu=LONG) as here, Fuse() as fuse:
        fuse.arm("gpuaasd: before usage is written", "fail", 3)
        with here.serving(**fuse.env) as server:
            with metered(build, server, "long") as program:
                wait_until(lambda: "cannot be written" in server.err.text, 30, server.report())
                wait_until(lambda: "usage is written again" in server.err.text, 30, "it recovers")
                expect(program.running(), program.report())
                time.sleep(2)
        expect("lost" not in server.err.text, server.report())
        check_killed(here)


def test_a_store_that_cannot_be_written_until_the_end(build):
    """Rows that the last gpuaasd could not write, the next one writes."""
    if not build.has_failpoints():
        return
    with node(build, gpu=LONG) as here, Fuse() as fuse:
        fuse.arm("gpuaasd: before usage is written", "fail", 0)
        with here.serving(**fuse.env) as server:
            with metered(build, server, "long") as program:
                wait_until(lambda: here.true_ns() > 2.2 * INTERVAL_NS, 60, "it has worked")
            wait_until(lambda: not server.backends(), 20, "its session has ended")
        expect("is written when gpuaasd starts again" in server.err.text and not here.rows(),
               server.report())
        fuse.disarm()
        with here.serving():
            row, = here.rows()
            expect(row["ended"] and row["reason"] == "the program has ended", f"{row}")
        check_killed(here)


def test_off(build):
    """With ledger_interval_s = 0 nothing is measured or written."""
    with node(build) as here:
        here.config = here.config.replace("[server]\n", "[server]\nledger_interval_s = 0\n")
        with here.serving() as server:
            with metered(build, server, "stream") as program:
                finish(program)
            expect(not here.admin.items("usage") and not here.rows(), f"{here.rows()}")


if __name__ == "__main__":
    harness.main(globals())
