#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Large copies over several connections, where the operator says so: everything is as with one."""

from lib import harness, slow_wire
from lib.harness import expect

PROGRAMS = ("large_copies", "async_d2h", "caller_memory", "threads_copies")


def configuration(connections):
    return harness.configuration(1, keys=[f"bulk_connections = {connections}"])


def device_line(process):
    lines = [line for line in process.err.lines if "trace: device" in line]
    expect(len(lines) == 1, f"one device is due in the trace: {process.err.text}")
    return lines[0]


def test_programs(build):
    with harness.serving(build, config=configuration(4)) as server:
        traces = harness.Traces(server)
        for name in PROGRAMS:
            env = build.remote([server], GPUAAS_TRANSPORT=harness.TRANSPORT, GPUAAS_TRACE="summary")
            process = harness.run_passing([build.program(name)], env)
            expect("and 4 bulk connections" in device_line(process), f"{name}: {process.err.text}")
        traces.expect_none()


def test_threads_on_a_slow_wire(build):
    """Where sockets are full most of the time; a server reads on only when it has the piece that is
    next. Another thread's wait may read managed memory that a copy is about to write, and reads it
    again when the copy is over: ThreadSanitizer sees the first of it."""
    managed = [] if build.sanitize == "thread" else ["managed"]

    def check(server):
        env = build.remote([server], GPUAAS_TRANSPORT=harness.TRANSPORT, GPUAAS_TRACE="summary")
        process = harness.run_passing([build.program("threads_copies"), *managed], env)
        expect("and 4 bulk connections" in device_line(process), process.err.text)
    slow_wire.run(build, 5, configuration(4), check)


def test_none_where_nobody_needs_them(build):
    """On this machine by itself, through shared memory in any case, and without large copies."""
    wire = {"GPUAAS_TRANSPORT": harness.TRANSPORT}
    for connections, program, extra in ((0, "large_copies", wire),
                                        (1, "large_copies", wire),
                                        (4, "large_copies", {"GPUAAS_TRANSPORT": "auto"}),
                                        (4, "hello", wire)):
        with harness.serving(build, config=configuration(connections)) as server:
            env = build.remote([server], GPUAAS_TRACE="summary", **extra)
            line = device_line(harness.run_passing([build.program(program)], env))
            expect("bulk connections" not in line, f"{connections}, {program}: {line}")


if __name__ == "__main__":
    harness.main(globals())
