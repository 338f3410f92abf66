# SPDX-License-Identifier: Apache-2.0
"""The figures that have a physical floor. Each is measured in turns with its floor, so that a busy
moment of the machine meets both; a ratio is that of one turn."""

import functools
import statistics
from dataclasses import dataclass, field

import delay

KB, MB = 1 << 10, 1 << 20
RING = MB  # of the server's staging memory, as long as it stays in the cache

# Bytes of the calls on the wire, header and padding included.
SYNCHRONIZE, ANSWER, LAUNCH, RECORD, FILL, COPY_OUT = 32, 32, 112, 32, 48, 48
QUESTION, INFORMATION = 16, 48
COPY_IN = 48  # without what is copied


@dataclass
class Figure:
    """`measure` gives {"ours": value, "floor": value, other columns: value} for one turn."""
    key: str
    title: str
    unit: str
    lower: bool  # is less better?
    measure: object
    target: float = None  # of the ratio; or of the value itself, when `absolute`
    absolute: bool = False
    turns: list = field(default_factory=list)

    def turn(self, bench):
        self.turns.append(self.measure(bench))

    def values(self, column):
        return [turn[column] for turn in self.turns if turn.get(column) is not None]

    def median(self, column):
        values = self.values(column)
        return statistics.median(values) if values else None

    def ratios(self):
        return [turn["ours"] / turn["floor"] for turn in self.turns]

    def reached(self):
        """None: there is no target."""
        if self.target is None:
            return None
        value = self.median("ours") if self.absolute else statistics.median(self.ratios())
        return value <= self.target if self.lower else value >= self.target


class Bench:
    """The programs of one run, started when they are needed, and how much of everything is done in
    one turn."""

    def __init__(self, rig, floor, turns, scale):
        self.rig, self.floor, self.turns, self.scale = rig, floor, turns, scale
        self.kernels = functools.lru_cache(rig.kernels)  # by the number of cores

    @functools.cached_property
    def remote(self):
        return self.rig.loops_remote(self.rig.server())

    @functools.cached_property
    def remote_shm(self):
        return self.rig.loops_remote(self.rig.server(), "auto")

    @functools.cached_property
    def narrow(self):
        return Narrow(self)

    @functools.cached_property
    def soft(self):
        return self.rig.loops_local("softgpu")

    @functools.cached_property
    def null(self):
        return self.rig.loops_local("null")

    def count(self, number):
        return max(1, round(number * self.scale))

    def exchange(self, up, up_from, up_to, down, down_to, count, piece=0, wait="block"):
        return self.floor.ask(up, piece, up_from, up_to, down, down_to, count, wait)


def microseconds(answer, what="p50_ns"):
    return answer[what] / 1000


def per_second(answer, count, unit):
    return count / answer["ns"] * 1e9 / unit


# ---- waiting calls

def ping_pong(bench, wait="block", up=QUESTION, down=INFORMATION):
    return microseconds(bench.exchange(up, 64 * KB, RING, down, 64 * KB, bench.count(2000),
                                       wait=wait))


def wait_turn(bench):
    count = bench.count(2000)
    return {"floor": ping_pong(bench), "ours": microseconds(bench.remote.ask("wait", count)),
            "busy floor": ping_pong(bench, "busy"),
            "softgpu here": microseconds(bench.soft.ask("wait", count))}


def polling_wait_turn(bench):
    """Both ends look for the answer until it is there, ours as well as the floor's."""
    return {"floor": ping_pong(bench, "busy"),
            "ours": microseconds(bench.remote.ask("wait", bench.count(2000)))}


def launch_wait_turn(bench):
    count = bench.count(2000)
    return {"floor": ping_pong(bench, up=LAUNCH + SYNCHRONIZE, down=ANSWER),
            "ours": microseconds(bench.remote.ask("launch_wait", count, 1)),
            "busy floor": ping_pong(bench, "busy", up=LAUNCH + SYNCHRONIZE, down=ANSWER),
            "softgpu here": microseconds(bench.soft.ask("launch_wait", bench.count(200), 1))}


