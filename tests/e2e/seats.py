#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Several applications in one backend process, side by side: each gets the right results, and what
its kernels print, as if it were alone."""

import contextlib

from lib import harness
from lib.harness import expect

SEATS = 8
# Each leaves its mark on what the others might share: streams and their order, limits, output,
# functions of the program, memory of every kind, graphs, textures. (Not with others: programs that
# fault, and those that measure or use up the free memory.)
TOGETHER = [
    ["default_streams", "host_functions", "device_printf", "graph_conditional", "textures",
     "graph_nodes", "managed", "streams_events"],
    ["device_printf", "contexts", "device_heap", "reuse", "stream_values",
     "graph_branches", "pinned_copies", "surfaces"],
    ["graph_threads", "peer_access", "pinned_relay", "symbols", "graph_memory", "libraries",
     "poll_events", "threads_copies"],
]


@contextlib.contextmanager
def one_process(build, extra=None):
    with harness.serving(build, keys=["spare_backends = 0"],
                         extra={"GPUAAS_TEST_SEATS": str(SEATS), **(extra or {})}) as server:
        yield server


def outputs_alone(build, names):
    """The output of each on the software GPU itself."""
    env = build.local("memory=1GiB;memory=2GiB")
    return {name: harness.run_passing([build.program(name)], env).out.text for name in set(names)}


def together(build, names):
    with one_process(build) as server, contextlib.ExitStack() as stack:
        programs = [stack.enter_context(harness.running([build.program(name)],
                                                        build.remote([server])))
                    for name in names]
        most = 0
        while any(program.running() for program in programs):
            most = max(most, len(server.backends()))
        for name, program in zip(names, programs):
            expect(program.wait(harness.PROGRAM_SECONDS) == 0, f"{name}\n{program.report()}")
            expect(program.out.lines[-1] == "PASSED", f"{name}\n{program.report()}")
        expect(most == 1, f"one backend process serves all, not {most}")
        return programs


def test_streams_graphs_and_output(build):
    together(build, TOGETHER[0])


def test_contexts_memory_and_values(build):
    together(build, TOGETHER[1])


def test_resets_and_devices(build):
    together(build, TOGETHER[2])


def test_each_gets_its_own_output(build):
    """One program eight times: no line more or less than alone."""
    alone = outputs_alone(build, ["device_printf"])["device_printf"].splitlines()
    for program in together(build, ["device_printf"] * SEATS):
        expect(sorted(program.out.lines) == sorted(alone),
               f"{program} prints something else than alone:\n{program.report()}")


@contextlib.contextmanager
def two(build, server, what):
    """One that does `what` for ever, and an idle one, in one process."""
    with harness.running([build.program("endless"), what], build.remote([server])) as victim:
        victim.wait_for_line("started", 60)
        with harness.running([build.program("endless"), "idle"], build.remote([server])) as other:
            other.wait_for_line("started", 60)
            expect(len(server.backends()) == 1, "both are in one process")
            yield victim, other


def test_one_is_killed(build):
    """The others go on, and its seat is free again."""
    with one_process(build) as server:
        with two(build, server, "copy") as (victim, other):
            backends = server.backends()
            for _ in range(3):
                victim.kill()
                victim.wait(10)
                harness.run_passing([build.program("vector_add")], build.remote([server]))
                expect(server.backends() == backends, "the process serves on")
            expect(other.running(), f"the other one has ended\n{other.report()}")


def test_one_is_killed_in_the_end_of_a_context(build):
    """Its thread in the server waits there, and what it waits for comes when it waits no more."""
    stacks = ":".join(["detect_leaks=0", "verify_asan_link_order=0",
                       "detect_stack_use_after_return=1"])
    with one_process(build, {"ASAN_OPTIONS": stacks}) as server:
        with two(build, server, "destroy_function") as (victim, other):
            backends = server.backends()
            victim.kill()
            victim.wait(10)
            harness.run_passing([build.program("vector_add")], build.remote([server]))
            expect(server.backends() == backends, f"the process serves on\n{server.report()}")
            expect(other.running(), f"the other one has ended\n{other.report()}")


def cannot_be_ended(build, what):
    with one_process(build) as server:
        with two(build, server, what) as (victim, other):
            victim.kill()
            victim.wait(10)
            server.wait_for_line("an application could not be ended", 30, server.err)
            expect("has not ended the application in time" not in server.err.text,
                   f"the process notices by itself\n{server.report()}")
            other.wait_for_line("is lost", 30, other.err)
        harness.run_passing([build.program("vector_add")], build.remote([server]))


def test_one_cannot_be_ended(build):
    """A kernel without end condemns the process, which says so; the next one is served."""
    cannot_be_ended(build, "kernel")


def test_one_cannot_be_ended_that_waits(build):
    """An application ends while its thread in the server waits: for the end of a context, and for
    room."""
    for what in ("destroy", "copies"):
        cannot_be_ended(build, what)


if __name__ == "__main__":
    harness.main(globals())
