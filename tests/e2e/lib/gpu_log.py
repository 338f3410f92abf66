# SPDX-License-Identifier: Apache-2.0
"""The work of a software GPU, as the GPU writes it down and as gpuaasd counts it."""

import json
import os
import re
import signal
import subprocess
import tempfile
import time

from lib import harness
from lib.harness import expect, wait_until

LAUNCH_NS = 3000  # from the end of the work before to a kernel's begin: the engine's, too
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
