#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""GPU time: what gpuaasd says that an application has used of a GPU's engines is what the GPU says,
which a software GPU does (SOFTGPU_TRACE): kernels of 10 us, in one stream and several, beside
copies, with waits and pauses, and as graphs. Work that runs side by side counts once."""

import json
import os
import re
import signal
import subprocess
import tempfile
import time

import harness
from harness import expect, wait_until

LAUNCH_NS = 3000  # from the end of the work before to a kernel's begin: the engine's, too
EXACT = 0.05  # of what the GPU says
EDGE_NS = 200_000  # and that beside, for all batches together
GPU = """[gpu.0]
driver = soft
model = a100
memory = 256MiB
context_time = none
context_slice = none
timing = yes
execute = no
kernel_time = 10us
"""
USED = re.compile(r"report: application [0-9a-f]{8} on GPU [0-9a-f]{8}: compute (\d+) ns, to "
                  r"the device (\d+) ns, to the host (\d+) ns, in (\d+) works")
ENGINES = ("compute", "to the device", "to the host")


def config(more=""):
    return f"[server]\nlisten = tcp://127.0.0.1:0\ndata_ports = 0\n{more}{GPU}"


def used(server):
    """The use of the only application, as gpuaasd says now; None: nothing."""
    begin = len(server.err.lines)
    server.kill(signal.SIGUSR1)
    wait_until(lambda: any(" spare" in line for line in server.err.lines[begin:]), 20,
               "gpuaasd reports")
    for line in server.err.lines[begin:]:
        if match := USED.search(line):
            return [int(number) for number in match.groups()]
    return None


def union(spans):
    total, until = 0, 0
    for begin, end in sorted(spans):
        total += max(0, end - max(begin, until))
        until = max(until, end)
    return total


def slices(path):
    """For each engine: when it began and ended what it did, in ns. A kernel begins with its
    launch."""
    with open(path, encoding="utf-8") as f:
        events = json.loads(f.read() + "]")
    names = {event["tid"]: event["args"]["name"] for event in events
             if event.get("name") == "thread_name"}
    found = [[], [], []]
    for event in events:
        if event.get("ph") != "X":
            continue
        begin, length = round(event["ts"] * 1000), round(event["dur"] * 1000)
        name = names[event["tid"]]
        if name.startswith("kernels"):
            found[0].append((begin - LAUNCH_NS, begin + length))
        elif name.startswith("copies to the device"):
            found[1].append((begin, begin + length))
        elif name.startswith("copies to the host"):
            found[2].append((begin, begin + length))
    return found


def settled(server):
    """The use of the application, once two reports are equal."""
    seen = [None]

    def same():
        time.sleep(0.15)
        before, seen[0] = seen[0], used(server)
        return seen[0] is not None and before == seen[0]
    wait_until(same, 30, "all that is done has been measured")
    return seen[0]


def measure(build, way, more=""):
    """The figures of gpuaasd, and the spans of the GPU."""
    with tempfile.TemporaryDirectory(prefix="gpuaas-metering-") as folder:
        path = os.path.join(folder, "trace.json")
        with harness.serving(build, config=config(more), extra={"SOFTGPU_TRACE": path}) as server:
            program = harness.Process([build.program("metered"), way], build.remote([server]),
                                      stdin=subprocess.PIPE)
            try:
                program.wait_for_line("PASSED", harness.PROGRAM_SECONDS)
                said = settled(server)
                program.popen.stdin.close()
                expect(program.wait(60) == 0, program.report())
            finally:
                program.end()
        return said, slices(path)


def check(said, spans, most_ns=EDGE_NS):
    for name, got, spans_of in zip(ENGINES, said, spans):
        true = union(spans_of)
        print(f"{name}: {got} ns measured, {true} ns by the GPU, {len(spans_of)} slices")
        expect(abs(got - true) <= EXACT * true + most_ns,
               f"{name}: {got} ns measured, {true} ns by the GPU")


def test_one_stream(build):
    said, spans = measure(build, "stream")
    check(said, spans)
    expect(len(spans[0]) >= 5000 and said[3] >= 5000, f"{said}, {len(spans[0])}")


def test_side_by_side_counts_once(build):
    said, spans = measure(build, "streams")
    check(said, spans)
    together = sum(end - begin for begin, end in spans[0])
    expect(said[0] < 0.7 * together, f"{said[0]} ns measured, {together} ns of all kernels")


def test_who_waits_does_not_work(build):
    said, spans = measure(build, "waits")
    check(said, spans, 1_000_000)


def test_pauses_are_none(build):
    said, spans = measure(build, "pauses")
    check(said, spans, 200_000_000)  # of more than 600 ms: it may be slow to submit


def test_graphs(build):
    said, spans = measure(build, "graph")
    check(said, spans)


if __name__ == "__main__":
    harness.main(globals())