def hundred_launches_turn(bench):
    count = bench.count(200)
    floor = bench.exchange(100 * LAUNCH + SYNCHRONIZE, LAUNCH, RING, ANSWER, 64 * KB, count,
                           piece=LAUNCH)
    return {"floor": microseconds(floor),
            "ours": microseconds(bench.remote.ask("launch_wait", count, 100)),
            "busy floor": ping_pong(bench, "busy", up=100 * LAUNCH + SYNCHRONIZE, down=ANSWER),
            "softgpu here": microseconds(bench.soft.ask("launch_wait", bench.count(20), 100))}


# ---- calls without a wait

def stream_of(bench, count, call_bytes):
    floor = bench.exchange(count * call_bytes, call_bytes, RING, ANSWER, 64 * KB, 1,
                           piece=call_bytes)
    return count / floor["ns"] * 1e3


def posted_turn(name, call_bytes, count):
    def turn(bench):
        number = bench.count(count)
        ours = bench.remote.ask(name, number)
        return {"floor": stream_of(bench, number, call_bytes),
                "ours": per_second(ours, number, 1e6),
                "posted": number / max(ours["posted_ns"], 1) * 1e3,
                "null device here": per_second(bench.null.ask(name, number), number, 1e6),
                "softgpu here": per_second(bench.soft.ask(name, bench.count(count / 10)),
                                           bench.count(count / 10), 1e6)}
    return turn


def allocate_turn(size):
    """Each is used once. The floor moves the use only."""
    def turn(bench):
        number = bench.count(100000)
        ours = bench.remote.ask("allocate", number, size)
        return {"floor": stream_of(bench, number, FILL), "ours": per_second(ours, number, 1e6),
                "null device here": per_second(bench.null.ask("allocate", number, size), number,
                                               1e6)}
    return turn


def small_in_turn(size):
    def turn(bench):
        number = bench.count(200000)
        ours = bench.remote.ask("in", number, size, "pageable")
        return {"floor": stream_of(bench, number, COPY_IN + size),
                "ours": per_second(ours, number, 1e6),
                "posted": number / max(ours["posted_ns"], 1) * 1e3,
                "null device here": per_second(bench.null.ask("in", number, size, "pageable"),
                                               number, 1e6)}
    return turn


def query_turn(bench):
    count = bench.count(2000)
    return {"floor": ping_pong(bench, up=RECORD + SYNCHRONIZE, down=ANSWER),
            "ours": microseconds(bench.remote.ask("query", count)),
            "busy floor": ping_pong(bench, "busy", up=RECORD + SYNCHRONIZE, down=ANSWER),
            "softgpu here": microseconds(bench.soft.ask("query", count))}


# ---- copies

def small_out_turn(kind):
    def turn(bench):
        count = bench.count(2000)
        return {"floor": ping_pong(bench, up=COPY_OUT, down=4 * KB),
                "ours": microseconds(bench.remote.ask("out", count, 4 * KB, kind)),
                "busy floor": ping_pong(bench, "busy", up=COPY_OUT, down=4 * KB),
                "softgpu here": microseconds(bench.soft.ask("out", count, 4 * KB, kind))}
    return turn


def in_turn(size, count, kind):
    """Copies in, posted, and one wait."""
    def turn(bench):
        number = bench.count(count)

        def floor(wait):
            return bench.exchange(number * size, size, RING, ANSWER, 64 * KB, 1,
                                  piece=size if size < 16 * KB else 0, wait=wait)
        return copy_columns(bench, "in", number, size, kind, floor)
    return turn


def out_turn(size, count, kind):
    """Copies out: into pageable memory each waits, into pinned memory the last one does."""
    def turn(bench):
        number = bench.count(count)
        at_once = 1 if kind == "pageable" else number

        def floor(wait):
            return bench.exchange(COPY_OUT, 64 * KB, RING, at_once * size, size, number // at_once,
                                  wait=wait)
        return copy_columns(bench, "out", number, size, kind, floor)
    return turn


