#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Applications that have a backend process one after the other, or at once: none sees what another
one has left in memory of whatever kind."""

import re

from lib import harness
from lib.harness import expect, wait_until


def serving(build, seats):
    return harness.serving(build, gpus=1, keys=["spare_backends = 0"],
                           extra={"GPUAAS_TEST_SEATS": str(seats)})


def expect_nothing(build, server):
    """Another program sees none of it."""
    process = harness.run_passing([build.program("canary"), "look"], build.remote([server]))
    looked = re.findall(r"(?m)^(.*): (\d+) of another, (\d+) not zero$", process.out.text)
    expect(len(looked) == 12, f"12 kinds of memory are due\n{process.report()}")
    leaks = [what for what, words, _ in looked if int(words) != 0]
    expect(not leaks, f"seen of another application: {leaks}\n{process.report()}")


def test_memory_of_one_that_has_ended(build):
    for seats in (1, 2):
        with serving(build, seats) as server:
            with harness.running([build.program("canary"), "write"],
                                 build.remote([server])) as writer:
                writer.wait_for_line("written", 120)
                processes = server.backends()
                writer.kill()
                writer.wait(10)
            wait_until(lambda: not server.backends(), 20, "it has ended")
            expect(server.spares() == processes, "its process goes on")
            expect_nothing(build, server)
            wait_until(lambda: server.spares() == processes, 20, "one process has served both")


def test_memory_that_was_given_back(build):
    """While the one that had it goes on."""
    with serving(build, 2) as server:
        env = build.remote([server], GPUAAS_CLIENT_CACHE="0")
        with harness.running([build.program("canary"), "free"], env) as writer:
            writer.wait_for_line("written", 120)
            processes = server.backends()
            expect_nothing(build, server)
            expect(writer.running() and server.backends() == processes, "one process serves both")


if __name__ == "__main__":
    harness.main(globals())
