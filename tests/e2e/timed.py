#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Timed kernels take what their parameters say, directly and through a server, alone, beside each
other and in graphs; parameters that make no sense are refused. The work waits until all of it has
been submitted, and events measure it by the model, so the load of the machine changes nothing."""

from lib import harness
from lib.harness import expect

LAUNCH = 0.003  # ms
DEVICE = {"model": "c2050", "memory": "256MiB", "context_time": "1ms", "timing": "yes",
          "execute": "no"}
# The second of two that take three quarters has a quarter for 50 ms, which is a third of its work.
EXPECTED = {"nothing_beside": 50, "whole_whole": 100, "half_half": 50, "bandwidth": 100,
            "most_most": 50 + 50 * 2 / 3, "busy_busy": 50 + 50 * 2 / 3, "graph": 100}


def local(build, keys):
    return build.local(",".join(f"{key}={value}" for key, value in keys.items()))


def directly(build, way):
    return harness.run_passing([build.program("timed"), way], local(build, DEVICE))


def through_server(build, way):
    config = "[server]\nlisten = tcp://127.0.0.1:0\ndata_ports = 0\n[gpu.0]\ndriver = soft\n"
    config += "".join(f"{key} = {value}\n" for key, value in DEVICE.items())
    with harness.serving(build, config=config) as server:
        return harness.run_passing([build.program("timed"), way], build.remote([server]))


def check(program, times=1, under=0, over=3 * LAUNCH):
    got = dict(line.split(" ", 1) for line in program.out.lines[:-1])
    expect(got.keys() == EXPECTED.keys(), f"it says {got}")
    for name, want in EXPECTED.items():
        expect(-under <= float(got[name]) - times * want <= over,
               f"{name}: {got[name]} ms, {times} times {want} ms by the model; all: {got}")


def test_they_take_what_their_parameters_say(build):
    check(directly(build, "model"))


def test_through_a_server(build):
    check(through_server(build, "model"))


# Beside a kernel of another process that fills the device for a minute; when that process has been
# killed, there is nothing beside any more. With slices work also begins late when this machine is
# late: hence the upper bounds. Without slices the first one would wait for that minute.
def test_processes_share_a_device_by_slices(build):
    env = local(build, {**DEVICE, "context_slice": "1ms", "switch_time": "none"})
    command = [build.program("timed"), "model"]
    with harness.running([build.program("timed"), "minute"], env) as other:
        other.wait_for_line("started", 60)
        check(harness.run_passing(command, env), times=2, under=2, over=2000)
        expect(other.running(), other.report())
    check(harness.run_passing(command, env), over=2000)


def refused(program):
    for words in ("shares of places, issue and bandwidth are 0 to 1", "at most 3600 s"):
        expect(words in program.err.text, f"nothing says {words}: {program.err.text}")


def test_wrong_parameters_are_refused(build):
    refused(directly(build, "refused"))


def test_wrong_parameters_are_refused_by_a_server(build):
    refused(through_server(build, "refused"))


if __name__ == "__main__":
    harness.main(globals())