def copy_columns(bench, name, number, size, kind, floor):
    total = number * size
    return {"floor": per_second(floor("block"), total, 1e9),
            "ours": per_second(bench.remote.ask(name, number, size, kind), total, 1e9),
            "busy floor": per_second(floor("busy"), total, 1e9),
            "softgpu here": per_second(bench.soft.ask(name, number, size, kind), total, 1e9)}


# ---- copies through a link that limits each connection

NARROW = 50e6  # bytes per second
NARROW_BULKS = 4
NARROW_BYTES = 16 * MB


class Narrow:
    """The link, and servers behind it by their number of bulk connections."""

    def __init__(self, bench):
        self.bench = bench
        self.loops = functools.lru_cache(self.loops_with)

    def loops_with(self, bulks, compression="off"):
        first = delay.free_ports()
        ports = range(first, first + delay.DATA_PORTS)
        server = self.bench.rig.server(
            [f"data_ports = {ports[1]}-{ports[-1]}", f"advertise_address = {delay.NEAR}",
             f"bulk_connections = {bulks}"], port=ports[0])
        link = delay.SlowLink(ports, NARROW)
        self.bench.rig.stack.callback(link.close)
        env = self.bench.rig.build.remote([server], GPUAAS_TRANSPORT="tcp",
                                          GPUAAS_COMPRESSION=compression)
        env["GPUAAS_SERVERS"] = f"{delay.NEAR}:{ports[0]}"
        loops = self.bench.rig.loops(env)
        loops.ask("in", 1, NARROW_BYTES, "pinned")  # memory is touched, connections are there
        return loops


def narrow_turn(way, size):
    """Several connections next to one, and both next to the limit of the link."""
    def turn(bench):
        def measure(bulks):
            answer = bench.narrow.loops(bulks).ask(way, 1, size, "pinned")
            return size / answer["ns"] * 1e3
        return {"floor": NARROW * NARROW_BULKS / 1e6, "ours": measure(NARROW_BULKS),
                "one connection": measure(1), "limit of one": NARROW / 1e6}
    return turn


def narrow_packed_turn(way, size):
    """On one machine compression must be requested; a unit test covers the automatic decision
    (transport/tests/test_compress.c)."""
    def turn(bench):
        def measure(compression):
            answer = bench.narrow.loops(1, compression).ask(way, 1, size, "pinned")
            return size / answer["ns"] * 1e3
        return {"floor": NARROW / 1e6, "ours": measure("always"), "plain": measure("off")}
    return turn


def narrow_figures():
    figures = []
    for way in ("in", "out"):
        figures.append(Figure(f"narrow_{way}",
                              f"narrow link: {way}, 16 MiB, {NARROW_BULKS} connections", "MB/s",
                              False, narrow_turn(way, NARROW_BYTES), 0.8))
        figures.append(Figure(f"narrow_{way}_packed", f"narrow link: {way}, 16 MiB, compressed",
                              "MB/s", False, narrow_packed_turn(way, NARROW_BYTES), 2))
    return figures


# ---- the same through shared memory, where the program and the server are on one machine

def shm_wait_turn(bench):
    count = bench.count(2000)
    return {"floor": ping_pong(bench, "shm"),
            "ours": microseconds(bench.remote_shm.ask("wait", count)),
            "softgpu here": microseconds(bench.soft.ask("wait", count))}


def shm_launch_turn(bench):
    count = bench.count(300000)
    floor = bench.exchange(count * LAUNCH, LAUNCH, RING, ANSWER, 64 * KB, 1, piece=LAUNCH,
                           wait="shm")
    ours = bench.remote_shm.ask("launch", count)
    return {"floor": count / floor["ns"] * 1e3, "ours": per_second(ours, count, 1e6),
            "posted": count / max(ours["posted_ns"], 1) * 1e3}


