#!/usr/bin/env python3
"""What kernels print is the program's output: all of it, in order, where the program has its
stdout, and nobody else's."""

import os
import subprocess

import harness
from harness import expect

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


def test_before_a_fault(build):
    """semantics S42: what was printed before an execution fault appears."""
    def check(env):
        process = harness.run_passing([build.program("prints"), "f", "3", "5", "fault"], env)
        expect_lines(process, "f", 3, 5, error=700)
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
        for command in (f"exec {program} x 3 100 >&-", f"exec {program} x 3 100 >/dev/full"):
            done = subprocess.run(["sh", "-c", command], env=env, stdin=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True, timeout=120, check=False)
            expect(done.returncode == 0, f"{command}: {done.returncode}\n{done.stderr}")
        with open(os.devnull, "w", encoding="ascii") as nowhere:
            done = subprocess.run([program, "x", "3", "100"], env=env, stdout=nowhere,
                                  timeout=120, check=False)
        expect(done.returncode == 0, "with stdout at /dev/null")
    both_ways(build, check)


if __name__ == "__main__":
    harness.main(globals())
