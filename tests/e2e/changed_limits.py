#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Limits that come, change and go while programs run (docs/quotas.md, "When limits change"): nobody
is refused what the limits leave, and nobody waits for what others do not use."""

import random

from lib import harness
from lib.harness import expect
from lib.limited import limited, players

FAR = ("gpu-mem=100GiB", "gpu-mem-per-gpu=100GiB", "host-pinned=100GiB", "module-bytes=100GiB",
       "objects=100000")
NONE = tuple(limit.split("=")[0] + "=-" for limit in FAR)
WORK = ("take 8", "bit", "pinned 2", "copy 1", "work 2", "give")


def expect_unhindered(made, server):
    """Each of them gets all that it asks for."""
    for player in made:
        for words in WORK:
            answer = player.ask(words)
            expect(answer in ("took", "copied", "worked", "gave"),
                   f"{words}: {answer}\n{player.report()}\n{server.report()}")
        expect("limit " not in player.err.text, player.report())
    expect("has not answered" not in server.err.text, server.report())


def test_first_limits_far_above_the_use(build):
    """All kinds at once. The amounts that programs were lent without a limit exceed the limits, so
    each has to give back before the others get anything."""
    with limited(build, "sessions=9") as server, players(build, server, 3) as made:
        expect_unhindered(made, server)
        server.limit(*FAR)
        expect_unhindered(made, server)
        with players(build, server, 1) as late:
            expect_unhindered(late, server)
        server.limit(*NONE)
        expect_unhindered(made, server)
        server.limit(FAR[-1])
        expect_unhindered(made, server)


def test_more_returns_than_a_channel_holds(build):
    """Each program was lent memory of each GPU, and returns it with a packet for each. (NVIDIA's
    runtime takes no more than 64 devices.)"""
    with limited(build, "sessions=9", gpus=400, memory=64) as server, \
            players(build, server, 2, CUDA_VISIBLE_DEVICES="0") as made:
        expect_unhindered(made, server)
        server.limit(*FAR)
        expect_unhindered(made, server)


def test_a_lower_limit_holds_for_what_is_freed(build):
    """A program keeps what it has; once it has freed that, it gets no more than the limit allows,
    and others get what it does not use."""
    with limited(build, "sessions=9") as server, players(build, server, 2) as (one, other):
        expect(one.ask("take 60") == "took" and one.ask("take 60") == "took", one.report())
        expect(other.ask("take 1") == "took", other.report())
        server.limit("gpu-mem=50MiB")
        expect(one.ask("give") == "gave", one.report())
        expect(one.ask("take 70") == "cudaErrorMemoryAllocation", one.report())
        expect(one.ask("take 10") == "took", one.report())
        expect(other.ask("take 8") == "took", other.report())
        expect(other.ask("take 20") == "cudaErrorMemoryAllocation", other.report())


def test_they_change_again_and_again(build):
    """Many changes, quicker than anybody answers; afterwards what the last one leaves can be had,
    and no more."""
    chance = random.Random(7)
    with limited(build, "sessions=9") as server, players(build, server, 2) as made:
        for _ in range(12):
            server.limit(*(chance.choice((far, none)) for far, none in zip(FAR, NONE)))
            for player in made:
                player.say(chance.choice(("take 8", "bit", "give", "pinned 1")))
            for player in made:
                expect(player.hear() in ("took", "gave", "copied"), player.report())
        for player in made:
            expect(player.ask("give") == "gave", player.report())
        server.limit("gpu-mem=100MiB", *NONE[1:])
        for one, other in (made, made[::-1]):
            expect(one.ask("take 60") == "took", one.report() + server.report())
            expect(other.ask("take 60") == "cudaErrorMemoryAllocation", other.report())
            expect(one.ask("give") == "gave", one.report())


if __name__ == "__main__":
    harness.main(globals())
