#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of wrong arguments (tests/arguments), on the software GPU in the program's own process
and on a server's: both answer line by line what tests/arguments/expected.txt says, and cuda.h
documents what that says."""

import os
import sys

from lib import harness

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir,
                                "arguments"))
import expected  # noqa: E402

DEVICES = "name=Soft A,memory=1GiB;name=Soft B,memory=2GiB"


def run_table(build, library, env, *options):
    command = [build.path("tests", "wrong_arguments"), *options, library]
    process = harness.run(command, env, status=None)
    harness.expect(process.status == 0, f"{process}: exit status {process.status} after\n"
                   + "\n".join(process.out.lines[-5:]) + f"\n--- stderr\n{process.err.text}")
    return process.out.lines


def expect_same(due, got):
    different = expected.differences(due, got)
    harness.expect(not different, "-: due, +: given\n" + "\n".join(different))
    print(f"{len(got)} lines")


def test_local(build):
    expect_same(expected.lines(), run_table(build, build.path("lib", "softgpu", "libcuda.so.1"),
                                            build.local(DEVICES)))


def test_remote(build):
    """semantics S25, S52"""
    with harness.serving(build) as server:
        traces = harness.Traces(server)
        got = run_table(build, build.path("lib", "gpuaas", "libcuda.so.1"),
                        build.remote([server]), "--remote")
        traces.expect_none()
    expect_same(expected.remotely(got), got)


def test_right(_):
    wrong = expected.not_right()
    harness.expect(not wrong, "right arguments fail, without a `fails` line in tests/arguments/"
                   "calls.txt:\n" + "\n".join(wrong))


def test_documented(build):
    wrong = expected.undocumented(build.cuda)
    harness.expect(not wrong, "cuda.h lists no such error for the call, and tests/arguments/"
                   "calls.txt has no `beyond` line for it:\n" + "\n".join(wrong))


if __name__ == "__main__":
    harness.main(globals())
