#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The limit kernel-time (docs/quotas.md): a kernel that runs longer is stopped, or, where the
driver cannot stop one, the program is ended; and many short kernels are never taken for a long
one."""

import contextlib

from lib import harness
from lib.harness import expect
from lib.limited import another_driver, expect_note, limited

# Kernels take the time that they say, and no processor.
TIMED = "model = a100\ncontext_time = none\ntiming = yes\nexecute = no\nkernel_time = 10us\n"


def expect_stopped(build, env, error):
    with harness.running([build.program("endless"), "kernel"], env) as endless:
        expect(endless.wait(60) == 1, endless.report())
        expect(f"cudaDeviceSynchronize: error {error}" in endless.out.lines, endless.report())
        expect_note(endless, "kernel-time", "300 ?ms allowed")


def test_kernel_time(build):
    with limited(build, "kernel-time=300ms") as server:
        env = build.remote([server])
        with harness.running([build.program("endless"), "idle"], env) as idle:
            idle.wait_for_line("started", 60)
            expect_stopped(build, env, "702 cudaErrorLaunchTimeout")
            harness.run_passing([build.program("vector_add")], env)
            expect(idle.running(), idle.report())


def test_kernel_time_with_another_driver(build):
    """One that cannot stop a kernel: the process ends."""
    if build.has_failpoints():
        with another_driver(build, "kernels can be stopped", "kernel-time=300ms") as server:
            env = build.remote([server])
            expect_stopped(build, env, "719 cudaErrorLaunchFailure")
            harness.run_passing([build.program("streams_events")], env)


@contextlib.contextmanager
def bursts(build, way):
    """The program kernel_bursts, on a GPU whose driver cannot stop a kernel."""
    with another_driver(build, "kernels can be stopped", "kernel-time=200ms",
                        keys=TIMED) as server:
        with harness.running([build.program("kernel_bursts"), way],
                             build.remote([server])) as program:
            yield program


def passes(build, way):
    if build.has_failpoints():
        with bursts(build, way) as program:
            expect(program.wait(60) == 0, program.report())


def test_many_short_kernels(build):
    """Each takes a tenth of the limit or less, all of them five times as long as it is."""
    passes(build, "many")


def test_graph_of_short_kernels(build):
    passes(build, "graph")


def is_ended(build, way):
    if build.has_failpoints():
        with bursts(build, way) as program:
            expect(program.wait(20) == 1, program.report())  # 32 times the limit, and more
            expect("error 719 cudaErrorLaunchFailure" in program.out.lines, program.report())
            expect_note(program, "kernel-time", "200 ?ms allowed")


def test_endless_one_behind_short_ones(build):
    is_ended(build, "last")


def test_endless_one_and_other_calls(build):
    """Calls come all the time, and the server looks all the same."""
    is_ended(build, "asked")


def test_endless_one_with_copies_behind_it(build):
    """The server waits for room for their bytes, and looks all the same."""
    is_ended(build, "copied")


if __name__ == "__main__":
    harness.main(globals())
