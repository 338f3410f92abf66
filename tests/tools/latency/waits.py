#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The number of round trips that each step of a program waits for, with a server that is far away.
It is measured from outside: the same program runs over a short and over a long link (perf/far.py),
and the number is the time that the long one adds to a step, divided by what it adds to a round
trip. TCP's handshakes are included. The load of the machine adds to both, so the least of several
runs counts. Needs network namespaces and /dev/net/tun; says so and is skipped where they are
missing.

Needs network namespaces and /dev/net/tun; says so and is skipped where they are missing."""

import contextlib
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ("e2e", os.path.join("..", "perf")):
    sys.path.insert(0, os.path.join(HERE, "..", "..", folder))

import far  # noqa: E402  (found by the lines above)
from lib import harness  # noqa: E402
from lib.harness import expect  # noqa: E402

SKIPPED = 77  # for ctest
SHORT_MS, LONG_MS = 5, 55  # one way
ADDED_S = 2 * (LONG_MS - SHORT_MS) / 1000
RUNS, RUNS_MAX = 2, 6
SPARE = 0.4  # of a round trip: a step that is right never reaches the next whole number
STEP_SECONDS = 60

# In the order in which the program does them; twice: what has been used before may cost less.
# Each number has its reason.
DUE = [
    ("first", 4),  # connect, greet, connect to the backend process, greet it
    ("module", 3),  # its image may be wrong, 64 MiB may not be there; and a wait
    ("second_device", 2),  # its ticket, its session
    ("context", 2),  # making it may fail, and ending it may tell an error
    ("wait", 1),  # for what the other contexts may have left
    ("wait", 0),
    ("launches", 1),
    ("launches", 1),
    ("slow_launches", 1),  # many small packets would wait for a second one
    ("copies", None),  # TCP's window grows
    ("copies", 1),
    ("pool", 1),  # the first block; the others are parts of it
    ("pool", 0),
    ("objects", 0),
    ("event_wait", 1),
    ("graph", 2),  # making it executable may fail; and a wait
    ("graph", 2),
    ("small_in", 1),  # there is a stream that does not wait for it
    ("small_out", 1),
    ("alloc", 1),  # the first large block is mapped
    ("alloc", 0),  # and then kept
    ("check", 1),
]


def configuration():
    return harness.configuration(2, far.FAR)


class Program:
    """steps.py, near; each step is asked for by its name."""

    def __init__(self, build, server, link):
        with link.near():
            self.process = subprocess.Popen(
                [sys.executable, os.path.join(HERE, "steps.py")], env=build.remote([server]),
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def step(self, name):
        self.process.stdin.write(name + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        expect(line, f"the program has ended in the step {name}")
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(STEP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


def run(build, server, link):
    """The seconds of each step."""
    server.wait_spares()
    with contextlib.closing(Program(build, server, link)) as program:
        return [program.step(name) for name, _ in DUE]


def round_trips(short, long):
    return [(b - a) / ADDED_S for a, b in zip(least(short), least(long))]


def least(runs):
    return [min(seconds) for seconds in zip(*runs)]


def too_many(found):
    return [f"{name} waits {trips:.2f} times, {due} are due"
            for (name, due), trips in zip(DUE, found) if due is not None and trips > due + SPARE]


def test_every_step(build):
    """semantics S7"""
    with contextlib.closing(far.Link(build.path("perf", "perf_link"), SHORT_MS)) as link, \
            contextlib.ExitStack() as stack:
        with link.far():
            server = stack.enter_context(harness.serving(build, config=configuration()))
        short, long = [], []
        while len(long) < RUNS or (too_many(round_trips(short, long)) and len(long) < RUNS_MAX):
            for delay_ms, runs in ((SHORT_MS, short), (LONG_MS, long)):
                link.set(delay_ms)
                runs.append(run(build, server, link))
        found = round_trips(short, long)
        for (name, _), trips in zip(DUE, found):
            print(f"{name}: {trips:.2f} round trips")
        expect(not too_many(found), "; ".join(too_many(found)))
        # The wire is as long as it says, or nothing above means anything.
        wait = found[[name for name, _ in DUE].index("wait")]
        expect(wait > 1 - SPARE, f"a waiting call waits {wait:.2f} times")


def can_be_made(program):
    try:
        far.Link(program, 0).close()
        return True
    except OSError as error:
        print(f"skipped: no long wire can be made here: {error}")
        return False


def main():
    build = sys.argv[sys.argv.index("--build") + 1]
    if not can_be_made(os.path.join(os.path.abspath(build), "perf", "perf_link")):
        sys.exit(SKIPPED)
    harness.main(globals())


if __name__ == "__main__":
    main()
