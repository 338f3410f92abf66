#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Output of kernels is the program's output: complete, in order, on the program's stdout, and on no
other."""

import os
import re
import subprocess

from lib import harness
from lib.harness import expect

DEVICES = "name=Soft A,memory=1GiB"


def lines(tag, kernels, count, error=None):
    for k in range(kernels):
        yield f"{tag}: kernel {k} is next"
        for i in range(count):
            yield f"{tag}: kernel {k}, line {i} of {count}"
    if error is not None:
        yield f"error {error}"
    yield "PASSED"


def expect_lines(process, *wanted, error=None):
    wanted = list(lines(*wanted, error=error))
    expect(process.out.lines == wanted,
           f"{len(process.out.lines)} lines, {len(wanted)} others are due\n"
           f"{process.report()[-4000:]}")


def both_ways(build, test):
    """semantics S41"""
    test(build.local(DEVICES))
    with harness.serving(build, gpus=1) as server:
        traces = harness.Traces(server)
        test(build.remote([server]))
        traces.expect_none()


def test_order_with_the_host(build):
    """stdout is a pipe: what host and kernels print comes in the order in which it was printed."""
    def check(env):
        process = harness.run_passing([build.program("prints"), "a", "20", "7"], env)
        expect_lines(process, "a", 20, 7)
    both_ways(build, check)


def test_before_a_copy(build):
    """To the device, when nothing else comes behind a kernel. semantics S125"""
    def check(env):
        process = harness.run_passing([build.program("prints"), "c", "20", "7", "copy"], env)
        expect_lines(process, "c", 20, 7)
    both_ways(build, check)


def test_before_a_fault(build):
    """semantics S42: what was printed before an execution fault appears."""
    def check(env):
        process = harness.run_passing([build.program("prints"), "f", "3", "5", "fault"], env)
        expect_lines(process, "f", 3, 5, error=700)
    both_ways(build, check)


def test_faults_are_told(build):
    """semantics S42: the program's stderr says what its kernel did, wherever its GPU is."""
    wanted = (r"error: softgpu: kernel _Z7scatterPix: illegal address: Invalid __global__ write "
              r"of size 4 bytes at _Z7scatterPix in \S*says_where\.cu:9 \(PTX line \d+\) by thread "
              r"\(3,0,0\) in block \(1,0,0\): address 0x([0-9a-f]+) is out of bounds, (\d+) bytes "
              r"before the nearest allocation at 0x([0-9a-f]+) of \d+ bytes$")

    def check(env):
        process = harness.run_passing([build.program("says_where")], env)
        told = [re.search(wanted, line) for line in process.err.lines if "softgpu" in line]
        expect(len(told) == 1 and told[0] is not None, process.report())
        address, away, nearest = int(told[0][1], 16), int(told[0][2]), int(told[0][3], 16)
        expect(nearest - address == away and 0 < away <= 1 << 36, process.report())
    both_ways(build, check)


def test_writes_to_what_may_only_be_read_are_told(build):
    """semantics S42: memory that was mapped for reading is not called out of bounds."""
    wanted = re.compile(r"error: softgpu: kernel \S+: illegal address: Invalid __global__ write "
                        r".*: address 0x[0-9a-f]+ may only be read, inside an allocation of ")

    def check(env):
        process = harness.run_passing([build.program("virtual_memory")], env)
        told = [line for line in process.err.lines if "softgpu" in line]
        expect(len(told) == 1 and wanted.search(told[0]), process.report())
    check(build.local(DEVICES + ";" + DEVICES))
    with harness.serving(build, gpus=2) as server:
        check(build.remote([server]))


def test_refused_code_is_told(build):
    """A program without PTX: 209, what to build it with, and which program it is."""
    def check(env):
        program = build.program("machine_code")
        process = harness.run_passing([program], env)
        path = os.path.realpath(program)
        expect(f"; it is in {path}" in process.err.text or
               f"the device code in {path} is refused: CUDA_ERROR_NO_BINARY_FOR_GPU" in
               process.err.text, process.report())
        told = [line for line in process.err.lines if "softgpu" in line]
        expect(told and all("machine code only" in line and "build with PTX (-gencode "
                            "arch=compute_75,code=compute_75" in line for line in told),
               process.report())
    both_ways(build, check)


def test_refused_launches_are_told(build):
    """How many blocks of a cooperative grid fit, and which attribute is not known: once each."""
    def check(env):
        process = harness.run_passing([build.program("cooperative")], env)
        told = [re.search(r"a cooperative launch of (\d+) blocks is too large: at once (\d+) fit, "
                          r"(\d+) on each of (\d+) multiprocessors .the key sms ", line)
                for line in process.err.lines if "cooperative" in line]
        expect(len(told) == 1 and told[0] is not None, process.report())
        blocks, fit, each, sms = (int(told[0][i]) for i in range(1, 5))
        expect(fit == each * sms and blocks > fit > 0, process.report())
        process = harness.run_passing([build.program("launch_attributes")], env)
        told = [line for line in process.err.lines if "launch attribute 1000 " in line]
        expect(len(told) == 1, process.report())
    both_ways(build, check)


def test_much(build):
    """Nothing is lost of what is asked for in time, however much it is."""
    def check(env):
        process = harness.run_passing([build.program("prints"), "much", "20", "5000"], env)
        expect_lines(process, "much", 20, 5000)
    both_ways(build, check)


def test_two_programs_at_once(build):
    """semantics S43"""
    with harness.serving(build, gpus=1) as server:
        env = build.remote([server])
        running = [harness.Process([build.program("prints"), tag, "40", "50"], env)
                   for tag in ("one", "other", "third")]
        try:
            for process in running:
                expect(process.wait(120) == 0, process.report())
        finally:
            for process in running:
                process.end()
        for process, tag in zip(running, ("one", "other", "third")):
            expect_lines(process, tag, 40, 50)


def test_nowhere_to_print(build):
    """stdout is closed, or a full disk: the program's calls work all the same."""
    def check(env):
        program = build.program("prints")
        # No shell: one under ThreadSanitizer crashes when it closes its own stdout.
        with open("/dev/full", "w", encoding="ascii") as full:
            for what, close in (("closed", lambda: os.close(1)), ("full", None)):
                done = subprocess.run([program, "x", "3", "100"], env=env,
                                      stdin=subprocess.DEVNULL, stdout=full, preexec_fn=close,
                                      stderr=subprocess.PIPE, text=True, timeout=120, check=False)
                expect(done.returncode == 0, f"stdout {what}: {done.returncode}\n{done.stderr}")
        with open(os.devnull, "w", encoding="ascii") as nowhere:
            done = subprocess.run([program, "x", "3", "100"], env=env, stdout=nowhere,
                                  timeout=120, check=False)
        expect(done.returncode == 0, "with stdout at /dev/null")
    both_ways(build, check)


if __name__ == "__main__":
    harness.main(globals())
