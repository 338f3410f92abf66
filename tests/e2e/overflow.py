#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Copies behind a stream that stands still: more of them than a server keeps for one application
get an error and never a hang, other applications notice nothing, and a program that is killed then
leaves nothing behind. The order of those that are kept is the programs' waiting_copies."""

import contextlib
import os

from lib import harness
from lib.harness import expect

MIB = 1 << 20
KEPT = 8  # MiB
TOLD = "copies get error 2 (out of memory): what waits behind streams that stand still"


def configuration(kept_mib=KEPT, wait_s=1):
    return harness.configuration(1, keys=[f"copy_overflow = {kept_mib}MiB",
                                          f"copy_overflow_wait_s = {wait_s}"])


def overflow(build, server, *arguments):
    return harness.running([build.program("overflow"), *arguments], build.remote([server]))


def memory(pid):
    """Bytes of the machine's memory that a process holds."""
    with open(f"/proc/{pid}/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def expect_error(build, what, mib, times):
    """The calls that wait next give it, and the program goes on."""
    with harness.serving(build, config=configuration()) as server:
        with overflow(build, server, what, str(mib)) as program:
            expect(program.wait(120) == 0, program.report())
            answers = program.out.lines
            errors = [line for line in answers if line.endswith(": CUDA_ERROR_OUT_OF_MEMORY")]
            expect(len(errors) in times and answers[-1] == "PASSED", program.report())
            expect(f"gpuaasd: {TOLD}" in program.err.text, program.report())
        expect(server.err.text.count(TOLD) == 1, server.report())


def test_to_the_device(build):
    """semantics S131"""
    expect_error(build, "to_device", 96, {1})


def test_to_the_host(build):
    """semantics S131: copies that are refused, and one that had begun"""
    expect_error(build, "to_host", 640, {1, 2})


def test_within_the_limit(build):
    """semantics S130"""
    with harness.serving(build, config=configuration(64)) as server:
        for what, mib in (("to_device", "64"), ("to_host", "480")):
            harness.run_passing([build.program("overflow"), what, mib], build.remote([server]))
        expect(TOLD not in server.err.text, server.report())


def test_work_that_ends_by_itself(build):
    """semantics S132: however long it takes, and however little is kept"""
    for kept in (0, KEPT):
        with harness.serving(build, config=configuration(kept)) as server:
            with overflow(build, server, "patient", "96") as program:
                expect(program.wait(200) == 0, program.report())
                expect("the stream: good" in program.out.lines, program.report())


def test_memory_is_bounded_and_others_go_on(build):
    """semantics S131"""
    with harness.serving(build, config=configuration(KEPT, 2)) as server:
        before = set(server.backends())
        with overflow(build, server, "to_device", "512") as program:
            harness.wait_until(lambda: TOLD in server.err.text, 60, "copies are refused")
            backends = set(server.backends()) - before
            harness.run_passing([build.program("vector_add")], build.remote([server]))
            for pid in backends:
                with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                    expect(memory(pid) < 400 * MIB, f"{memory(pid) // MIB} MiB are held")
            expect(program.wait(120) == 0, program.report())


def test_fault(build):
    """semantics S26: also where the stream of the copies would never go on"""
    with harness.serving(build, config=configuration(64)) as server:
        traces = harness.Traces(server)
        with overflow(build, server, "fault", "32") as program:
            expect(program.wait(60) == 0, program.report())
            expect(program.out.lines == ["another stream: CUDA_ERROR_ILLEGAL_ADDRESS",
                                         "the stream: CUDA_ERROR_ILLEGAL_ADDRESS", "PASSED"],
                   program.report())
        traces.expect_none()
        harness.run_passing([build.program("vector_add")], build.remote([server]))


def test_killed(build):
    """semantics S133"""
    with harness.serving(build, config=configuration(64)) as server:
        traces = harness.Traces(server)
        for _ in range(2):
            with overflow(build, server, "held", "32") as program:
                program.wait_for_line("started", 60)
                program.kill()
                program.wait(10)
            traces.expect_none()
        harness.run_passing([build.program("vector_add")], build.remote([server]))


if __name__ == "__main__":
    harness.main(globals())
