#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bytes of large copies that go compressed: everything is as with plain ones."""

import re

from lib import harness, slow_wire
from lib.harness import expect

PROGRAMS = ("large_copies", "async_d2h", "caller_memory")


def configuration(compression, connections=0):
    return harness.configuration(1, keys=[f"compression = {compression}",
                                          f"bulk_connections = {connections}"])


def compressed(build, server, program, **extra):
    """The trace: ((bytes out, became), (bytes in, came as)), or None."""
    env = build.remote([server], GPUAAS_TRANSPORT="tcp", GPUAAS_TRACE="summary", **extra)
    process = harness.run_passing([build.program(program)], env)
    found = re.search(r"compressed: out (\d+) bytes to (\d+), in (\d+) bytes to (\d+)",
                      process.err.text)
    if found is None:
        return None
    numbers = [int(number) for number in found.groups()]
    return tuple(numbers[:2]), tuple(numbers[2:])


def run_programs(build, connections):
    with harness.serving(build, config=configuration("auto", connections)) as server:
        traces = harness.Traces(server)
        for name in PROGRAMS:
            saved = compressed(build, server, name, GPUAAS_COMPRESSION="always")
            expect(saved is not None, f"{name}: nothing was compressed")
            if name == "large_copies":
                for plain, packed in saved:
                    expect(plain > 1 << 20 and packed < plain * 7 // 8, f"{name}: {saved}")
        traces.expect_none()


def test_programs(build):
    run_programs(build, 1)


def test_over_several_connections(build):
    run_programs(build, 4)


def by_itself(build, delay_ms):
    def check(server):
        saved = compressed(build, server, "large_copies", GPUAAS_COMPRESSION="auto")
        expect(saved is not None, "nothing was compressed")
        for (plain, packed), way in zip(saved, ("to the device", "to the host")):
            print(f"{delay_ms} ms: {plain} bytes {way} became {packed}")
            expect(plain > 1 << 20 and packed < plain * 7 // 8, f"{delay_ms} ms: {saved}")
    slow_wire.run(build, delay_ms, configuration("auto"), check)


def test_where_the_wire_is_slow(build):
    by_itself(build, 0.3)


def test_where_the_wire_is_slow_and_long(build):
    """There are bulk connections then."""
    by_itself(build, 5)


def test_nothing_where_nobody_wants_it(build):
    """On this machine by itself, and where the user or the operator says so."""
    for compression, words in (("auto", "auto"), ("auto", ""), ("auto", "off"), ("off", "always")):
        with harness.serving(build, config=configuration(compression)) as server:
            saved = compressed(build, server, "large_copies", GPUAAS_COMPRESSION=words)
            expect(saved is None, f"{compression}, {words}: {saved}")


def test_a_word_that_is_none(build):
    with harness.serving(build) as server:
        env = build.remote([server], GPUAAS_COMPRESSION="gzip")
        process = harness.run_passing([build.program("hello")], env)
        expect("GPUAAS_COMPRESSION=gzip: it can be" in process.err.text, process.err.text)


if __name__ == "__main__":
    harness.main(globals())
