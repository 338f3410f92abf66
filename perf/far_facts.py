# SPDX-License-Identifier: Apache-2.0
"""Waiting times of a program whose server is far away: on a link of 1, 10 and 30 ms each way
(far.py), next to the time of plain sockets for the same bytes on the same link. And very many
clients."""

import contextlib
import os
import sys
import time

import far
import rig
from facts import MB, Fact, resident

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "tests", "faults"))
import crowd  # noqa: E402  (found by the line above)

DELAYS_MS = (1, 10, 30)
LAUNCHES, COPIES, COPY_BYTES = 100, 200000, 8
COPY_WIRE_BYTES = 64  # header, values, and the bytes, padded
WIRE_LOW_BYTES = 32
CLIENTS = 10000
IDLE_SECONDS = 5


@contextlib.contextmanager
def wire(bench_rig, delay_ms, null=True):
    """(programs with a server over such a wire, plain sockets over it)"""
    build = bench_rig.build
    config = ["[server]", f"listen = tcp://{far.FAR}:0", "data_ports = 0", "[gpu.0]",
              "driver = soft"]
    config = "\n".join(config + [f"driver_path = {bench_rig.null_library()}"] * null) + "\n"
    with contextlib.ExitStack() as stack:
        link = stack.enter_context(contextlib.closing(
            far.Link(build.path("perf", "perf_link"), delay_ms)))
        with link.far(), bench_rig.starting_server():
            server = rig.harness.Server(build, config=config)
        stack.callback(server.folder.cleanup)
        stack.callback(server.end)
        server.wait_ready()
        server.wait_spares()
        with link.near():
            loops = bench_rig.loops_remote(server)
            floor = rig.Speaker([build.path("perf", "perf_floor"), str(bench_rig.client_core),
                                 str(bench_rig.server_core),
                                 f"/proc/{link.process.pid}/ns/net", far.FAR])
        stack.callback(floor.end)
        stack.callback(loops.end)
        yield loops, floor


def ms(answer):
    return answer["ns"] / 1e6


def far_fact(delay_ms, key, title, ours, bound, note):
    return Fact(f"far_{key}_{delay_ms}ms", f"{2 * delay_ms} ms of round trip: {title}", "ms", ours,
                bound, note)


def steps(delay_ms, loops, floor, turns):
    """The least of some turns, ours and the floor in turn: what disturbs only adds."""
    rtt = 2 * delay_ms
    yield far_fact(delay_ms, "first", "first call", loops.opened["first_ns"] / 1e6,
                   5 * rtt + 5, "four round trips to a context, and one to ask in it")

    def least(ours, theirs):
        pairs = [(ms(loops.ask(*ours)), ms(floor.ask(*theirs))) for _ in range(turns)]
        return [min(column) for column in zip(*pairs)]

    got, plain = least(("launch_wait", 1, LAUNCHES), (LAUNCHES * 112 + 32, 0, MB, MB, 32, 65536, 1,
                                                      "block"))
    yield far_fact(delay_ms, "launches", f"{LAUNCHES} launches and wait", got, plain * 1.1 + 1,
                   f"plain sockets {plain:.1f} ms")
    got, plain = least(("in", COPIES, COPY_BYTES, "pageable"),
                       (COPIES * COPY_WIRE_BYTES, 0, MB, MB, WIRE_LOW_BYTES, 65536, 1, "block"))
    transfer = max(plain - rtt, 0)
    yield far_fact(delay_ms, "copies", f"{COPIES} copies of {COPY_BYTES} B, and wait", got,
                   rtt + 1.2 * transfer, f"plain sockets {plain:.1f} ms")
    for way, up, down in (("in", 64 * MB, WIRE_LOW_BYTES), ("out", WIRE_LOW_BYTES, 64 * MB)):
        got, plain = least((way, 1, 64 * MB, "pageable"), (up, 0, 64 * MB, MB, down, 64 * MB, 1,
                                                           "block"))
        yield far_fact(delay_ms, f"{way}_64m", f"{way}, 64 MiB", got,
                       plain / (0.86 if way == "in" else 0.78), f"plain sockets {plain:.1f} ms")


def computing(delay_ms, loops, here, turns):
    """Launches of kernels that compute, next to their time where no wire is."""
    rtt = 2 * delay_ms
    asked = ("work_wait", 1, LAUNCHES)
    pairs = [(ms(loops.ask(*asked)), ms(here.ask(*asked))) for _ in range(turns)]
    got, compute = [min(column) for column in zip(*pairs)]
    yield far_fact(delay_ms, "compute", f"{LAUNCHES} kernels and wait", got,
                   rtt + 1.1 * compute + 1, f"without a wire, on this core: {compute:.2f} ms")


def far_away(bench_rig, _floor, scale):
    turns = max(2, round(5 * scale))
    for delay_ms in DELAYS_MS if scale >= 0.1 else DELAYS_MS[:1]:
        try:
            with wire(bench_rig, delay_ms) as (loops, floor):
                yield from steps(delay_ms, loops, floor, turns)
            with wire(bench_rig, delay_ms, null=False) as (loops, _):
                yield from computing(delay_ms, loops, bench_rig.loops_local("softgpu"), turns)
        except OSError as error:
            yield Fact("far", "a server far away", "ms", None, note=f"no such wire here: {error}")
            return


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def many_clients(bench_rig, _floor, scale):
    """Control connections of programs that do nothing, begun all at once."""
    count = crowd.allow_descriptors(max(20, round(CLIENTS * min(scale, 1))))
    server = bench_rig.server([f"clients = {count + 10}", "handshake_timeout_s = 120"], null=False)
    server.wait_spares()
    before = resident(server.pid)[0]
    begin = time.monotonic()
    with contextlib.closing(crowd.Crowd(server.address, count)) as clients:
        welcomed = clients.greet(60)
        seconds = time.monotonic() - begin
        if welcomed != count:
            raise rig.Failure(f"{welcomed} of {count} clients are greeted")
        each = (resident(server.pid)[0] - before) / count
        used = cpu_seconds(server.pid)
        time.sleep(IDLE_SECONDS)
        used = cpu_seconds(server.pid) - used
    yield Fact("clients_memory", f"gpuaasd, each of {count} clients", "KB", each / 1e3, 16,
               f"all greeted {seconds:.1f} s after the first one began")
    yield Fact("clients_idle", f"gpuaasd with {count} idle clients", "% of a core",
               100 * used / IDLE_SECONDS, 1)


ALL = {"far": far_away, "clients": many_clients}
