#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that share a software GPU, directly and as applications of one server: they have its
memory together, take turns on its engines, and one that is killed leaves nothing behind."""

import contextlib
import random
import signal

from lib import harness
from lib.harness import expect, wait_until
from lib.player import CONFIG, MEMORY, Player, players


@contextlib.contextmanager
def directly(build):
    yield build.local(f"memory={MEMORY}MiB,sms=2"), lambda: None


@contextlib.contextmanager
def through_server(build):
    with harness.serving(build, config=CONFIG) as server:
        traces = harness.Traces(server)
        yield build.remote([server]), traces.expect_none


def exhaust(build, way):
    """In turn, 8 MiB at a time; then one is killed, and another has what it had."""
    with way(build) as (env, expect_no_traces):
        with players(build, env, 2) as (one, other):
            took = {one: 0, other: 0}
            full = set()
            while len(full) < 2:
                for player in (one, other):
                    answer = player.ask("take 8")
                    if answer == "took":
                        took[player] += 8
                    else:
                        expect(answer == "cudaErrorMemoryAllocation", answer)
                        full.add(player)
            total = took[one] + took[other]
            expect(MEMORY - 32 <= total <= MEMORY, f"{total} MiB of {MEMORY}")
            expect(abs(took[one] - took[other]) <= 8, f"{took.values()}")
            expect(one.free() == other.free() < 8, "both see what is left")
            expect(one.ask("work 3") == "worked", "it goes on")
            one.end()
            wait_until(lambda: other.free() >= took[one], 10, "what the dead one held is free")
            expect(other.ask(f"take {took[one]}") == "took", "it can be used")
        expect_no_traces()


def take_turns(build, way):
    """Beside a kernel that never ends others work, also when its program is stopped or killed."""
    with way(build) as (env, expect_no_traces):
        with players(build, env, 3) as (one, two, three):
            expect(one.ask("spin") == "spins", "a kernel runs")
            expect(two.ask("work 5") == "worked", "another program's too")
            expect(two.ask("spin") == "spins", "and another endless one")
            expect(three.ask("work 5") == "worked", "a third program has its turns")
            one.kill(signal.SIGSTOP)
            expect(three.ask("work 5") == "worked", "one of them is stopped")
            one.end()
            two.end()
            expect(three.ask("work 5") == "worked", "both are killed")
        expect_no_traces()


def crowd(build, way):
    """Eight at work; each is killed at some time, in whatever it does then."""
    with way(build) as (env, expect_no_traces):
        with players(build, env, 8) as all_of_them:
            for player in all_of_them:
                expect(player.ask("take 12") == "took", player.report())
            for player in all_of_them:
                player.say(random.choice(("work 100000", "copy 10000", "spin")))
            last = Player(build, env)
            with contextlib.closing(last):
                for player in all_of_them:
                    expect(last.ask("work 3") == "worked", last.report())
                    expect(last.ask("copy 1") == "copied", last.report())
                    player.end()
                wait_until(lambda: last.free() >= MEMORY - 16, 10, "all is free again")
        expect_no_traces()


def test_memory_directly(build):
    exhaust(build, directly)


def test_memory_through_a_server(build):
    exhaust(build, through_server)


def test_turns_directly(build):
    take_turns(build, directly)


def test_turns_through_a_server(build):
    take_turns(build, through_server)


def test_crowd_directly(build):
    crowd(build, directly)


def test_crowd_through_a_server(build):
    crowd(build, through_server)


def test_nodes_are_apart(build):
    """Two servers, and what runs directly, have different GPUs of the same description."""
    with harness.serving(build, config=CONFIG) as first, \
            harness.serving(build, config=CONFIG) as second:
        ways = (build.remote([first]), build.remote([second]),
                build.local(f"memory={MEMORY}MiB,sms=2"))
        with contextlib.ExitStack() as stack:
            for env in ways:
                player = stack.enter_context(contextlib.closing(Player(build, env)))
                expect(player.ask(f"take {MEMORY - 64}") == "took", player.report())


def test_ipc(build):
    """Between processes of a node directly, and between programs that use one server."""
    for name in ("ipc", "ipc_events"):
        harness.run_passing([build.program(name)], build.local("memory=1GiB,sms=2"))
        with harness.serving(build) as server:
            harness.run_passing([build.program(name)], build.remote([server]))


if __name__ == "__main__":
    harness.main(globals())
