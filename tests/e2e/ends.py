#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Applications end, and the process that has served them goes on: nothing of them stays in it.
With GPUAAS_TEST_FULL ten thousand of them, one after the other; without sanitizers also the
process's memory is compared."""

import os
import re

from lib import harness
from lib.harness import expect, wait_until

FULL = bool(os.environ.get("GPUAAS_TEST_FULL"))
GROWTH_KIB_MAX = 1024
ROUNDS = 4  # memory grows in each of them, unless it only grows until it has been full once


def counts(build):
    """How many warm up, and how many are measured."""
    if build.sanitize != "none":
        return 50, 200
    return (1000, 9000) if FULL else (100, 400)


def holds(pid):
    """The memory that a process holds."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as f:
        status = dict(re.findall(r"(?m)^(\w+):\s+(\d+)", f.read()))
    return {"descriptors": len(os.listdir(f"/proc/{pid}/fd")), "threads": int(status["Threads"]),
            "memory": int(status["VmRSS"])}


def spare_serving(build, seats):
    return harness.serving(build, gpus=1, keys=["spare_backends = 0"],
                           extra={"GPUAAS_TEST_SEATS": str(seats)})


def leave(build, server, arguments, seconds):
    """Applications come and go."""
    harness.run_passing([build.program("leaves"), *arguments], build.remote([server]), seconds)
    wait_until(lambda: not server.backends(), 20, "the last application has ended")


def leave_alone(build, server, count):
    """Each comes when the one before has ended."""
    for _ in range(count):
        leave(build, server, ["1"], 60)


def leave_side_by_side(build, server, count):
    """Each comes while the one before ends."""
    leave(build, server, [str(count), "side"], 60 + 2 * count)


def measure(build, seats, leave_some, warm, count):
    with spare_serving(build, seats) as server:
        leave_some(build, server, warm)
        processes = server.spares()
        expect(len(processes) == 1, f"one process serves all: {processes}")
        for _ in range(ROUNDS):
            before = holds(processes[0])
            leave_some(build, server, count)
            expect(server.spares() == processes, f"{processes} served all, now {server.spares()}")
            after = holds(processes[0])
            print(f"{count} applications: before {before}, after {after}")
            for what in ("descriptors", "threads"):
                expect(after[what] == before[what], f"{what}: before {before}, after {after}")
            grown = after["memory"] - before["memory"]
            if build.sanitize != "none" or grown <= GROWTH_KIB_MAX:
                break
        else:
            raise harness.Failure(f"resident memory grows in each of {ROUNDS} rounds: {after}")
        errors = [line for line in server.err.lines if re.search(r" (warn|error): ", line)
                  and not re.search("GPUAAS_TEST_SEATS|lines of this kind", line)]
        expect(not errors, "\n".join(errors[:5]))


def test_one_seat(build):
    """Each has the driver's primary context."""
    measure(build, 1, leave_alone, 10, 40)


def test_several_seats(build):
    measure(build, 4, leave_side_by_side, *counts(build))


if __name__ == "__main__":
    harness.main(globals())
