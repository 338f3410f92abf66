#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpuaas-load replays a trace as real programs: each request does all of its phases, after it has
arrived; wrong use is told."""

import json
import os
import tempfile

from lib import harness
from lib.harness import expect

TRACE = """gpuaas-trace 1
gpu c2050
request A 0 3
cpu 2000000
h2d 0 1000000 pageable
kernel 5000000 1 1 0
d2h 0 1000000 pinned
request A after 2
kernel 5000000 0.5 0.5 0
request B 40000000 1
cpu 1000000
"""
CONFIG = """[server]
listen = tcp://127.0.0.1:0
data_ports = 0
[gpu.0]
driver = soft
model = c2050
memory = 256MiB
timing = yes
execute = no
context_time = 1ms
"""


def replayed(build, server, *arguments, status=0, trace=TRACE):
    with tempfile.NamedTemporaryFile("w", suffix=".trace") as file:
        file.write(trace)
        file.flush()
        command = [build.path("perf", "gpuaas-load"), file.name, *arguments]
        env = build.remote([server]) if server else build.environment(preload=False)
        return harness.run(command, env, status=status)


def test_each_request_is_done(build):
    with harness.serving(build, config=CONFIG) as server:
        process = replayed(build, server)
        done = {(line["stream"], line["request"]): line
                for line in map(json.loads, process.out.lines)}
        expect({key: line["phases"] for key, line in done.items()} ==
               {("A", 0): 12, ("A", 1): 2, ("B", 0): 1}, process.report())
        first, second, other = done["A", 0], done["A", 1], done["B", 0]
        expect(first["end"] - first["ready"] >= 3 * 7_000_000, "phases take their time")
        expect(second["begin"] >= first["end"], "it comes after the other")
        expect(other["begin"] >= 40_000_000 and first["cpu"] == 6_000_000, process.report())
        only = replayed(build, server, "--stream", "B", "--scale", "0.1")
        expect([json.loads(line)["cpu"] for line in only.out.lines] == [100_000], only.report())


def test_gpus_in_turn(build):
    """Kernels take as much longer as a GPU is slower: 448 cores at 1150 MHz, 192 at 1250."""
    two = CONFIG + CONFIG[CONFIG.index("[gpu.0]"):].replace("gpu.0", "gpu.1").replace(
        "c2050", "quadro2000")
    with harness.serving(build, config=two) as server:
        process = replayed(build, server, "--gpus", "c2050,quadro2000")
        lines = {(line["stream"], line["request"]): line
                 for line in map(json.loads, process.out.lines)}
        begun = sorted(lines.values(), key=lambda line: line["begin"])
        expect([line["gpu"] for line in begun] == [0, 1, 0], process.report())
        second = lines["A", 1]
        slower = 448 * 1150 / (192 * 1250) if second["gpu"] == 1 else 1
        expect(second["end"] - second["ready"] >= 2 * 5_000_000 * slower, process.report())


def test_wrong_use(build):
    for arguments, trace, words in ((("--scale", "x"), TRACE, "a number from 1e-06 to 1000"),
                                    (("--stream", "C"), TRACE, "no stream C"),
                                    (("--gpus", "c2050,x"), TRACE, "no model x"),
                                    (("--gpus",), TRACE, "models are due"),
                                    (("--what",), TRACE, "unknown option --what"),
                                    ((), "nonsense\n", ":1: the first line must be")):
        process = replayed(build, None, *arguments, status=2, trace=trace)
        expect(words in process.err.text, process.report())
    missing = harness.run([build.path("perf", "gpuaas-load"), os.devnull + "/x"],
                          build.environment(preload=False), status=2)
    expect("/dev/null/x" in missing.err.text, missing.report())


if __name__ == "__main__":
    harness.main(globals())
