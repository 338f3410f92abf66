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
COUNTS = (1, 2, 5)  # in turns: at which coming to the point it is killed


def holds(pid):
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as f:
        threads = [line for line in f if line.startswith("Threads:")]
    return len(os.listdir(f"/proc/{pid}/fd")), threads


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
                                         extra={"GPUAAS_TEST_SEATS": "1"}) as server:
        harness.run_passing([build.program("leaves"), "3"], build.remote([server]))
        wait_until(lambda: not server.backends(), 20, "the first have ended")
        processes = server.spares()
        before = [holds(pid) for pid in processes]
        kills = 0
        for point in all_points():
            if point.program == "client":
                kills += kill_at(build, server, fuse, point)
        expect(server.spares() == processes, f"{processes} served all, now {server.spares()}")
        after = [holds(pid) for pid in processes]
        expect(after == before, f"the process held {before}, and holds {after}")
        expect(kills >= TIMES, f"only {kills} were killed")
        print(f"{kills} kills")


if __name__ == "__main__":
    harness.main(globals())
