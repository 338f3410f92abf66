#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sessions without an address window that both ends could have: programs work as ever, with
addresses that the server's driver picks."""

from lib import harness
from lib.harness import expect

PROGRAMS = ("vector_add", "realloc_loop", "pitch_2d", "symbols", "async_d2h", "device_reset",
            "streams_events", "threads_memory", "two_devices", "histogram", "pinned_relay",
            "pointers")


def without_virtual_memory(gpus, only=None):
    """Configuration of `gpus` devices that cannot map memory at given addresses (all, or one)."""
    text = harness.configuration(gpus)
    for number in range(gpus) if only is None else [only]:
        text = text.replace(f"[gpu.{number}]", f"[gpu.{number}]\nvirtual_memory = no")
    return text


def run_traced(build, server, command):
    process = harness.run_passing(command, build.remote([server], GPUAAS_TRACE="summary"))
    return [line for line in process.err.lines if "trace: device" in line]


def test_driver_without_virtual_memory(build):
    with harness.serving(build, config=without_virtual_memory(2)) as server:
        traces = harness.Traces(server)
        for program in PROGRAMS:
            for line in run_traced(build, server, [build.program(program)]):
                expect("unpinned (not migratable)" in line, f"{program}: {line}")
        traces.expect_none()


def test_freeing_keeps_nobody(build):
    """semantics S180: the driver may wait when it frees what it has allocated, the server does
    not."""
    with harness.serving(build, config=without_virtual_memory(2)) as server:
        for what in ("memory", "managed", "array", "context"):
            harness.run_passing([build.program("held_ends"), what], build.remote([server]))


def test_one_device_of_two(build):
    with harness.serving(build, config=without_virtual_memory(2, only=1)) as server:
        lines = run_traced(build, server, [build.program("two_devices")])
        expect(["unpinned" in line for line in lines] == [False, True], f"{lines}")


def test_program_without_room(build):
    """The program has taken every range that the library would propose."""
    guest = build.path("tests", "guests", "guest")
    with harness.serving(build) as server:
        lines = run_traced(build, server, [guest, "session"])
        expect(lines and "unpinned" not in lines[0], f"{lines}")
        where = "low" if build.sanitize == "thread" else "high"
        lines = run_traced(build, server, [guest, "crowded", where])
        expect(lines and "unpinned (not migratable)" in lines[0], f"{lines}")


if __name__ == "__main__":
    harness.main(globals())
