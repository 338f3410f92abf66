#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tenants whose isolation is exclusive have the GPUs that they use for themselves."""

import contextlib

from lib import harness
from lib.harness import expect, wait_until
from lib.two_tenants import gpu, two_tenants


@contextlib.contextmanager
def idle(build, env):
    """A program that uses GPU 0."""
    with harness.running([build.program("endless"), "idle"], env) as program:
        program.wait_for_line("started", 60)
        yield program


def expect_taken(build, env, *words):
    process = harness.run([build.program("vector_add")], gpu(env, 0), status=None)
    expect(process.status != 0 and "(46, " in process.out.text, process.report())
    lines = harness.logged(process)
    expect(len(lines) == 1 and all(word in lines[0] for word in words), process.report())


def test_others_get_another_gpu(build):
    """semantics S169"""
    with two_tenants(build, "exclusive") as (server, lab, other):
        with idle(build, lab):
            expect_taken(build, other, "another tenant has it for itself")
            harness.run_passing([build.program("vector_add")], gpu(other, 1))
            harness.run_passing([build.program("vector_add")], other)
            harness.run_passing([build.program("vector_add")], gpu(lab, 0))
        wait_until(lambda: not server.backends(), 20, "nothing of it is left")
        harness.run_passing([build.program("vector_add")], gpu(other, 0))


def test_it_gets_no_gpu_of_others(build):
    """semantics S169"""
    with two_tenants(build, "exclusive") as (server, lab, other):
        with idle(build, other):
            expect_taken(build, lab, "others use this one")
            harness.run_passing([build.program("vector_add")], gpu(lab, 1))
        wait_until(lambda: not server.backends(), 20, "nothing of it is left")
        harness.run_passing([build.program("vector_add")], gpu(lab, 0))


def test_app_has_a_gpu_beside_others(build):
    with two_tenants(build, "app") as (_, lab, other):
        with idle(build, lab):
            harness.run_passing([build.program("vector_add")], gpu(other, 0))


if __name__ == "__main__":
    harness.main(globals())
