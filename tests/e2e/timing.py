#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Devices that take time: events measure the times of the timing model, for copies, kernels and
concurrent work, directly and through a server. Work is gated, so the load of the machine changes
nothing (unless a gate is too short: hence the bounds)."""

from lib import harness
from lib.harness import expect

KERNEL = 100.0  # ms
COPY = 0.010 + (16 << 20) / (8000e6 * 0.78) * 1e3
LAUNCH = 0.003
# Each byte is read and written.
WITHIN = 2 * (16 << 20) / (144e9 * 0.85) * 1e3
# Two arrays read, one written
ADD = LAUNCH + 3 * (16 << 20) / (144e9 * 0.85) * 1e3

DEVICE = {"model": "c2050", "memory": "256MiB", "context_time": "1ms", "timing": "yes"}
ESTIMATED = {**DEVICE, "execute": "no", "kernel_time": "100ms"}


def measured(program):
    lines = dict(line.split(" ", 1) for line in program.out.lines[:-1])
    return {key: float(value) for key, value in lines.items() if key != "name"}, lines["name"]


def near(got, name, want):
    expect(0.9 * want <= got[name] <= 1.1 * want + 0.05,
           f"{name}: {got[name]} ms, {want:.4f} ms by the model; all: {got}")


def as_text(keys):
    return ",".join(f"{key}={value}" for key, value in keys.items())


def directly(build, keys, *arguments):
    return harness.run_passing([build.program("takes_time"), *arguments],
                               build.local(as_text(keys)))


def through_server(build, keys, *arguments):
    config = "[server]\nlisten = tcp://127.0.0.1:0\ndata_ports = 0\n[gpu.0]\ndriver = soft\n"
    config += "".join(f"{key} = {value}\n" for key, value in keys.items())
    with harness.serving(build, config=config) as server:
        program = harness.run_passing([build.program("takes_time"), *arguments],
                                      build.remote([server]))
        return program, server.err.text


def check_estimated(program):
    got, name = measured(program)
    expect("(kernels not executed)" in name, f"the name is {name}")
    near(got, "small", KERNEL)
    near(got, "small_small", KERNEL)
    near(got, "large_large", 2 * KERNEL)
    return got


def test_kernels_of_a_given_time(build):
    program = directly(build, ESTIMATED, "kernels")
    got = check_estimated(program)
    near(got, "up", COPY)
    near(got, "up_down", COPY)
    near(got, "large_up", KERNEL)
    expect("KERNELS ARE NOT RUN" in program.err.text, "nothing says so on stderr")


def check_graphs(program):
    got, _ = measured(program)
    near(got, "small_small", KERNEL)
    near(got, "small_then_small", 2 * KERNEL)
    near(got, "large_large", 2 * KERNEL)
    near(got, "small_then_within", KERNEL + WITHIN)
    near(got, "three_times", 3 * KERNEL)
    return got


def test_graphs_take_what_their_nodes_take(build):
    got = check_graphs(directly(build, ESTIMATED, "graphs"))
    near(got, "large_up", KERNEL)
    near(got, "small_then_up", KERNEL + COPY)


def test_graphs_through_a_server(build):
    program, _ = through_server(build, ESTIMATED, "graphs")
    check_graphs(program)


# Copies take what the network takes besides.
def test_kernels_through_a_server(build):
    program, log = through_server(build, ESTIMATED, "kernels")
    check_estimated(program)
    expect("KERNELS ARE NOT RUN" in log, "nothing says so in the log")


def test_one_engine_for_copies_and_kernels_in_turn(build):
    keys = {**ESTIMATED, "copy_engines": "1", "concurrent_kernels": "no",
            "h2d_bandwidth_mbs": "4000"}
    got, _ = measured(directly(build, keys, "kernels"))
    up = 2 * (COPY - 0.010) + 0.010
    near(got, "up", up)
    near(got, "up_down", up + COPY)
    near(got, "small_small", 2 * KERNEL)
    near(got, "large_up", KERNEL)


def test_kernels_take_what_they_execute(build):
    got, name = measured(directly(build, DEVICE, "adds"))
    expect("not executed" not in name, f"the name is {name}")
    near(got, "add", ADD)
    near(got, "up", COPY)


def test_processes_take_turns_on_one_device(build):
    env = build.local(as_text(ESTIMATED))
    command = [build.program("takes_time"), "busy"]
    with harness.running(command, env) as one, harness.running(command, env) as other:
        expect(one.wait(60) == 0 and other.wait(60) == 0, one.report() + other.report())
        times = [measured(program)[0] for program in (one, other)]
    span = max(t["end"] for t in times) - min(t["begin"] for t in times)
    expect(span >= 20 * KERNEL, f"ten kernels of each process took {span:.1f} ms together")


# How processes share it then is in timed.py.
def test_a_device_with_slices_takes_the_same_for_one_process(build):
    check_estimated(directly(build, {**ESTIMATED, "context_slice": "1ms"}, "kernels"))


def test_a_run_that_is_executed_too_late_is_void(build):
    keys = {**DEVICE, "model": "h200", "clock_mhz": "10000"}
    program = directly(build, keys, "adds")
    expect("VOID" in program.err.text, f"it took longer, and says nothing: {program.err.text}")


def test_without_the_model_nothing_takes_time(build):
    keys = {"model": "c2050", "memory": "256MiB", "h2d_bandwidth_mbs": "1"}
    program = directly(build, keys, "adds")
    expect("timing" not in program.err.text, program.err.text)


if __name__ == "__main__":
    harness.main(globals())
