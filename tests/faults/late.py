#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An execution fault is known to the first question that finds the work done, however slow the
driver's calls are: each is held just before it looks at the state of things."""

import check
from lib import harness
from points import Fuse

DEVICES = "name=Soft A,memory=1GiB"
WAYS = ("device", "stream", "event", "copy")


def each_way(build, env):
    for way in WAYS:
        with check.explained(way):
            harness.run_passing([build.program("late_fault"), way], env)


def slow_driver():
    fuse = Fuse()
    fuse.arm("softgpu: before the lock", "delay:10", 0)  # the kernel runs for 100
    return fuse


def test_local(build):
    """semantics S26"""
    with slow_driver() as fuse:
        each_way(build, {**build.local(DEVICES), **fuse.env})


def test_remote(build):
    """semantics S26"""
    with slow_driver() as fuse, harness.serving(build, extra=fuse.env) as server:
        each_way(build, build.remote([server]))


if __name__ == "__main__":
    harness.main(globals())
