# SPDX-License-Identifier: Apache-2.0
"""64 applications on one gpuaasd, all at once: what they get through together, next to one of them
alone on the same two cores, and how evenly.

Each application has a backend process of its own, as always; all programs run on the client's core,
all backend processes on the server's. A round is 32 launches, 8 copies in of 4 KiB, an event, a
wait, 4 KiB out, 1 MiB in, 1 MiB out (loops_mix.c); its results are checked in every round. The one
that is alone goes round as much memory as the 64 have together, so that both find the same of it in
the processor's cache. With --real-time they go before all other programs, but take turns among
themselves as usual: at a real-time priority whoever spins keeps the core."""

import functools
import time

import tls_figures
from figures import MB, Figure
from rig import SHARING, Failure

SESSIONS = 64
FEW = 3
CALLS = 45  # of a round
WINDOW_MS, ALONE_MS = 3000, 1000  # a single program needs less time
WARM_MS = 300
AHEAD_MS = 200  # until everybody has been told when to begin
STARVED_S = 60  # a program without a full round by then is starved
TARGET = 0.9


@functools.cache
def programs(bench_rig, transport, count):
    rig = bench_rig.beside(SHARING) if bench_rig.real_time else bench_rig
    if transport == "tls":
        server = tls_figures.serve(rig)
        found = [tls_figures.loops_of(rig, server) for _ in range(count)]
    else:
        server = rig.server()
        found = [rig.loops_remote(server, transport) for _ in range(count)]
    found[0].ask("mix_fill", 1, count * MB)
    for session in found[1:]:
        session.ask("mix_fill", 1, MB)
    return found


def window(sessions, ms, memory):
    """How many rounds each of them gets through."""
    start_ms = time.monotonic_ns() // 1000000 + AHEAD_MS
    for session in sessions:
        session.tell("mix", ms, memory, start_ms)
    return [session.answer()["count"] for session in sessions]


def measure(bench, sessions, memory):
    """(rounds of each, rounds per second together). A short window may end before everybody's
    first round; then a longer one is measured. The first window does not count: programs that
    were idle for a second have given pages back."""
    whole_ms = ALONE_MS if len(sessions) == 1 else WINDOW_MS
    rounds, spent_ms, ms = [0] * len(sessions), 0, max(50, round(whole_ms * bench.scale))
    window(sessions, min(ms, WARM_MS), memory)
    deadline = time.monotonic() + STARVED_S
    while spent_ms == 0 or (min(rounds) == 0 and time.monotonic() < deadline):
        rounds = [sum(pair) for pair in zip(rounds, window(sessions, ms, memory))]
        spent_ms += ms
        ms *= 2
    if min(rounds) == 0:
        raise Failure(f"mix: {rounds.count(0)} of {len(rounds)} sessions got through no round")
    return rounds, sum(rounds) / spent_ms * 1000


def jain(shares):
    """1: all have the same; 1 / n: one has everything."""
    return sum(shares) ** 2 / (len(shares) * sum(share * share for share in shares))


def mix_turn(transport):
    def turn(bench):
        checks = bench.scale < 0.1 and transport != "tcp"  # the crowd once is enough for that
        sessions = programs(bench.rig, transport, FEW if checks else SESSIONS)
        _, cached = measure(bench, sessions[:1], MB)
        _, alone = measure(bench, sessions[:1], len(sessions) * MB)
        rounds, together = measure(bench, sessions, MB)
        return {"floor": alone * CALLS / 1e3, "ours": together * CALLS / 1e3,
                "alone with 1 MiB": cached * CALLS / 1e3,
                "least/most": min(rounds) / max(rounds), "Jain": jain(rounds)}
    return turn


def all_figures():
    return [Figure(f"mix_{name}", f"{name}: {SESSIONS} sessions together", "k calls/s", False,
                   mix_turn(transport), TARGET)
            for name, transport in (("tcp", "tcp"), ("shm", "auto"), ("tls", "tls"))]
