#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The client library as a guest of processes that are not made for it: Python, programs with their
own AddressSanitizer, preloaded, opened and closed again, across fork and exec, at bad ends, without
standard descriptors. Bad moments in CUDA programs are in guest.py."""

import os
import sys
import tempfile

from lib import harness
from lib.harness import expect

PYTHON = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib", "guest_in_python.py")


def run_guest(build, server, *words, program="guest", preload=True, **options):
    env = build.environment(build.path("lib", "gpuaas"), {"GPUAAS_SERVERS": server.address},
                            preload=preload)
    env.update(options)
    command = [build.path("tests", "guests", program), *words]
    return harness.run_passing(command, env, seconds=120)


def test_modes(build):
    with harness.serving(build) as server:
        traces = harness.Traces(server)
        for mode in ("session", "reopen", "fork_before", "fork_in_threads", "execute",
                     "exit_in_threads", "exit_in_handler", "cancel", "pending"):
            process = run_guest(build, server, mode)
            expect(not process.err.lines, f"{mode}: nothing to complain about\n{process.report()}")
        traces.expect_none()


def test_small_stack(build):
    kilobytes = "64" if build.sanitize == "none" else "512"  # sanitizers make frames large
    with harness.serving(build) as server:
        run_guest(build, server, "small_stack", kilobytes)


def test_preloaded(build):
    library = build.path("lib", "gpuaas", "libcuda.so.1")
    with harness.serving(build) as server:
        env = build.environment(None, {"GPUAAS_SERVERS": server.address})
        env["LD_PRELOAD"] = " ".join(filter(None, [env.get("LD_PRELOAD"), library]))
        harness.run_passing([build.program("vector_add")], env)
        harness.run_passing([build.path("tests", "guests", "guest"), "session"], env)
        # And into programs that use no CUDA at all, which must not notice.
        process = harness.run([sys.executable, "-c", "print('as ever')"], env)
        expect(process.out.text == "as ever" and not process.err.lines, process.report())


def test_program_with_its_own_asan(build):
    if build.sanitize == "thread":
        return  # one process cannot hold both sanitizers
    with harness.serving(build) as server:
        for mode in ("session", "reopen", "fork_before"):
            run_guest(build, server, mode, program="guest_asan", preload=False,
                      ASAN_OPTIONS="detect_leaks=1")


def test_without_standard_descriptors(build):
    with harness.serving(build) as server, tempfile.TemporaryDirectory() as folder:
        result = os.path.join(folder, "result")
        env = build.remote([server], GPUAAS_LOG="debug")
        harness.run([build.path("tests", "guests", "guest"), "no_stdio", result], env)
        with open(result, encoding="ascii") as file:
            expect(file.read() == "PASSED\n", "the session worked")


def test_few_descriptors(build):
    with harness.serving(build) as server:
        process = run_guest(build, server, "few_descriptors")
        expect("error 100" in process.out.text or "error 46" in process.out.text,
               process.report())
        expect("descriptor" in process.err.text or "open files" in process.err.text,
               f"a line that says why\n{process.report()}")


def test_python(build):
    with harness.serving(build) as server:
        process = harness.run([sys.executable, PYTHON], build.remote([server]), seconds=120)
        expect(process.out.lines and process.out.lines[-1] == "PASSED", process.report())


if __name__ == "__main__":
    harness.main(globals())
