#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CUDA programs whose data goes by RDMA: right results without any configuration, TCP if RDMA is
impossible, and a documented error when it breaks. Runs on a machine with a card (vm.sh);
GPUAAS_TEST_RDMA is its address."""

import contextlib
import os
import re
import signal
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
sys.path.insert(0, os.path.join(HERE, "..", "faults"))
import check  # noqa: E402
import frames  # noqa: E402
from frames import DATA  # noqa: E402
from lib import harness  # noqa: E402
from lib.harness import HOST, expect  # noqa: E402
from points import Fuse  # noqa: E402

PROGRAMS = ("vector_add", "streams_events", "threads_memory")
# A command behind these words can lock 64 KiB of memory, root or not.
LIMITED = ("setpriv", "--bounding-set", "-ipc_lock", "prlimit", "--memlock=65536:65536")


def serving(build, **options):
    return harness.serving(build, config=configuration(), **options)


def configuration(*lines):
    return harness.configuration(1, keys=lines)


def traced(build, server, program="vector_add", prefix=(), **extra):
    """The transport that a program says it has used, and what it said besides."""
    env = build.remote([server], GPUAAS_TRACE="summary", **extra)
    process = harness.run_passing([*prefix, build.program(program)], env)
    lines = [line for line in process.err.lines if "trace: device" in line]
    expect(len(lines) == 1, f"one device is due in the trace: {process.err.text}")
    return re.search(r"over (\w+)", lines[0]).group(1), process.err.text


def test_programs(build):
    with serving(build) as server:
        traces = harness.Traces(server)
        for program in PROGRAMS:
            transport, text = traced(build, server, program)
            expect(transport == "rdma" and "warn" not in text, f"{program}: {text}")
            print(f"{program}: over {transport}", flush=True)
        traces.expect_none()


def calls(text, name):
    """How often a program has made a call, by its trace."""
    found = re.findall(rf"trace: +(\d+) {name}$", text, re.M)
    return int(found[0]) if found else 0


def test_copies(build):
    """Pinned, registered and other memory, to two servers at once: no bytes go with the calls, but
    for those of copies that come before memory is known there."""
    with serving(build) as one, serving(build) as other:
        env = build.remote([one, other], GPUAAS_TRACE="summary")
        process = harness.run_passing([build.program("registered_copies")], env)
        text = process.err.text
        counts = {name: calls(text, f"ga_{name}")
                  for name in ("shared_buffer_in", "shared_buffer_out", "shared_buffer_reach",
                               "copy_in", "copy_out")}
        print(f"registered_copies: {counts}", flush=True)
        expect(text.count("over rdma") == 2 and "warn" not in text, text)
        for way in ("in", "out"):
            expect(counts[f"shared_buffer_{way}"] > 2 * counts[f"copy_{way}"], f"{way}: {text}")
        expect(counts["shared_buffer_reach"] > 20, text)
        for server in (one, other):
            expect("warn: " not in server.err.text.split("\n", 1)[1], server.report())


def test_copies_that_wait(build):
    """semantics S130: of memory that the card reaches, behind a stream that stands still"""
    with serving(build) as server:
        env = build.remote([server], GPUAAS_TRACE="summary")
        for what in ("to_device", "to_host"):
            process = harness.run_passing([build.program("overflow"), what, "32"], env)
            text = process.err.text
            expect("over rdma" in text and "warn" not in text, text)
            counts = [calls(text, f"ga_{name}")
                      for name in ("shared_buffer_in", "shared_buffer_out", "copy_in", "copy_out")]
            print(f"overflow {what}: {counts}", flush=True)
            expect(counts[0] >= 2 and counts[1] >= 1 and counts[3] == 0, text)


def test_cancelled_threads(build):
    """semantics S124, for what libibverbs asks of the kernel."""
    with serving(build) as server:
        env = build.remote([server], GPUAAS_TRANSPORT="rdma")
        for mode in ("pending", "cancel"):
            harness.run_passing([build.path("tests", "guests", "guest"), mode], env)


def test_by_itself_and_by_name(build):
    with harness.serving(build, config=configuration("shm = no")) as server:
        transport, text = traced(build, server, GPUAAS_TRANSPORT="auto")
        expect(transport == "rdma", f"auto: {text}")
        server.address = f"rdma://{server.address}"
        transport, text = traced(build, server, GPUAAS_TRANSPORT="auto")
        expect(transport == "rdma", f"by name: {text}")
        transport, text = traced(build, server, GPUAAS_TRANSPORT="tcp")
        expect(transport == "tcp", f"tcp: {text}")


def test_tcp_when_it_cannot_be(build):
    with harness.serving(build, config=configuration("rdma = no")) as server:
        transport, text = traced(build, server)
        expect(transport == "tcp" and "the server offers none" in text, text)
    config = configuration().replace(HOST, "127.0.0.1")
    with harness.serving(build, config=config) as server:
        transport, text = traced(build, server)
        expect(transport == "tcp" and "has the address ::ffff:127.0.0.1" in text, text)


def test_memory_that_cannot_be_registered(build):
    """At either end: the data goes over TCP, and the end that could not says why. Where the
    connection's own memory can be registered, but none besides, data goes with the calls."""
    enough = f"--memlock={1152 << 10}:{1152 << 10}"
    with serving(build) as server:
        transport, text = traced(build, server, prefix=LIMITED)
        expect(transport == "tcp" and "ulimit -l" in text, text)
        transport, text = traced(build, server, "pinned_relay", prefix=(*LIMITED[:-1], enough))
        expect(transport == "rdma", text)
        expect_with_calls(text, text)
    with serving(build, prefix=LIMITED) as server:
        transport, text = traced(build, server)
        expect(transport == "tcp" and "it says why" in text, text)
        expect("ulimit -l" in server.err.text, server.report())
    with serving(build, prefix=(*LIMITED[:-1], enough)) as server:
        transport, text = traced(build, server, "pinned_relay")
        expect(transport == "rdma", text)
        expect_with_calls(text, server.err.text)


