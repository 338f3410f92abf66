# SPDX-License-Identifier: Apache-2.0
"""A mix on a real gpuaasd, and whether the run counts: software GPUs must not have been late, the
processors must have had room, and programs must have woken in time."""

import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests",
                                "e2e"))

import harness  # noqa: E402
import mixes  # noqa: E402

IDLE_LEAST = 0.20  # of the processors' time
LATE_MOST = 0.05  # the 99th percentile of late wake-ups, by the mean CPU phase
SECONDS = 580

ALONE = """gpuaas-trace 1
gpu c2050
request X 0 200
cpu 1000000
h2d 0 100000 pageable
kernel 1000000 1 1 0
d2h 0 100000 pageable
"""


def processor_times():
    """(busy, all) of all processors, in ticks."""
    with open("/proc/stat", encoding="ascii") as file:
        fields = [int(text) for text in file.readline().split()[1:9]]
    idle = fields[3] + fields[4]
    return sum(fields) - idle, sum(fields)


def replay(build, trace, config):
    """(lines of gpuaas-load, idle share of the processors, what software GPUs and programs said)"""
    with tempfile.NamedTemporaryFile("w", suffix=".trace") as file, \
            harness.serving(build, config=config) as server:
        file.write(trace)
        file.flush()
        before = processor_times()
        command = [build.path("perf", "gpuaas-load"), file.name, "--bytes", str(mixes.BYTES)]
        done = subprocess.run(command, env=build.remote([server]), capture_output=True, text=True,
                              timeout=SECONDS, check=False)
        after = processor_times()
        if done.returncode != 0:
            raise harness.Failure(f"gpuaas-load: {done.stderr}{server.report()}")
        busy, ticks = after[0] - before[0], after[1] - before[1]
        lines = [json.loads(line) for line in done.stdout.splitlines()]
    return lines, 1 - busy / max(ticks, 1), done.stderr + server.report()


def verdict(lines, idle, log):
    """Why the run does not count; "": it does."""
    why = []
    if "VOID" in log:
        why.append("software GPUs were late: " + re.search(r"VOID[^\n]*", log).group(0)[:60])
    if idle < IDLE_LEAST:
        why.append(f"processors were idle for {idle:.0%} of the time, {IDLE_LEAST:.0%} is needed")
    cpu = [line["cpu"] / max(line["phases"] / 4, 1) for line in lines if line["cpu"]]
    late = max((line["late_p99"] / phase for line, phase in zip(lines, cpu) if phase), default=0)
    if late > LATE_MOST:
        why.append(f"wake-ups were late by {late:.1%} of a CPU phase (99 %)")
    return "; ".join(why)


def completions(lines):
    """Mean completion time of each application, from arrival to exit, in seconds."""
    by_stream = {}
    for line in lines:
        by_stream.setdefault(line["stream"], []).append((line["end"] - line["arrival"]) / 1e9)
    return {stream: sum(times) / len(times) for stream, times in by_stream.items()}


def measure_alone(build, scale):
    """Measures one program without a policy, and nothing of the mixes: how long it takes to start
    until it has its context, and what each operation takes beyond the model."""
    config = mixes.configuration(scale, "none")
    lines, *_ = replay(build, ALONE, config)
    line = lines[0]
    context = mixes.CONTEXT_NS * scale
    start = max(line["ready"] - line["arrival"] - context, 0)
    copy = 100000 / (8000e6 * 0.78 * 0.5) * 1e9 + mixes.GPU_NS["h2d_latency"] * scale
    model = 200 * (1_000_000 + 1_000_000 + 3000 + 2 * copy)
    operation = max((line["end"] - line["ready"] - model) / 600, 0)
    return {"start_ns": round(start), "operation_ns": round(operation)}


class Spinners:
    """Programs that use all processors, to see that such a run is rejected."""

    def __init__(self, count):
        self.programs = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
                         for _ in range(count)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for program in self.programs:
            program.kill()
            program.wait()
