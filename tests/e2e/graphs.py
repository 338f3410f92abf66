#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Messages of graphs: none while a stream captures, one for a launch of a thousand kernels, and a
few for a changed node."""

import re

from lib import harness
from lib.harness import expect

LAUNCHES = 10


def between(lines, first, last):
    """The calls that travel between two marks."""
    text = "\n".join(lines)
    part = text.split(f"mark {first}\n", 1)[1].split(f"mark {last}\n", 1)[0]
    return re.findall(r" call: (\w+)", part), part.count(" wait: ")


def test_messages_of_a_graph(build):
    """semantics S85, S87"""
    with harness.serving(build) as server:
        process = harness.run_passing([build.program("graph_messages")],
                                      build.remote([server], GPUAAS_TRACE="calls"))
    lines = process.err.lines
    expect(between(lines, "capture", "captured") == ([], 0), "capturing sends nothing")
    expect(between(lines, "launch", "launched") == (["ga_graph_launch"] * LAUNCHES, 0),
           "a launch is one message")
    calls, waits = between(lines, "change", "changed")
    expect(calls.count("ga_launch") == 1 and "ga_graph_set" in calls and waits == 0,
           f"a changed node travels alone: {calls}, {waits} waits")
    expect(between(lines, "again", "done") == (["ga_graph_launch"] * LAUNCHES, 0),
           "memory that a graph allocates stays from launch to launch")


def test_conditions_are_given_back(build):
    """Each when the next one is made, however many a graph had: the last graph has one."""
    with harness.serving(build) as server:
        process = harness.run_passing([build.program("graph_conditional")],
                                      build.remote([server], GPUAAS_TRACE="summary"))
    made, dropped = (int(re.search(rf" (\d+) {call}\b", process.err.text)[1])
                     for call in ("ga_graph_condition", "ga_graph_condition_drop"))
    expect(made > 2 and dropped == made - 1, f"{dropped} of {made} are given back")


if __name__ == "__main__":
    harness.main(globals())
