# SPDX-License-Identifier: Apache-2.0
"""Encrypted copies and calls. The floor of a copy follows from its two steps: each end encrypts or
decrypts, and then moves the bytes through a socket: 1 / (1/AES + 1/TCP), both measured in the same
turn."""

import functools
import statistics
import time

import facts
import figures
from figures import ANSWER, COPY_OUT, KB, MB, RING, Figure, microseconds, per_second
from lib import harness

RECORD = 16 * KB


def serve(rig, lines=(), program=None):
    cert, key = harness.certificate("127.0.0.1")
    return rig.server([f"tls_cert = {cert}", f"tls_key = {key}", *lines], program=program,
                      scheme="tls")


def loops_of(rig, server):
    return rig.loops(rig.build.remote([server], GPUAAS_TRANSPORT="tls",
                                      GPUAAS_CA=harness.authority().ca))


@functools.cache
def loops(rig):
    return loops_of(rig, serve(rig))


@functools.cache
def cipher(rig):
    return rig.speaker([rig.build.path("perf", "perf_aes"), str(rig.client_core)])


def aes(bench):
    """GB/s"""
    count = bench.count(20000)
    return count * RECORD / cipher(bench.rig).ask(count)["ns"]


def wait_turn(bench):
    return {"floor": figures.ping_pong(bench),
            "ours": microseconds(loops(bench.rig).ask("wait", bench.count(2000)))}


def copy_turn(name, size, count, kind):
    def turn(bench):
        number = bench.count(count)
        if name == "in":
            tcp = bench.exchange(number * size, size, RING, ANSWER, 64 * KB, 1)
        else:
            tcp = bench.exchange(COPY_OUT, 64 * KB, RING, size, size, number)
        plain = per_second(tcp, number * size, 1e9)
        crypt = aes(bench)
        ours = loops(bench.rig).ask(name, number, size, kind)
        return {"floor": 1 / (1 / crypt + 1 / plain),
                "ours": per_second(ours, number * size, 1e9), "AES": crypt, "TCP": plain}
    return turn


def all_figures():
    found = [Figure("tls_wait", "tls: waiting call", "us", True, wait_turn)]
    for size, label, count in ((MB, "1 MiB", 64), (64 * MB, "64 MiB", 3)):
        for way, kind in (("in", "pageable"), ("in", "pinned"), ("out", "pageable"),
                          ("out", "pinned")):
            found.append(Figure(f"tls_{way}_{label.split()[0]}m_{kind}",
                                f"tls: {way}, {label}, {kind}", "GB/s", False,
                                copy_turn(way, size, count, kind), 0.75))
    return found


def first_calls(bench_rig, floor, scale):
    """As facts.first_calls, with certificates on the way to gpuaasd and a ticket behind it."""
    rtt_ns = floor.ask(32, 0, 65536, MB, 32, 65536, max(10, round(2000 * scale)),
                       "block")["p50_ns"]
    server = serve(bench_rig)
    times = []
    for _ in range(max(2, round(10 * scale))):
        opened = loops_of(bench_rig, server)
        times.append(opened.opened["first_ns"] / 1e6)
        opened.end()
        time.sleep(0.3)  # the next spare is being started
    yield facts.Fact("first_call_tls", "first call over tls, spare backend process", "ms",
                     statistics.median(times), 6 * rtt_ns / 1e6 + 10,
                     f"{min(times):.1f}..{max(times):.1f} ms; a round trip is "
                     f"{rtt_ns / 1e3:.0f} us")


def mallocs(bench_rig, _floor, scale):
    yield from facts.mallocs_over("tls", bench_rig, scale, functools.partial(serve, bench_rig),
                                  functools.partial(loops_of, bench_rig))


FACTS = {"first_call_tls": first_calls, "mallocs_tls": mallocs}
