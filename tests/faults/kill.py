#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 of the client, of the backend process and of gpuaasd at each failpoint, that is at each
step of the protocol: when a process first reaches it, and later (--all: each time). check.py checks
what must hold afterwards. A program that runs beside it is not affected."""

import contextlib
import signal

import check
from check import Checker, expect
from lib import harness
from points import UNSURE, Fuse, all_points

BUSY_TRIES = 5
COUNTS = range(1, 10000) if check.ALL else (1, 3, 20)


def points_of(program):
    return [point for point in all_points() if point.program == program]


@contextlib.contextmanager
def bystander_of(build, server):
    program = check.start_bystander(build, server)
    try:
        program.wait_for_line("started", 60)
        yield program
        expect(program.running(), f"the bystander has ended\n{program.report()}")
        program.kill(signal.SIGTERM)
        expect(check.victim_result(program) == 0, program.report())
    finally:
        program.end()


def enumerate_kills(fuse, point, attempt):
    """Kills at the counts in turn until the program does not come to one; how many it came to."""
    for done, count in enumerate(COUNTS):
        fuse.arm(point.name, "kill", count)
        attempt(f"kill at {count} of {point.name!r}")
        if not fuse.disarm():
            expect(done > 0 or point.name in UNSURE, f"nobody came to {point.name!r}")
            return done
    return len(COUNTS)


def one_victim(build, server, checker, env, **options):
    """A program that was hit, or not, and its result. One that has not even reached gpuaasd,
    because the machine was busy, has shown nothing: then another one runs."""
    for _ in range(BUSY_TRIES):
        victim = check.start_steps(build, [server], rounds=2, **env)
        result, = checker.check(victims=[victim], serve=False, **options)
        if result != 100 or "no answer within" not in victim.err.text:
            break
    return victim, result


def test_client(build):
    with Fuse() as fuse, harness.serving(build) as server, bystander_of(build, server):
        checker = Checker(build, server, clients=1)

        def attempt(what):
            with check.explained(what):
                _, result = one_victim(build, server, checker, fuse.env)
                expect(result == (None if fuse.fired() else 0), f"result {result}")
        kills = sum(enumerate_kills(fuse, point, attempt) for point in points_of("client"))
        checker.check()
        print(f"{kills} kills")


def test_backend(build):
    config = check.without_spares()
    with Fuse() as fuse, harness.serving(build, config=config, extra=fuse.env) as server, \
            bystander_of(build, server):
        checker = Checker(build, server, clients=1)

        def attempt(what):
            with check.explained(what):
                victim, result = one_victim(build, server, checker, {}, killed=check.ANY)
                # Before it has a session another process can take its place, and after the last
                # one nobody needs it: then the program passes.
                expect(result in ((0, 46, 719) if fuse.fired() else (0,)),
                       f"result {result}\n{victim.report()}")
                told.append(result != 0)
        told = []
        kills = sum(enumerate_kills(fuse, point, attempt) for point in points_of("backend"))
        checker.check(killed=check.ANY)
        expect(sum(told) > kills / 2, f"{kills} kills, and only {sum(told)} were told")
        print(f"{kills} kills, {sum(told)} told")


def attempt_gpuaasd(build, fuse, what):
    """Its victim, and what a new gpuaasd at the same address finds."""
    server = harness.Server(build, host=check.own_host(), extra=fuse.env)
    try:
        with check.explained(what):
            ready = check.ready_or_gone(server)
            if not ready:
                expect(fuse.fired(), server.report())
                return
            victim = check.start_steps(build, [server], rounds=2)
            result = check.victim_result(victim)
            if not fuse.disarm():
                expect(result == 0, victim.report())
                server.stop()
            else:
                server.wait(10)
                check.expect_no_orphans(build)
                with harness.serving(build, config=check.same_address(server)) as again:
                    check.run_steps(build, [again])
    finally:
        server.end()
        server.folder.cleanup()


def test_gpuaasd(build):
    with Fuse() as fuse:
        def attempt(what):
            attempt_gpuaasd(build, fuse, what)
        kills = sum(enumerate_kills(fuse, point, attempt) for point in points_of("gpuaasd"))
        print(f"{kills} kills")


if __name__ == "__main__":
    harness.main(globals())
