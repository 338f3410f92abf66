#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""SOFTGPU_TRACE: what each engine of each device did when, as Chrome's tracing and Perfetto read
it; alone and on a server, by the timing model and without."""

import itertools
import json
import os
import tempfile

from lib import harness
from lib.harness import expect

KERNEL_US = 100003  # with the 3 us before it
TIMED = ("model=c2050,memory=256MiB,context_time=1ms,timing=yes,execute=no,kernel_time=100ms,"
         "name=Timed \"GPU\"")


def read(path):
    """(what was done, {(process, thread) of the file: name of the thread}, names of devices)"""
    with open(path, encoding="utf-8") as file:
        events = json.loads(file.read() + "]")
    threads = {(e["pid"], e["tid"]): e["args"]["name"] for e in events
               if e["name"] == "thread_name"}
    devices = {e["args"]["name"] for e in events if e["name"] == "process_name"}
    done = [e for e in events if e["ph"] == "X"]
    for event in done:
        expect((event["pid"], event["tid"]) in threads, f"no name for the lane of {event}")
    return done, threads, devices


def overlapping(events):
    """Pairs of them that were under way at the same time."""
    return [(a, b) for a, b in itertools.combinations(events, 2)
            if a["ts"] < b["ts"] + b["dur"] and b["ts"] < a["ts"] + a["dur"]]


def expect_lanes(done):
    for lane in {(e["pid"], e["tid"]) for e in done}:
        wrong = overlapping([e for e in done if (e["pid"], e["tid"]) == lane])
        expect(not wrong, f"slices of one lane overlap: {wrong[:1]}")


def test_times_of_the_model(build):
    with tempfile.TemporaryDirectory(prefix="gpuaas-e2e-") as folder:
        path = os.path.join(folder, "trace.json")
        env = {**build.local(TIMED), "SOFTGPU_TRACE": path}
        harness.run_passing([build.program("takes_time"), "kernels"], env)
        done, threads, devices = read(path)
    expect(len(devices) == 1 and "device 0: Timed \"GPU\"" in devices.pop(), f"{devices}")
    expect_lanes(done)
    kernels = [e for e in done if "spin" in e["name"]]
    copies = [e for e in done if e["name"] == "copy to the device"]
    expect(kernels and all(e["args"]["blocks"] in (2, 4096) for e in kernels), f"{kernels[:1]}")
    expect(copies and all(e["args"]["bytes"] == 16 << 20 for e in copies), f"{copies[:1]}")
    small = [e for e in kernels if e["args"]["blocks"] == 2]
    expect(all(abs(e["dur"] - KERNEL_US) < 10 for e in small), f"100 ms each are due: {small}")
    expect(overlapping(small), f"small kernels run side by side: {small}")
    names = {threads[e["pid"], e["tid"]].split(",")[0] for e in done}
    expect(names == {"kernels", "copies to the device", "copies to the host"}, f"{names}")


def test_servers_programs_in_one_file(build):
    """Three devices, two of them used; each program has lanes of its own."""
    with tempfile.TemporaryDirectory(prefix="gpuaas-e2e-") as folder:
        path = os.path.join(folder, "trace.json")
        with harness.serving(build, extra={"SOFTGPU_TRACE": path}) as server:
            for _ in range(2):
                harness.run_passing([build.program("two_devices")], build.remote([server]))
        done, threads, devices = read(path)
    expect_lanes(done)
    expect({e["pid"] for e in done} == {1, 2} and len(devices) == 2, f"{devices}")
    kernels = {name for name in threads.values() if name.startswith("kernels")}
    expect(len(kernels) == 2, f"two processes are due: {kernels}")


def test_host_functions(build):
    with tempfile.TemporaryDirectory(prefix="gpuaas-e2e-") as folder:
        path = os.path.join(folder, "trace.json")
        harness.run_passing([build.program("host_functions")],
                            {**build.local(), "SOFTGPU_TRACE": path})
        done, _, _ = read(path)
    expect(any(e["name"] == "host function" for e in done), f"{len(done)} events, and none is one")


def test_a_file_that_cannot_be_a_trace(build):
    """The program is told, and runs; what is there stays."""
    with tempfile.TemporaryDirectory(prefix="gpuaas-e2e-") as folder:
        path = os.path.join(folder, "notes.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write("mine\n")
        for wrong in (path, folder, os.path.join(folder, "none", "trace.json")):
            process = harness.run_passing([build.program("vector_add")],
                                          {**build.local(), "SOFTGPU_TRACE": wrong})
            told = [line for line in process.err.lines if "SOFTGPU_TRACE" in line]
            expect(len(told) == 1 and wrong in told[0], process.report())
        with open(path, encoding="utf-8") as file:
            expect(file.read() == "mine\n", "the file has been written to")


if __name__ == "__main__":
    harness.main(globals())
