#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CuPy and numba, unmodified from the package index, on software GPUs: in their own process, and
through a server by `gpuaas run`."""

import os
import tempfile

from lib import harness
from lib.harness import expect

PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python")


def words(name):
    python = os.environ["GPUAAS_TEST_PYTHON"]
    return [python, os.path.join(PROGRAMS, name + "_program.py")]


def quiet(env, home):
    """Their caches in a folder of this test."""
    return {**env, "HOME": home, "NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS": "0",
            "NUMBA_CUDA_WARN_ON_IMPLICIT_COPY": "0", "PYTHONDONTWRITEBYTECODE": "1"}


def run(build, name, remote):
    with tempfile.TemporaryDirectory(prefix="gpuaas-e2e-") as home:
        if not remote:
            env = build.keeping_ptx(build.local())
            return harness.run(words(name), quiet({**env, "CUPY_ACCELERATORS": ""}, home))
        with harness.serving(build, gpus=1) as server:
            command = [build.path("bin", "gpuaas"), "run", "--servers", server.address, "--"]
            return harness.run(command + words(name), quiet(build.environment(), home))


def passes(build, name):
    for remote in (False, True):
        process = run(build, name, remote)
        expect(process.out.lines[-1:] == ["PASSED"], process.report())


def test_cupy(build):
    passes(build, "cupy")


def test_numba(build):
    passes(build, "numba")


if __name__ == "__main__":
    harness.main(globals())
