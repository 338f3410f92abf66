#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The wall clock is set while a program runs: it waits no longer for that. A library in front of
the C library's sets it (wall_clock.c)."""

from lib import harness

HOUR = 3600


def step(build, env, seconds):
    before = [env["LD_PRELOAD"]] if "LD_PRELOAD" in env else []
    return {**env, "LD_PRELOAD": ":".join([*before, build.path("tests", "libwall_clock.so")]),
            "WALL_CLOCK_STEP": str(seconds)}


def test_streams_wait_for_values(build):
    """The client looks again and again whether the program has written a value."""
    with harness.serving(build) as server:
        for seconds in (HOUR, -HOUR):
            env = step(build, build.remote([server]), seconds)
            harness.run_passing([build.program("stream_values")], env)


if __name__ == "__main__":
    harness.main(globals())