def expect_with_calls(text, said):
    expect("cannot be registered" in said and "ulimit -l" in said, said)
    expect(calls(text, "ga_shared_buffer_in") == 0 and calls(text, "ga_copy_in") > 0, text)


# ---- what breaks while a program runs, with a neighbour on the same server that computes

STREAM, COPIES = ("steps", "0"), ("endless", "copy")
DIES = ("rdma: memory is fetched", "rdma: bytes are stored")
# The end whose queue pair fails, beneath which program, with what and at which time.
FAILS = [("client", STREAM, "rdma: bytes are sent", 30),
         ("client", COPIES, "rdma: memory is shared", 1),
         ("client", STREAM, "rdma: bytes have been read", 2),
         ("server", COPIES, "rdma: memory is fetched", 40),
         ("server", COPIES, "rdma: bytes are stored", 40),
         ("server", STREAM, "rdma: bytes are sent", 30),
         ("server", STREAM, "rdma: bytes have been read", 2)]


@contextlib.contextmanager
def beside_a_neighbour(build):
    """A server, what checks that nothing is left there, and the fuse of the backend processes that
    start from now on."""
    with Fuse() as fuse, harness.serving(build, config=check.without_spares(1),
                                         extra=fuse.env) as server:
        with frames.neighbour(build, server):
            yield server, check.Checker(build, server, clients=1), fuse
        transport, text = traced(build, server)
        expect(transport == "rdma", text)


def expect_719(build, server, command, break_it=None, **env):
    command = [build.program(command[0]), *command[1:]]
    with harness.running(command, build.remote([server], **env)) as program:
        if break_it is not None:
            program.wait_for_line("started", 60)
            break_it(program)
        program.wait(check.VICTIM_SECONDS)
        expect("error 719" in program.out.text, program.report())
        bad = check.complaints(program.report())
        expect(not bad, f"{bad}\n{program.report()}")


def test_either_end_dies_with_data_in_flight(build):
    with beside_a_neighbour(build) as (server, checker, _):
        neighbour, = server.backends()
        killed = []

        def kill_backend(_):
            killed.extend(set(server.backends()) - {neighbour})
            os.kill(killed[0], signal.SIGKILL)
        expect_719(build, server, COPIES, kill_backend)
        checker.check(killed=killed, serve=False)
        with harness.running([build.program(COPIES[0]), COPIES[1]],
                             build.remote([server])) as program:
            program.wait_for_line("started", 60)
            program.kill()
            program.wait(10)
        checker.check(killed=killed, serve=False)


def without_failpoints(build):
    if build.sanitize == "none":
        print("skipped: this build has no failpoints, and no transport that breaks others")
    return build.sanitize == "none"


def test_backend_dies_while_it_moves_bytes(build):
    if without_failpoints(build):
        return
    with beside_a_neighbour(build) as (server, checker, fuse):
        for point in DIES:
            fuse.arm(point, "kill", 40)
            with check.explained(point):
                expect_719(build, server, COPIES)
                expect(fuse.disarm(), "nobody came there")
                checker.check(killed=check.ANY, serve=False)


def test_queue_pairs_that_fail(build):
    """The card meets an error of its own: who uses it or the other end notices, both let go."""
    if without_failpoints(build):
        return
    with beside_a_neighbour(build) as (server, checker, of_server), Fuse() as of_client:
        for end, command, point, count in FAILS:
            fuse = of_client if end == "client" else of_server
            fuse.arm(point, "fail", count)
            with check.explained(f"{end}, {point}"):
                expect_719(build, server, command, **of_client.env)
                expect(fuse.disarm(), "nobody came there")
                checker.check(serve=False)


def test_resets(build):
    """As in broken.py, with the bytes of copies beside the connection."""
    if without_failpoints(build):
        return
    with serving(build) as server:
        checker = check.Checker(build, server)
        for faults in (f"on={DATA}&reset_out=300000", f"on={DATA}&reset_in=300000"):
            program = check.start_steps(build, [server], GPUAAS_TEST_FAULT=faults)
            try:
                error = check.victim_result(program)
                expect(error == 719, f"{faults}: {error} instead of 719\n{program.report()}")
            finally:
                program.end()
        checker.check_clean()


if __name__ == "__main__":
    harness.main(globals())
