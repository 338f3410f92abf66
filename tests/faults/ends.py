#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Applications that are killed at each failpoint of the client, one after the other in one backend
process: nothing of them stays in it. GPUAAS_TEST_FULL: each a hundred times."""

import contextlib
import os

import check  # noqa: F401 (it finds the harness)
from lib import harness
import raw
from lib.harness import expect, wait_until
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


@contextlib.contextmanager
def warm(build, extra=None):
    """A server whose only backend process has served some, and serves nobody now."""
    with harness.serving(build, gpus=1, keys=["spare_backends = 0"],
                         extra={"GPUAAS_TEST_SEATS": str(SEATS), **(extra or {})}) as server:
        for _ in range(3):
            harness.run_passing([build.program("leaves"), "1"], build.remote([server]))
            wait_until(lambda: not server.backends(), 20, "the first have ended")
        processes = server.spares()
        expect(len(processes) == 1, f"one process serves all, not {processes}")
        yield server, processes


def test_client(build):
    with Fuse() as fuse, warm(build) as (server, processes):
        points = [point for point in all_points() if point.program == "client"]
        before = holds(processes[0])
        kills = sum(kill_at(build, server, fuse, point) for point in points)
        expect(server.spares() == processes, f"{processes} served all, now {server.spares()}")
        after = holds(processes[0])
        expect(after[0] == before[0] and after[1] <= before[1] + DRIVER_THREADS
               and kills > 2 * TIMES,
               f"descriptors and threads: {before}, after {kills} kills {after}")
        print(f"{kills} kills")


def test_side_connection_that_comes_at_the_end(build):
    """Its application ends already: it is refused, and nothing of it stays."""
    with Fuse() as fuse:
        fuse.arm("backend: before the end of an application", "delay:500", 0)  # each time
        with warm(build, fuse.env) as (server, processes):
            come_late(server, processes)


def come_late(server, processes):
    before = holds(processes[0])
    for _ in range(4):
        with raw.Raw(server.place) as client:
            ticket = client.open()
            data, side = client.connect(ticket[0]), client.connect(ticket[0])
            opcode, _ = client.show(data, ticket, raw.DATA)
            expect(opcode == raw.DATA_WELCOME, f"opcode {opcode}")
            client.control.close()
            wait_until(lambda: not raw.listens(ticket[0]), 20, "the application ends")
            opcode, said = client.show(side, ticket, raw.SIDE)
            expect(opcode == raw.REFUSED and b"is ending" in said, f"{opcode} {said}")
        wait_until(lambda: not server.backends(), 20, "the application has ended")
    expect(server.spares() == processes and holds(processes[0]) == before,
           f"before {before}, after {holds(processes[0])}\n{server.report()}")


def test_application_without_an_id(build):
    """One that calls itself as seats of nobody do is one as any other."""
    with warm(build) as (server, processes):
        with contextlib.ExitStack() as stack:
            first = stack.enter_context(raw.Raw(server.place))
            ticket = first.open()
            nobody = stack.enter_context(raw.Raw(server.place, bytes(16)))
            nobody.open()
            first.control.close()
            wait_until(lambda: not raw.listens(ticket[0]), 20, "the first has ended")
            ticket = nobody.open()
            opcode, said = nobody.show(nobody.connect(ticket[0]), ticket, raw.DATA)
            expect(opcode == raw.DATA_WELCOME, f"{opcode} {said}")
        wait_until(lambda: not server.backends(), 20, "all have ended")
        harness.run_passing([build.program("vector_add")], build.remote([server]))
        wait_until(lambda: server.spares() == processes, 20, "the process serves on")


if __name__ == "__main__":
    harness.main(globals())
