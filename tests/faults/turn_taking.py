#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Processes that are killed or stopped at each step of taking turns on a GPU: whoever is left goes
on, and whoever was stopped goes on when it may."""

import contextlib
import os
import signal

import check
from check import expect, wait_until
from lib import harness, turn_taker
from points import Fuse, turns_points

COUNTS = (1, 2, 3, 10, 30, 100) if check.ALL else (20,)


def stopped(pids):
    """Those of them that stand still."""
    found = []
    for pid in pids:
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/stat", encoding="ascii") as f:
                if f.read().rsplit(") ", 1)[1].startswith("T"):
                    found.append(pid)
    return found


@contextlib.contextmanager
def fault(build, point, action, count):
    """The server and two players, of which one, or gpuaasd, has come to the point."""
    with Fuse() as fuse, check.explained(f"{action} at {point.name!r}, the {count}. time"), \
            contextlib.ExitStack() as stack:
        fuse.arm(point.name, action, count)
        server = stack.enter_context(turn_taker.serving(build, "rr", **fuse.env))
        made = []
        for mode in ("calls", "queue"):
            made.append(turn_taker.TurnTaker(build, server, mode))
            stack.callback(made[-1].end)
        wait_until(fuse.fired, 60, "somebody comes there")
        yield server, made


def kill_backend(build, point, count):
    with fault(build, point, "kill", count) as (_, made):
        wait_until(lambda: not all(player.running() for player in made), check.VICTIM_SECONDS,
                   "its program hears of it")
        left = [player for player in made if player.running()]
        expect(len(left) == 1, "one has died")
        left[0].goes_on(3)
        left[0].finish()


def stop_backend(build, point, count):
    with fault(build, point, "stop", count) as (server, made):
        still = wait_until(lambda: stopped(server.backends()), 20, "one stands still")
        try:
            wait_until(lambda: sum(player.rounds() for player in made) > 0, 60, "one has begun")
            begin = [player.rounds() for player in made]
            wait_until(lambda: any(player.rounds() > before + 5
                                   for player, before in zip(made, begin)), 60, "the other goes on")
        finally:
            for pid in still:
                os.kill(pid, signal.SIGCONT)
        for player in made:
            player.goes_on()
            player.finish()


def kill_gpuaasd(build, point, count):
    with fault(build, point, "kill", count) as (server, made):
        server.wait(10)
        for player in made:
            expect(player.wait(check.VICTIM_SECONDS) != 0, player.report())
        check.expect_no_orphans(build)


def stop_gpuaasd(build, point, count):
    with fault(build, point, "stop", count) as (server, made):
        wait_until(lambda: stopped([server.pid]), 20, "it stands still")
        os.kill(server.pid, signal.SIGCONT)
        for player in made:
            player.goes_on()
            player.finish()


def test_each_step(build):
    for point in turns_points():
        program = "backend" if point.program == "backend" else "gpuaasd"
        for count in COUNTS:
            globals()[f"kill_{program}"](build, point, count)
            globals()[f"stop_{program}"](build, point, count)


if __name__ == "__main__":
    harness.main(globals())
