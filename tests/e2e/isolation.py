#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Isolation: a program that does wrong or asks for too much gets an error, and other programs go
on."""

import os
import re
import signal

from lib import harness
from lib.harness import expect


def test_fault_beside_others(build):
    """semantics S26"""
    with harness.serving(build, gpus=1) as server:
        traces = harness.Traces(server)
        env = build.remote([server])
        with harness.running([build.program("endless"), "idle"], env) as idle:
            idle.wait_for_line("started", 60)
            for _ in range(3):
                process = harness.run_passing([build.program("wrong_out_of_bounds")], env)
                expect("cudaErrorIllegalAddress" in process.out.text, process.report())
                harness.run_passing([build.program("vector_add")], env)
            expect(idle.running(), f"the idle program has ended\n{idle.report()}")
        traces.expect_none()


def expect_answers(process, *codes):
    """The errors that other_devices got: from its wait, then from each further device."""
    told = [int(code) for code in re.findall(r"error (\d+)", process.out.text)]
    expect(told == list(codes), f"{list(codes)} is due\n{process.report()}")


def test_fault_and_other_devices(build):
    """semantics S26"""
    with harness.serving(build) as server, harness.serving(build, host="127.0.0.2") as other:
        process = harness.run([build.program("other_devices"), "fault"],
                              build.remote([server, other]))
        expect_answers(process, 700, 700, 0, 0)


def test_loss_and_other_devices(build):
    """semantics S27"""
    with harness.serving(build) as server, harness.serving(build, host="127.0.0.2") as other, \
            harness.running([build.program("other_devices"), "spin"],
                            build.remote([server, other])) as process:
        process.wait_for_line("started", 60)
        os.kill(server.backends()[0], signal.SIGKILL)
        expect(process.wait(60) == 0, process.report())
        expect_answers(process, 719, 719, 0, 0)
        lost = [line for line in process.err.lines if "gpuaas" in line]
        expect(len(lost) == 1, f"one line with the cause is due\n{process.report()}")


def test_memory_comes_back(build):
    """The memory of a killed program is free again for the next."""
    with harness.serving(build, gpus=1) as server:
        env = build.remote([server])
        for _ in range(3):
            process = harness.run_passing([build.program("wrong_memory")], env)
            expect(re.search(r"[678] of 8 eighths", process.out.text), process.report())


def test_refused_images_are_named(build):
    """Also what the client refuses by itself, and no server sees."""
    with harness.serving(build, gpus=1) as server:
        for env in (build.local(), build.remote([server])):
            process = harness.run_passing([build.program("wrong_image")], env)
            path = os.path.realpath(build.program("wrong_image"))
            for why in ("neither fatbin, cubin nor PTX", "PTX refused", path,
                        "its first kernel is 'broken'", "its first kernel is 'newer'",
                        "or give the GPU another capability"):
                expect(why in process.err.text, f"{why!r} is not said\n{process.report()}")


def test_unsupported_calls_are_named(build):
    """semantics S28"""
    with harness.serving(build, gpus=1) as server:
        process = harness.run_passing([build.program("unsupported")], build.remote([server]))
        for name in ("cuImportExternalMemory",):
            lines = [line for line in process.err.lines if name in line]
            expect(len(lines) == 1 and "not supported" in lines[0],
                   f"{name} is to be named once\n{process.report()}")


if __name__ == "__main__":
    harness.main(globals())
