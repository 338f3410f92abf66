#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Spare backend processes: one is ready before the application comes, is given away at once, is
replaced when it is taken or dies, and ends with gpuaasd however that ends."""

import os
import signal

from lib import harness
from lib.harness import expect, wait_until


def with_spares(count):
    return harness.configuration(1, keys=[f"spare_backends = {count}"])


def start_idle(build, server):
    return harness.running([build.program("endless"), "idle"], build.remote([server]))


def test_application_gets_the_spare(build):
    with harness.serving(build) as server:
        spares = server.wait_spares()
        with start_idle(build, server) as program:
            program.wait_for_line("started", 60)
            expect(server.backends() == spares, f"{server.backends()} serves, not {spares}")
            following = server.wait_spares(besides=spares)
            with start_idle(build, server) as other:
                other.wait_for_line("started", 60)
                expect(sorted(server.backends()) == sorted(spares + following),
                       f"{server.backends()} serve, not {spares + following}")


def test_more_applications_than_spares(build):
    with harness.serving(build, config=with_spares(2)) as server:
        server.wait_spares()
        programs = [harness.Process([build.program("vector_add")], build.remote([server]))
                    for _ in range(4)]
        for program in programs:
            try:
                expect(program.wait(harness.PROGRAM_SECONDS) == 0, program.report())
            finally:
                program.end()
        server.wait_spares()


def test_without_spares(build):
    with harness.serving(build, config=with_spares(0)) as server:
        harness.run_passing([build.program("vector_add")], build.remote([server]))
        expect(harness.children(server.pid) == server.backends(), "a process too many")


def test_spare_that_dies(build):
    with harness.serving(build) as server:
        dead = []
        for _ in range(3):
            spares = server.wait_spares(besides=dead)
            os.kill(spares[0], signal.SIGKILL)
            dead += spares
        server.wait_spares(besides=dead)
        harness.run_passing([build.program("vector_add")], build.remote([server]))


def test_spares_that_stand_still(build):
    """A program gets another process, though these would have let it wait for open_timeout_s."""
    for count in (1, 2):
        with harness.serving(build, config=with_spares(count)) as server:
            spares = server.wait_spares()
            for spare in spares:
                os.kill(spare, signal.SIGSTOP)
            process = harness.run_passing([build.program("vector_add")], build.remote([server]))
            expect(process.seconds < 25, f"{count} stopped: it took {process.seconds:.1f} s")
            wait_until(lambda: not any(map(harness.alive, spares)), 10, "they are gone")
            expect("has not answered" in server.err.text, server.report())
            server.wait_spares(besides=spares)


def test_death_of_gpuaasd(build):
    with harness.serving(build) as server:
        spares = server.wait_spares()
        server.kill()
        server.wait(10)
        wait_until(lambda: not any(map(harness.alive, spares)), 10, "the spare dies too")


if __name__ == "__main__":
    harness.main(globals())