def shm_copy_turn(name, size, count, kind):
    """Where neither process may look into the other, pageable memory takes two copies at least, one
    into shared memory and one out of it, and they can go on at once: the ring. Pinned memory is
    shared, and takes one."""
    def ring(bench, number):
        if name == "in":
            return bench.exchange(size, size, size, 0, 64 * KB, number, wait="shm")
        return bench.exchange(COPY_OUT, 64 * KB, RING, size, size, number, wait="shm")

    def turn(bench):
        number = bench.count(count)
        plain = per_second(bench.exchange(size, size, size, 0, 64 * KB, number, wait="copy"),
                           number * size, 1e9)
        two = per_second(ring(bench, number), number * size, 1e9)
        ours = per_second(bench.remote_shm.ask(name, number, size, kind), number * size, 1e9)
        return ({"floor": two, "ours": ours, "memcpy": plain} if kind == "pageable" else
                {"floor": plain, "ours": ours, "ring": two})
    return turn


def shm_figures():
    figures = [
        Figure("shm_wait", "shm: waiting call", "us", True, shm_wait_turn, 2),
        Figure("shm_launch", "shm: launches", "M/s", False, shm_launch_turn, 10, absolute=True),
    ]
    for size, name, count in ((MB, "1 MiB", 64), (64 * MB, "64 MiB", 3)):
        for kind in ("pageable", "pinned"):
            for way in ("in", "out"):
                figures.append(Figure(f"shm_{way}_{name.split()[0]}m_{kind}",
                                      f"shm: {way}, {name}, {kind}", "GB/s", False,
                                      shm_copy_turn(way, size, count, kind), 0.9))
    return figures


def all_figures():
    figures = [
        Figure("wait", "waiting call", "us", True, wait_turn, 1.15),
        Figure("wait_polling", "waiting call, floor polls", "us", True, polling_wait_turn, 1.3),
        Figure("launch_wait", "launch and wait", "us", True, launch_wait_turn),
        Figure("launch_100_wait", "100 launches and wait", "us", True, hundred_launches_turn,
               1.25),
        Figure("launch", "launches", "M/s", False, posted_turn("launch", LAUNCH, 300000), 5,
               absolute=True),
        Figure("record", "event records", "M/s", False, posted_turn("record", RECORD, 300000)),
        Figure("fill", "memset of 16 B", "M/s", False, posted_turn("fill", FILL, 300000)),
        Figure("query", "record, wait, ask for the event", "us", True, query_turn),
        Figure("allocate_4k", "allocate, fill, free 4 KiB", "M/s", False, allocate_turn(4 * KB)),
        Figure("allocate_16m", "allocate, fill, free 16 MiB", "M/s", False,
               allocate_turn(16 * MB)),
        Figure("in_16", "in, 16 B, pageable", "M/s", False, small_in_turn(16)),
        Figure("in_64", "in, 64 B, pageable", "M/s", False, small_in_turn(64)),
    ]
    for kind in ("pageable", "pinned"):
        figures.append(Figure(f"in_4k_{kind}", f"in, 4 KiB, {kind}", "GB/s", False,
                              in_turn(4 * KB, 20000, kind)))
    figures.append(Figure("out_4k_pageable", "out, 4 KiB, pageable", "us", True,
                          small_out_turn("pageable")))
    figures.append(Figure("out_4k_pinned", "out, 4 KiB, pinned", "GB/s", False,
                          out_turn(4 * KB, 5000, "pinned")))
    for size, name, count in ((MB, "1 MiB", 64), (64 * MB, "64 MiB", 3)):
        for kind in ("pageable", "pinned"):
            key = f"{name.split()[0]}m_{kind}"
            large = size == 64 * MB
            figures.append(Figure(f"in_{key}", f"in, {name}, {kind}", "GB/s", False,
                                  in_turn(size, count, kind), 0.86 if large else 0.85))
            figures.append(Figure(f"out_{key}", f"out, {name}, {kind}", "GB/s", False,
                                  out_turn(size, count, kind), 0.78 if large else 0.68))
    return figures + narrow_figures() + shm_figures()
