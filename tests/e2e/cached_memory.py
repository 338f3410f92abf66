#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory that a program has freed and keeps for later: it does not wait for that, and others who
lack memory get it. The programs are tests/kernels/shares.cu."""

import contextlib
import signal
import time

from lib import harness
from lib.harness import expect, wait_until
from lib.player import Player

MEMORY = 512  # MiB; an eighth of it may be kept
KEPT = 60     # what a program takes and frees here
USED = 24     # of contexts and of what they begin with


def configuration(cache="1GiB"):
    return f"""[server]
listen = tcp://127.0.0.1:0
data_ports = 0
client_cache = {cache}
[gpu.0]
driver = soft
memory = {MEMORY}MiB
sms = 2
"""


@contextlib.contextmanager
def two_players(build, cache="1GiB", **env):
    with harness.serving(build, config=configuration(cache)) as server:
        with contextlib.closing(Player(build, build.remote([server], **env))) as one, \
                contextlib.closing(Player(build, build.remote([server], **env))) as other:
            one.free()  # both have a context
            other.free()
            yield one, other


def take_all(player):
    """MiB, until memory is used up."""
    took = 0
    while (answer := player.ask("take 8")) == "took":
        took += 8
    expect(answer == "cudaErrorMemoryAllocation", answer)
    return took


def keep(player):
    expect(player.ask(f"take {KEPT}") == "took", player.report())
    expect(player.ask("give") == "gave", player.report())


def test_the_other_gets_it(build):
    """semantics S116"""
    with two_players(build) as (one, other):
        for _ in range(2):
            keep(one)
            expect(one.free() - other.free() >= KEPT, "it is kept, and free only for its program")
            took = take_all(other)
            expect(took >= MEMORY - USED, f"{took} MiB of {MEMORY}, the other keeps some")
            expect(one.ask("take 8") == "cudaErrorMemoryAllocation", "nothing is left")
            expect(one.ask("work 3") == "worked", "it goes on")
            expect(other.ask("give") == "gave", other.report())
            one, other = other, one


def test_pools_give_back(build):
    """semantics S116: what a pool keeps because its program wants it to. By turns: each also asks
    when it has to make room for a pool of its own."""
    with two_players(build) as (one, other):
        for _ in range(2):
            expect(one.ask(f"pool {MEMORY - 2 * USED}") == "kept", one.report())
            expect(one.free() < 2 * USED, "the pool keeps it")
            took = take_all(other)
            expect(took >= MEMORY - USED, f"{took} MiB of {MEMORY}, the other's pool keeps some")
            expect(other.ask("give") == "gave", other.report())
            expect(one.ask("work 3") == "worked", "it goes on")
            one, other = other, one


def test_pools_of_both(build):
    """semantics S116: programs that keep memory in pools get it from each other's."""
    with two_players(build) as (one, other):
        for _ in range(3):
            for player in (one, other):
                answer = player.ask(f"pool {MEMORY - 2 * USED}")
                expect(answer == "kept", f"{answer}\n{player.report()}")


def test_who_has_given_back_says_so(build):
    """semantics S116: the other one need not wait as long as for somebody who cannot answer."""
    with two_players(build, GPUAAS_TRACE="calls") as (one, other):
        keep(one)
        take_all(other)
        one.popen.stdin.close()
        expect(one.wait(60) == 0, one.report())
        expect("ga_memory_trimmed" in one.err.text, one.report())


def test_by_turns(build):
    """semantics S116: nobody starves, whoever frees and takes when."""
    with two_players(build) as (one, other):
        for _ in range(3):
            for player in (one, other):
                took = take_all(player)
                expect(took >= MEMORY - USED, f"{took} MiB of {MEMORY}")
                expect(player.ask("give") == "gave", player.report())


def test_who_cannot_answer(build):
    """semantics S116: one is stopped; the other is told in bounded time that memory is used up."""
    with two_players(build) as (one, other):
        keep(one)
        one.kill(signal.SIGSTOP)
        took = take_all(other)
        expect(took <= MEMORY - KEPT, f"{took} MiB of {MEMORY}")
        one.kill(signal.SIGCONT)
        wait_until(lambda: other.ask("take 48") == "took", 30, "it has given back what it kept")
        expect(one.ask("work 3") == "worked", "it goes on")


def test_beside_work_that_does_not_end(build):
    """semantics S115: nobody waits where memory is freed that may be in use, and it is not used
    again; what is free already is."""
    with two_players(build) as (one, other):
        keep(one)
        expect(one.ask(f"take {KEPT // 2}") == "took", one.report())
        expect(one.ask("spin") == "spins", one.report())
        expect(one.ask("give") == "gave", "it does not wait")
        took = take_all(other)
        expect(MEMORY - KEPT < took + USED, f"{took} MiB of {MEMORY}: what is free was given")
        expect(took <= MEMORY - KEPT // 2, f"{took} MiB of {MEMORY}: half of it is in use")
        one.end()
        wait_until(lambda: other.ask("take 16") == "took", 30, "what the dead one held is free")


def expect_give_waits(player):
    player.say("give")
    time.sleep(1)
    expect(len(player.out.lines) == player.answers and player.running(), "it waits for the kernel")


def expect_waiting(one, other):
    expect(one.ask(f"take {KEPT}") == "took", one.report())
    expect(one.ask("give") == "gave", one.report())
    expect(one.free() - other.free() < USED, "nothing is kept")
    expect(one.ask(f"take {KEPT}") == "took", one.report())
    expect(one.ask("spin") == "spins", one.report())
    expect_give_waits(one)
    other.ask("bit")
    expect(other.ask("spin") == "spins", other.report())
    expect_give_waits(other)


def test_without(build):
    """semantics S115: a program or a server that will have none of it. Memory that is a part of a
    block waits as all other: the next allocation gets it."""
    with two_players(build, GPUAAS_CLIENT_CACHE="0") as (one, other):
        expect_waiting(one, other)
    with two_players(build, cache="0") as (one, other):
        expect_waiting(one, other)


if __name__ == "__main__":
    harness.main(globals())
