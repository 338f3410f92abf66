#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program that has only looked at the devices has a claim, which gpuaasd takes back for another
one (docs/protocol.md): backend processes and gpuaasd are killed, or late, at each step of that. The
other program gets in, and what both have had can be had again."""

import contextlib

import check
from check import expect, wait_until
from lib import harness
from lib.limited import limited
from lib.looking import looking
from lib.two_tenants import gpu
from points import Fuse, claims_points

LATE_MS = 1000


@contextlib.contextmanager
def armed(build, point, action):
    """A server whose programs may use one GPU together; the fuse must have fired at the end."""
    with Fuse() as fuse, check.explained(f"{action} at {point.name!r}"):
        fuse.arm(point.name, action)
        with limited(build, "gpus=1", gpus=2, extra=fuse.env) as server:
            yield server, build.remote([server]), fuse
            expect(fuse.disarm(), "nobody came there")


def expect_all_free(build, server, env):
    wait_until(lambda: not server.backends(), 20, "no program is served any more")
    for number in (0, 1):
        harness.run_passing([build.program("vector_add")], gpu(env, number))


def test_backend_processes_die(build):
    for point in claims_points("backend"):
        with armed(build, point, "kill") as (server, env, fuse):
            with looking(env) as program:
                harness.run_passing([build.program("vector_add")], gpu(env, 1))
                expect(fuse.fired(), "its backend process lives")
                # The program has lost nothing that it has used: it gets another process, or an
                # error.
                expect(program.ask("open_it()")[0] in (0, 46), program.report())
            expect_all_free(build, server, env)


def test_gpuaasd_dies(build):
    for point in claims_points("gpuaasd"):
        with armed(build, point, "kill") as (server, env, _), looking(env):
            late = harness.run([build.program("vector_add")], gpu(env, 1), status=None)
            expect(late.status != 0, late.report())
            server.wait(10)
        check.expect_no_orphans(build)


def test_late(build):
    for point in claims_points("gpuaasd") + claims_points("backend"):
        with armed(build, point, f"delay:{LATE_MS}") as (server, env, _):
            with looking(env) as program:
                harness.run_passing([build.program("vector_add")], gpu(env, 1))
                wait_until(lambda: program.ask("open_it()") == (0, 0), 20, "it may open it now")
            expect_all_free(build, server, env)


if __name__ == "__main__":
    harness.main(globals())
