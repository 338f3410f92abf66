#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that compile device code at run time get PTX where GPUs run nothing else."""

import harness
from harness import expect

SAID = "made to keep PTX"


def program(build):
    return build.path("tests", "jit", "compiles")


def run_with(build, server, *options, status=0, **extra):
    command = [build.path("bin", "gpuaas"), "run", "--servers", server.address, *options, "--",
               program(build)]
    return harness.run(command, build.environment(extra=extra), status=status)


def test_local(build):
    process = harness.run([program(build)], build.keeping_ptx(build.local()))
    expect(process.out.lines[-1] == "PASSED", process.report())


def test_through_a_server(build):
    with harness.serving(build) as server:
        process = run_with(build, server)
        expect(process.out.lines[-1] == "PASSED" and SAID not in process.err.text,
               process.report())
        process = run_with(build, server, GPUAAS_LOG="info")
        expect(process.out.lines[-1] == "PASSED" and SAID in process.err.text, process.report())


def test_chosen(build):
    """What is chosen is done, and nothing said."""
    with harness.serving(build) as server:
        process = run_with(build, server, "--compilers", "ptx")
        expect(process.out.lines[-1] == "PASSED" and SAID not in process.err.text,
               process.report())
        process = run_with(build, server, "--compilers=machine", status=1)
        expect("machine code only" in process.err.text, process.report())
        process = run_with(build, server, "--compilers=quick", status=125)
        expect("auto, ptx or machine" in process.err.text, process.report())


def test_devices(build):
    with harness.serving(build, gpus=2) as server:
        command = [build.path("bin", "gpuaas"), "devices", "--servers", server.address]
        spares = server.wait_spares()
        process = harness.run(command, build.environment())
        expect(server.spares() == spares, "the question takes no backend process")
        expect(len(process.out.lines) == 2, process.report())
        for number, line in enumerate(process.out.lines):
            expect(line.startswith(f"GPU {number}: ") and "UUID: GPU-" in line and
                   "compute capability 7.5" in line and "runs PTX" in line, process.report())
        process = harness.run([*command, "--devices", "1"], build.environment())
        expect(len(process.out.lines) == 1, process.report())


def test_no_server(build):
    """Started all the same, a program gets what it gets without software GPUs."""
    command = [build.path("bin", "gpuaas"), "run", "--servers", "127.0.0.1:1", "--force", "--",
               "sh", "-c", 'echo "<$LD_PRELOAD>"']
    process = harness.run(command, build.environment(preload=False))
    expect(process.out.text == "<>" and not process.err.text, process.report())


if __name__ == "__main__":
    harness.main(globals())
