#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The parts of tenants beside others with long kernels (docs/scheduling.md): with shares, also if
they pause between their kernels, if they have a process for each request, or if others are hostile;
and with priorities. The GPU only keeps time."""

import contextlib
import threading

from lib import harness
from lib.entitlement import LOOK_S, node
from lib.harness import expect, wait_until

LOOKS = 4


def expect_parts(here, **bounds):
    """The least and the most part of the time for each."""
    wait_until(lambda: set(bounds) <= set(here.used_s()), 60, "all work")
    here.look()
    for _ in range(LOOKS):
        parts = here.look()
        off = {name: round(parts[name], 3) for name, (least, most) in bounds.items()
               if not least <= parts[name] <= most}
        if not off:
            return
    expect(not off, f"{off}; due are {bounds}")


def long_kernels(build, share, kernel_ms, pause_us, long_ms, part):
    """One of short kernels that pauses, with this share, beside one of long kernels, whose is this
    part. A busy machine makes the pauses longer, and not the part of the other one."""
    tenants = {"short": ([f"share={share}"], kernel_ms, pause_us), "long": ([], long_ms, 0)}
    with node(build, "tfs", tenants) as here:
        expect_parts(here, short=(0.2 * (1 - part), 1), long=(0.85 * part, part + 0.1))


def test_tfs_kernels_longer_than_a_turn(build):
    long_kernels(build, 100, 5, 0, 130, 0.5)


def test_tfs_kernels_longer_than_a_turn_by_shares(build):
    long_kernels(build, 300, 5, 0, 130, 0.25)


def test_tfs_pauses(build):
    long_kernels(build, 300, 5, 1000, 100, 0.25)


@contextlib.contextmanager
def requests(build, policy, long_ms, kernel_ms=34, at_a_time=1, keys=""):
    """A tenant that has a process for each request of one kernel."""
    with node(build, policy, {"requests": ([], None, 0), "long": ([], long_ms, 0)}, keys) as here:
        threads = [threading.Thread(target=here.requests, args=("requests", kernel_ms, 1))
                   for _ in range(at_a_time)]
        for thread in threads:
            thread.start()
        try:
            yield here
        finally:
            here.ending = True
            for thread in threads:
                thread.join()


def test_tfs_requests_beside_a_hostile_one(build):
    with requests(build, "tfs", 1900) as here:
        expect_parts(here, requests=(0.03, 1), long=(0.3, 0.5 + 1.9 / LOOK_S / 2))


def test_las_pauses(build):
    """The tenant that has attained least, here by its share, keeps its place in pauses. It is not
    the least for ever: the service of the other one fades to a fifth in each idle quantum, and
    after six of them, at these shares, that one has a quantum of 1 s."""
    tenants = {"least": (["share=10000"], 5, 1000), "most": (["share=1"], 10, 0)}
    with node(build, "las", tenants, "hold = 50ms\n") as here:
        expect_parts(here, least=(0.02, 1), most=(0, 0.3))


def test_las_new_sessions(build):
    """New sessions have attained nothing, and do not go before another tenant."""
    with requests(build, "las", 100, kernel_ms=1000, at_a_time=3, keys="hold = 50ms\n") as here:
        expect_parts(here, requests=(0.02, 1), long=(0.25, 1))


def test_priority(build):
    """Priorities of programs that wait for each kernel, if their pauses are within hold."""
    tenants = {"high": (["priority=10"], 5, 0), "low": ([], 10, 0)}
    with node(build, "priority", tenants, "hold = 50ms\n") as here:
        expect_parts(here, high=(0.02, 1), low=(0, 0.15))


if __name__ == "__main__":
    harness.main(globals())
