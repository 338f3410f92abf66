#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each failpoint whose caller can take it as failure fails once; each one is late once; and
sockets give and take few bytes at a time. The program that is hit gets a documented error or passes
(late is no failure), gpuaasd goes on."""

import check
from check import Checker, expect, wait_until
from lib import harness
from points import UNSURE, Fuse, all_points

LATE_MS = 200


def points_that(action):
    return [point for point in all_points()
            if point.program not in ("tcp", "rdma") and (action != "fail" or point.can_fail)]


def run_one(build, fuse, point, allowed):
    """A victim of `point`, which is armed; whether its gpuaasd could start."""
    of_client = point.program == "client"
    with check.serving_maybe(build, extra={} if of_client else fuse.env) as server:
        if server is None:
            return False  # a failpoint that gpuaasd comes to while it starts
        victim = check.start_steps(build, [server], **(fuse.env if of_client else {}))
        error = check.victim_result(victim)
        if not of_client:  # a backend process may come to the point on its way out
            wait_until(lambda: not server.backends(), check.CLEAN_SECONDS, "it has gone")
        due = allowed if fuse.disarm() else {0}
        expect(error in due, f"error {error}\n{victim.report()}")
        expect(error == 0 or harness.logged(victim), f"no reason\n{victim.report()}")
        Checker(build, server).check()
    return True


def expect_each(build, action, allowed):
    """Does `action` at each failpoint, when somebody comes to it (--all: for the second time)."""
    for point in points_that(action.split(":")[0]):
        for count in (1, 2) if check.ALL else (1,):
            with Fuse() as fuse, check.explained(f"{action} at {count} of {point.name!r}"):
                fuse.arm(point.name, action, count)
                started = run_one(build, fuse, point, allowed)
                expect(started or action == "fail", "gpuaasd has not started")
                sure = count == 1 and point.name not in UNSURE
                expect(not sure or fuse.fired(), "nobody came there")


def test_fail(build):
    expect_each(build, "fail", {0, 46, 100, 719, 2})  # 0: it was tried again


def test_why_a_client_is_refused(build):
    """Memory that runs out is not told as too many clients."""
    with Fuse() as fuse:
        fuse.arm("gpuaasd: accepted", "fail")
        with harness.serving(build, extra=fuse.env) as server:
            victim = check.start_steps(build, [server])
            expect(check.victim_result(victim) in {0, 100}, victim.report())
            expect(fuse.fired(), "nobody came there")
            expect("no memory for a client" in server.err.text, server.report())
            expect("applications already" not in server.err.text, server.report())


def test_late(build):
    expect_each(build, f"delay:{LATE_MS}", {0})


def test_few_bytes_at_a_time(build):
    for name in ("tcp: few bytes sent", "tcp: few bytes received"):
        with Fuse() as fuse, check.explained(name):
            fuse.arm(name, "fail", 0)
            with harness.serving(build, extra=fuse.env) as server:
                check.run_steps(build, [server], seconds=240)
            with harness.serving(build) as server:
                victim = check.start_steps(build, [server], **fuse.env)
                expect(check.victim_result(victim, 240) == 0, victim.report())


if __name__ == "__main__":
    harness.main(globals())
