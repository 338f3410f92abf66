#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The shared CUDA runtimes of many versions, unmodified from the package index, on a software GPU
in the program's own process and through a server (semantics S150)."""

import glob
import os
import re

from lib import harness
from lib.harness import expect

PYTHON = os.environ["GPUAAS_TEST_PYTHON"]
PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python",
                       "runtime_program.py")
FOLDER = os.path.join(os.path.dirname(PYTHON), "..", "runtimes")
# Built with the toolkit's runtime; another one of the same major takes its place.
COMPILED = ["streams_events", "libraries", "graph_nodes", "managed"]
DEVICES = "memory=1GiB;memory=1GiB"  # one of these programs wants two


def version(path):
    return [int(part) for part in path.split("/runtimes/")[1].split("/")[0].split(".")]


def linked(build, name):
    """The file name of the runtime that a compiled program asks for."""
    with open(build.program(name, shared=True), "rb") as file:
        return re.search(rb"libcudart\.so\.\d+", file.read()).group().decode()


def runtimes(build):
    """The oldest first; none of a major that is newer than the toolkit that we were built with."""
    found = glob.glob(os.path.join(FOLDER, "*", "nvidia", "**", "libcudart.so.1?"), recursive=True)
    newest = int(linked(build, COMPILED[0]).rsplit(".", 1)[1])
    usable = sorted((path for path in found if version(path)[0] <= newest), key=version)
    expect(len(usable) >= 4, f"only {usable} of {found} are for CUDA {newest}")
    return usable


def passes(path, env):
    process = harness.run_passing([PYTHON, PROGRAM, path], {**env, "PYTHONDONTWRITEBYTECODE": "1"})
    major, minor = version(path)[:2]
    expect(process.out.lines[0] == f"runtime {1000 * major + 10 * minor}", process.report())
    expect("gpuaas" not in process.err.text, f"something was missed\n{process.report()}")


def compiled_pass(build, env):
    """Each with all runtimes that have the name which it links."""
    for name in COMPILED:
        for path in runtimes(build):
            if os.path.basename(path) == linked(build, name):
                first = os.path.dirname(path) + ":" + env["LD_LIBRARY_PATH"]
                harness.run_passing([build.program(name, shared=True)],
                                    {**env, "LD_LIBRARY_PATH": first})


def test_local(build):
    for path in runtimes(build):
        passes(path, build.local())


def test_through_a_server(build):
    with harness.serving(build, gpus=1) as server:
        for path in runtimes(build):
            passes(path, build.remote([server]))


def test_compiled_programs_with_newer_runtimes(build):
    compiled_pass(build, build.local(DEVICES))
    with harness.serving(build, gpus=2) as server:
        compiled_pass(build, build.remote([server]))


if __name__ == "__main__":
    harness.main(globals())
