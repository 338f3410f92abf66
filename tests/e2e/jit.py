#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that compile device code at run time get PTX where GPUs run nothing else."""

import os
import subprocess
import sys
import tempfile

from lib import harness
from lib.harness import expect

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
    """An explicit choice is followed, without a message."""
    with harness.serving(build) as server:
        process = run_with(build, server, "--compilers", "ptx")
        expect(process.out.lines[-1] == "PASSED" and SAID not in process.err.text,
               process.report())
        process = run_with(build, server, "--compilers=machine", status=1)
        expect("machine code only" in process.err.text, process.report())
        process = run_with(build, server, "--compilers=quick", status=125)
        expect("auto, ptx or machine" in process.err.text, process.report())


WHICH = """
import ctypes, sys
library, major, minor = ctypes.CDLL(sys.argv[1]), ctypes.c_uint(), ctypes.c_uint()
print(library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)), minor.value)
"""


def make_library(folder, number):
    """An nvrtc of that minor version."""
    os.makedirs(folder)
    text = f"int nvrtcVersion(unsigned *a, unsigned *b) {{ *a = 13; *b = {number}; return 0; }}"
    subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o",
                    os.path.join(folder, "libnvrtc.so.13")], input=text, text=True, check=True)


def test_which_compiler(build):
    """That of the running Python's own packages comes before a toolkit's, which may be older; then
    that of LD_LIBRARY_PATH. GPUAAS_JIT_PATH is before all."""
    with tempfile.TemporaryDirectory(prefix="gpuaas-jit-") as root:
        def at(*names):
            return os.path.join(root, *names)
        places = [at("chosen"), at("env", "lib", "python3.99", "site-packages", "nvidia", "cu13",
                                   "lib"), at("path"), at("toolkit", "lib64")]
        for number, place in enumerate(places):
            make_library(place, number)
        os.makedirs(at("env", "bin"))
        os.symlink(os.path.realpath(sys.executable), at("env", "bin", "python"))
        ours = build.path("lib", "gpuaas", "jit", "libnvrtc.so.13")
        for number, place in enumerate(places):
            env = build.environment(extra={"CUDA_HOME": at("toolkit"), "CUDA_PATH": at("toolkit"),
                                           "LD_LIBRARY_PATH": at("path"),
                                           "GPUAAS_JIT_PATH": at("chosen")})
            process = harness.run([at("env", "bin", "python"), "-c", WHICH, ours], env)
            expect(process.out.text == f"0 {number}", f"{place} is due\n{process.report()}")
            os.remove(os.path.join(place, "libnvrtc.so.13"))


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
