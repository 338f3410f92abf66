#!/usr/bin/env python3
"""Bytes of large copies that go compressed: everything is as with plain ones."""

import re

import harness
from harness import expect

PROGRAMS = ("large_copies", "async_d2h", "caller_memory")


def configuration(compression):
    return harness.configuration(1).replace("[server]\n",
                                            f"[server]\ncompression = {compression}\n", 1)


def compressed(build, server, program, **extra):
    """What the trace says: ((bytes out, became), (bytes in, came as)), or None."""
    env = build.remote([server], GPUAAS_TRANSPORT="tcp", GPUAAS_TRACE="summary", **extra)
    process = harness.run_passing([build.program(program)], env)
    found = re.search(r"compressed: out (\d+) bytes to (\d+), in (\d+) bytes to (\d+)",
                      process.err.text)
    if found is None:
        return None
    numbers = [int(number) for number in found.groups()]
    return tuple(numbers[:2]), tuple(numbers[2:])


def test_programs(build):
    with harness.serving(build, config=configuration("auto")) as server:
        traces = harness.Traces(server)
        for name in PROGRAMS:
            saved = compressed(build, server, name, GPUAAS_COMPRESSION="always")
            expect(saved is not None, f"{name}: nothing was compressed")
            if name == "large_copies":
                for plain, packed in saved:
                    expect(plain > 1 << 20 and packed < plain * 7 // 8, f"{name}: {saved}")
        traces.expect_none()


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
