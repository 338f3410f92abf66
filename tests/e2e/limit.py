#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A kernel that runs for longer than its device allows is stopped: 702, and its place is said."""

import re

from lib import harness
from lib.harness import expect

LIMIT = "kernel_limit=300ms"
TOLD = (r"error: softgpu: kernel _Z4spinPVi: time limit: has run for \d+\.\d+ s, the device's "
        r"limit is 0\.300 s at _Z4spinPVi \(PTX line \d+\) by thread \(0,0,0\) in block "
        r"\(0,0,0\)$")
ANSWERS = ["started", "cudaDeviceSynchronize: error 702 cudaErrorLaunchTimeout",
           "cudaMalloc: error 702 cudaErrorLaunchTimeout"]


def expect_stopped(process):
    expect(process.wait(60) == 1 and process.out.lines == ANSWERS, process.report())
    told = [line for line in process.err.lines if "softgpu" in line]
    expect(len(told) == 1 and re.search(TOLD, told[0]), process.report())


def test_local(build):
    env = build.local(f"name=A,memory=1GiB,{LIMIT}")
    process = harness.Process([build.program("endless"), "kernel"], env)
    expect_stopped(process)
    process.end()


def test_remote(build):
    """The other programs of the device go on; with one of them a kernel that ends in time."""
    config = harness.configuration(1) + LIMIT.replace("=", " = ") + "\n"
    with harness.serving(build, config=config) as server:
        env = build.remote([server])
        with harness.running([build.program("endless"), "idle"], env) as idle:
            idle.wait_for_line("started", 60)
            with harness.running([build.program("endless"), "kernel"], env) as endless:
                harness.run_passing([build.program("vector_add")], env)
                expect_stopped(endless)
            harness.run_passing([build.program("vector_add")], env)
            expect(idle.running(), idle.report())


if __name__ == "__main__":
    harness.main(globals())
