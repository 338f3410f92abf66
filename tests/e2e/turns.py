#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that share GPUs under a policy: each of them goes on, whatever it and the others do, and
each of its kernels and copies is done once. A program that is stopped, killed or waits for itself
with a turn keeps nobody else from the GPU. semantics S170, S171, S172"""

import contextlib
import os
import signal
import time

from lib import harness
from lib.admin import Raw
from lib.harness import expect
from lib.turn_taker import SECONDS, serving, turn_takers

# One of each kind: nobody waits; one at a time, without and with accounts; several at a time.
POLICIES = ("none", "rr", "tfs", "ps", "groups")


@contextlib.contextmanager
def two_processes(build, server, one, other):
    """Two players, and the backend processes of each."""
    with turn_takers(build, server, one) as (first,):
        backends = server.backends()
        with turn_takers(build, server, other) as (second,):
            others = [pid for pid in server.backends() if pid not in backends]
            yield first, second, backends, others


def all_go_on(build, server, *modes):
    with turn_takers(build, server, *modes) as made:
        for player in made:
            player.goes_on()
        for player in made:
            player.finish()


def test_each_policy(build):
    for policy in POLICIES:
        with serving(build, policy) as server:
            all_go_on(build, server, ["calls"], ["copies"], ["later"])


def test_another_policy_every_moment(build):
    """Nothing is lost, and nobody is forgotten."""
    seconds = 60 if os.environ.get("GPUAAS_TEST_FULL") == "1" else 2
    with serving(build, "rr") as server, Raw(server.admin) as admin, \
            turn_takers(build, server, ["calls"], ["queue"], ["copies"], ["later"]) as made:
        until, changes = time.monotonic() + seconds, 0
        while time.monotonic() < until:
            reply = admin.ask(id=changes, verb="policy.set", arguments={
                "gpu": 0, "policy": POLICIES[changes % len(POLICIES)],
                "set": [f"slice={4 + changes % 7}ms"]})
            expect("error" not in reply, f"{reply}")
            changes += 1
            time.sleep(0.01)
        for player in made:
            player.goes_on()
        for player in made:
            player.finish()
        print(f"{changes} changes")


def test_two_gpus_in_opposite_orders(build):
    with serving(build, "rr", gpus=2) as server:
        all_go_on(build, server, ["both", 0, 1], ["both", 1, 0])


def test_copies_in_parts(build):
    """Through shared memory, where a copy is one call."""
    with serving(build, "rr") as server:
        all_go_on(build, server, ["pinned"], ["pinned"], ["calls"])


def test_who_waits_for_itself(build):
    """For a later call of its own, in a way that a stream knows, and in one that nobody knows."""
    with serving(build, "rr") as server:
        all_go_on(build, server, ["later"])
        all_go_on(build, server, ["spins"])
        all_go_on(build, server, ["spins"], ["later"])


def test_several_in_a_process(build):
    with serving(build, "rr", GPUAAS_TEST_SEATS="3") as server:
        all_go_on(build, server, ["calls"], ["queue"], ["later"])
        all_go_on(build, server, ["calls"], ["copies"])  # in the same seats


def test_who_is_stopped_keeps_nobody(build):
    """A program that does not read what it is sent; a backend process that had the GPU most of the
    time."""
    for mode, whom in (("copies", "program"), ("queue", "backend process")):
        with serving(build, "rr") as server, \
                two_processes(build, server, [mode], ["calls"]) as (one, other, backends, _):
            stopped = [one.pid] if whom == "program" else backends
            for pid in stopped:
                os.kill(pid, signal.SIGSTOP)
            try:
                other.goes_on(5)
            finally:
                for pid in stopped:
                    os.kill(pid, signal.SIGCONT)
            one.goes_on()
            one.finish()
            other.finish()


def test_who_is_killed_keeps_nobody(build):
    for victim in ("program", "backend process"):
        with serving(build, "rr") as server, \
                two_processes(build, server, ["queue"], ["calls"]) as (one, other, backends, _):
            for pid in [one.pid] if victim == "program" else backends:
                os.kill(pid, signal.SIGKILL)
            other.goes_on(5)
            other.finish()
            expect(one.wait(SECONDS) != 0, one.report())


if __name__ == "__main__":
    harness.main(globals())
