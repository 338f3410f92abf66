#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Broken connections: resets at every 64 KiB of copies in both directions, half-closed, silent and
corrupt ones, of each kind of connection. The victim is told an error or gets right results, never a
part of them; the server holds nothing of it any more, and serves the next program.

Uses the transport that breaks others (transport/fault/fault.h), which only builds with a sanitizer
have. With GPUAAS_TEST_FULL=1 at every boundary and many bytes, else at some."""

import itertools
import os
import subprocess
import sys

import check
from check import Checker, expect
from lib import harness
from points import Fuse

SKIPPED = 77
FULL = os.environ.get("GPUAAS_TEST_FULL") == "1"
FEW = harness.TRANSPORT == "rdma" and not FULL  # that machine is slow
BOUNDARY = 65536
COPIED = {"out": 18 * BOUNDARY, "in": 36 * BOUNDARY}  # by one round of steps, at least
DATA, SIDE, BULK = 2, 3, 4  # kinds of connections, to transport/fault/fault.h
HANG_SECONDS = 5  # a wrong length may make both ends wait for bytes


def victim(build, server, faults, rounds=1, **env):
    return check.start_steps(build, [server], rounds=rounds, GPUAAS_TEST_FAULT=faults, **env)


def expect_719(build, server, faults, rounds=1, **env):
    program = victim(build, server, faults, rounds, **env)
    try:
        error = check.victim_result(program)
        expect(error == 719, f"{faults}: {error} instead of 719\n{program.report()}")
        lines = harness.logged(program)
        expect(len(lines) == 1, f"{faults}: one line why is due\n{program.report()}")
        return lines[0]
    finally:
        program.end()


def ended_within(program, seconds):
    try:
        program.popen.wait(seconds)
        return True
    except subprocess.TimeoutExpired:
        return False


def resets(build, way):
    step = BOUNDARY if FULL else 11 * BOUNDARY if FEW else 5 * BOUNDARY
    with harness.serving(build) as server:
        checker = Checker(build, server)
        for at in range(BOUNDARY, COPIED[way] + 1, step):
            for off in (0, 1) if FULL else (0,):  # at the boundary, and inside of what follows
                expect_719(build, server, f"on={DATA}&reset_{way}={at + off}")
            checker.check_clean()
        checker.check()


def test_reset_in_copies_to_the_device(build):
    resets(build, "out")


def test_reset_in_copies_to_the_host(build):
    resets(build, "in")


def test_half_closed(build):
    with harness.serving(build) as server:
        checker = Checker(build, server)
        for way in ("in", "out"):
            expect_719(build, server, f"on={DATA}&half_{way}=300000")
            checker.check_clean()
        checker.check()


def test_side(build):
    """The program is in calls; what breaks is the connection beside it."""
    with harness.serving(build) as server:
        checker = Checker(build, server)
        why = expect_719(build, server, f"on={SIDE}&silent_in=120", rounds=0,
                         GPUAAS_DEAD_AFTER="3")
        expect("no sign of life for 3 s" in why, why)
        checker.check_clean()
        why = expect_719(build, server, f"on={SIDE}&reset_in=120", rounds=0)
        # The server ends the session at once: the end of the data connection may be seen first.
        expect("side connection" in why or "the connection ended" in why, why)
        checker.check()


def test_wrong_bytes(build):
    """Plain tcp has no checksum of ours, so a wrong byte may pass as a result; but it never crashes
    or blocks the server. The first bytes are those of the greetings."""
    places = ([*range(0, 200, 3), *range(200, 400000, 7919)] if FULL else
              [23, 70000] if FEW else [*range(0, 160, 23), 70000])
    with harness.serving(build) as server:
        checker = Checker(build, server)
        for way, on in itertools.product(("in", "out"), (0, DATA)):
            for at in places:
                program = victim(build, server, f"on={on}&corrupt_{way}={at}")
                try:
                    hangs = not ended_within(program, HANG_SECONDS)
                    bad = check.complaints(program.report())
                    expect(not bad, f"{way} {on} {at}: {bad}\n{program.report()}")
                    expect(hangs or -program.popen.poll() not in check.CRASHES, program.report())
                finally:
                    program.end()
            checker.check_clean()
        checker.check()


def test_small_pieces(build):
    """Everything in pieces, on sockets that are mostly not ready: all is right."""
    with harness.serving(build) as server:
        checker = Checker(build, server)
        program = victim(build, server, "most=700&again=3")
        try:
            expect(check.victim_result(program) == 0, program.report())
        finally:
            program.end()
        checker.check()


def bulk_configuration():
    return harness.configuration(2, keys=["bulk_connections = 3"])


def test_bulk_connections(build):
    """One that breaks is as bad as the data connection, but for its greeting: then there are fewer
    of them. By shared memory and RDMA there are none."""
    if harness.TRANSPORT in ("auto", "rdma"):
        return
    with harness.serving(build, config=bulk_configuration()) as server:
        checker = Checker(build, server)
        for way, kind in itertools.product(("in", "out"), ("reset", "half")):
            why = expect_719(build, server, f"on={BULK}&{kind}_{way}=200000")
            expect("connection" in why, why)
            checker.check_clean()
        for faults in (f"on={BULK}&reset_in=20", "most=700&again=3"):
            program = victim(build, server, faults)
            try:
                expect(check.victim_result(program) == 0, program.report())
            finally:
                program.end()
            checker.check_clean()
        checker.check()


def test_client_without_a_thread(build):
    """Nobody could answer the server's pings: the device is refused, instead of lost later."""
    with harness.serving(build) as server, Fuse() as fuse:
        checker = Checker(build, server)
        fuse.arm("thread in gpuaas", "fail", 0)  # at every time
        program = check.start_steps(build, [server], **fuse.env)
        try:
            expect(check.victim_result(program) == 46, program.report())
            expect("no thread" in program.err.text, program.report())
        finally:
            program.end()
        checker.check()


if __name__ == "__main__":
    if sys.argv[sys.argv.index("--sanitize") + 1] == "none":
        print("skipped: this build has no transport that breaks others")
        sys.exit(SKIPPED)
    harness.main(globals())
