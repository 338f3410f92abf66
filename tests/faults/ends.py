#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Applications that are killed at each failpoint of the client, one after the other in one backend
process: nothing of them stays in it. GPUAAS_TEST_FULL: each a hundred times."""

import os

import check  # noqa: F401 (it finds the harness)
import harness
from harness import expect, wait_until
from points import Fuse, all_points

TIMES = 100 if os.environ.get("GPUAAS_TEST_FULL") else 4
SEATS = 2  # gpuaasd may learn of an end after the next program has come
DRIVER_THREADS = 2  # it starts more of its own when more work comes together
COUNTS = (1, 2, 5)  # in turns: at which coming to the point it is killed


def holds(pid):
    """How many descriptors and threads."""
    return tuple(len(os.listdir(f"/proc/{pid}/{what}")) for what in ("fd", "task"))


def kill_at(build, server, fuse, point):
    """How often a program came so far."""
    fired = 0
    for time in range(TIMES):
        fuse.arm(point.name, "kill", COUNTS[time % len(COUNTS)])
        env = {**build.remote([server]), **fuse.env}
        harness.run([build.program("leaves"), "1"], env, status=None)
        fired += fuse.disarm()
        wait_until(lambda: not server.backends(), 20, f"the end of one killed at {point.name!r}")
    return fired


def test_client(build):
    config = harness.configuration(1).replace("[server]", "[server]\nspare_backends = 0")
    with Fuse() as fuse, harness.serving(build, config=config,
                                         extra={"GPUAAS_TEST_SEATS": str(SEATS)}) as server:
        harness.run_passing([build.program("leaves"), "3"], build.remote([server]))
        wait_until(lambda: not server.backends(), 20, "the first have ended")
        processes = server.spares()
        expect(len(processes) == 1, f"one process serves all, not {processes}")
        points = [point for point in all_points() if point.program == "client"]
        before = holds(processes[0])
        kills = sum(kill_at(build, server, fuse, point) for point in points)
        expect(server.spares() == processes, f"{processes} served all, now {server.spares()}")
        after = holds(processes[0])
        expect(after[0] == before[0] and after[1] <= before[1] + DRIVER_THREADS
               and kills > 2 * TIMES,
               f"descriptors and threads: {before}, after {kills} kills {after}")
        print(f"{kills} kills")


if __name__ == "__main__":
    harness.main(globals())
