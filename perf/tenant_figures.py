# SPDX-License-Identifier: Apache-2.0
"""The costs of tenants: launches with all quotas set and accounted for, and the first call of a
program that says who it is. The floor is a server that neither asks, limits nor accounts. Besides,
the cost of wrong logins, and how exact GPU time is."""

import functools
import os
import statistics
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "tests", "faults"))

import facts  # noqa: E402
import figures  # noqa: E402
import logins  # noqa: E402  (found by the line above)
import tls_figures  # noqa: E402
from facts import Fact  # noqa: E402
from figures import Figure, per_second  # noqa: E402
from lib import ctl, gpu_log, harness  # noqa: E402  (found by rig.py)

BOUND = 1.03  # for launches
FIRST_BOUND = 1.05
# All that are looked at while a program runs, none of them met. The null device cannot stop a
# kernel by itself, so kernel-time has its cost.
QUOTAS = ("gpu-mem=4GiB", "gpu-mem-per-gpu=4GiB", "gpus=8", "sessions=1000",
          "gpu-seconds=1000h/day", "bandwidth-in=1TB/s", "bandwidth-out=1TB/s",
          "call-rate=1000000000", "host-pinned=1GiB", "module-bytes=1GiB", "objects=100000",
          "idle-timeout=1h", "wall-time=24h", "kernel-time=1h")


class Tenants:
    """A server that asks who one is; the tenant lab uses its GPU."""

    def __init__(self, rig, tls=False, lines=(), gpu_lines=(), quotas=QUOTAS):
        self.folder = rig.stack.enter_context(tempfile.TemporaryDirectory(prefix="gpuaas-bench-"))
        self.admin = ctl.Ctl(rig.build, self.folder)
        lines = ["auth = on", "store = STORE", f"admin_socket = {self.folder}/admin.sock", *lines]
        if tls:
            self.admin.run("ca", "init", "--ca", self.path("ca"), server=False)
            lines.append(f"tls_client_ca = {self.path('ca', 'ca.pem')}")
        self.server = (tls_figures.serve(rig, lines) if tls else
                       rig.server(lines, gpu_lines=gpu_lines))
        self.admin.run("tenant", "add", "lab", *quotas)
        self.shown = {"token": self.token, "certificate": self.certificate}

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def token(self):
        """The variables by which a program shows one."""
        if not os.path.exists(self.path("token")):
            self.admin.run("token", "issue", "lab", "--out", self.path("token"))
        return {"GPUAAS_TOKEN_FILE": self.path("token")}

    def certificate(self):
        self.admin.run("cert", "issue", "lab", "--ca", self.path("ca"), "--out", self.path("lab"))
        return {"GPUAAS_CERT": self.path("lab.crt"), "GPUAAS_KEY": self.path("lab.key")}


# ---- launches

class Side:
    """A program that launches, and its backend process."""

    def __init__(self, rig, server, env):
        self.loops, self.backends = rig.loops(env), server.backends()

    def launch(self, count):
        """(launches in a second / 10^6, processor time of one in the backend process)"""
        before = sum(map(facts.processor_ns, self.backends))
        answer = self.loops.ask("launch", count)
        spent = sum(map(facts.processor_ns, self.backends)) - before
        return per_second(answer, count, 1e6), spent / count


@functools.cache
def launch_sides(rig, transport):
    """The floor's and ours."""
    way = {"GPUAAS_TRANSPORT": transport, "GPUAAS_COMPRESSION": "off"}
    plain = rig.server(["spare_backends = 0", "ledger_interval_s = 0"])
    tenants = Tenants(rig, lines=["spare_backends = 0", "ledger_interval_s = 1"])
    return (Side(rig, plain, rig.build.remote([plain], **way)),
            Side(rig, tenants.server, rig.build.remote([tenants.server], **way,
                                                       **tenants.token())))


def launch_turn(transport):
    def turn(bench):
        """The sides alternate, and each is first in turn."""
        floor, ours = launch_sides(bench.rig, transport)
        found = {floor: [], ours: []}
        for number in range(bench.count(6)):
            for side in (floor, ours)[::1 if number % 2 else -1]:
                found[side].append(side.launch(bench.count(500000)))
        (floor_rate, floor_ns), (our_rate, our_ns) = (
            map(statistics.median, zip(*found[side])) for side in (floor, ours))
        return {"floor": floor_rate, "ours": our_rate, "backend's ns of a launch": our_ns,
                "of the floor": floor_ns}
    return turn


# ---- first calls

@functools.cache
def login_sides(rig, way):
    """(server, environment of its programs) of the floor, and of who shows what `way` says."""
    tenants, plain = Tenants(rig, tls=True), tls_figures.serve(rig, ["ledger_interval_s = 0"])
    more = {"GPUAAS_TRANSPORT": "tls", "GPUAAS_CA": harness.authority().ca}
    return ((plain, rig.build.remote([plain], **more)),
            (tenants.server, rig.build.remote([tenants.server], **more, **tenants.shown[way]())))


def first_ms(rig, server, env):
    server.wait_spares()
    loops = rig.loops(env)
    loops.end()
    return loops.opened["first_ns"] / 1e6


def login_turn(way):
    def turn(bench):
        times = {"floor": [], "ours": []}
        for _ in range(bench.count(5)):
            for side, (server, env) in zip(times, login_sides(bench.rig, way)):
                times[side].append(first_ms(bench.rig, server, env))
        return {side: statistics.median(found) for side, found in times.items()}
    return turn


def all_figures():
    found = [Figure(f"tenants_launch_{name}", f"{name}: launches with quotas and accounting",
                    "M/s", False, launch_turn(transport), 1 / BOUND)
             for name, transport in (("tcp", "tcp"), ("shm", "auto"))]
    found += [Figure(f"first_call_{way}", f"tls: first call with a {way}", "ms", True,
                     login_turn(way), FIRST_BOUND) for way in ("token", "certificate")]
    return found


# ---- wrong logins

def storm(bench_rig, tls, scale, sources, beside=None):
    """10,000 in 60 s, or a part of them as fast. (gpuaasd's processor in s as for all of them,
    what `beside` has returned, which is called meanwhile with the server)"""
    greeting = logins.learn_hello(bench_rig.build)
    tenants = Tenants(bench_rig, tls=tls)
    count, stop = max(10, round(logins.ALL * scale)), threading.Event()
    before = facts.processor_ns(tenants.server.pid)
    thread = threading.Thread(target=logins.storm, args=(
        greeting, tenants.server, sources, stop, count, count / logins.ALL * logins.ALL_SECONDS))
    thread.start()
    said = beside(tenants) if beside else None
    thread.join()
    spent = facts.processor_ns(tenants.server.pid) - before
    return spent / 1e9 * logins.ALL / count, said


def wrong_logins(bench_rig, _floor, scale):
    for name, tls in (("tcp", False), ("tls", True)):
        spent, _ = storm(bench_rig, tls, scale, ["127.0.0.1"])
        yield Fact(f"wrong_logins_{name}", f"{name}: processor of 10,000 wrong logins", "s", spent,
                   1.5, "in 60 s from one address")


def others(bench_rig, _floor, scale):
    """A program's waiting calls, and the first calls of others, while 256 addresses fail."""
    if scale < 0.1:  # as little as possible: nothing is counted here
        return
    for name, tls in (("tcp", False), ("tls", True)):
        def ask(tenants, tls=tls):
            env = bench_rig.build.remote(
                [tenants.server], GPUAAS_TRANSPORT="tls" if tls else "tcp",
                GPUAAS_CA=harness.authority().ca, **tenants.token())
            firsts, loops = [], bench_rig.loops(env)
            waits = loops.ask("wait", max(10, round(200000 * scale)))["p99_ns"] / 1e3
            for _ in range(max(2, round(20 * scale))):
                firsts.append(first_ms(bench_rig, tenants.server, env))
            loops.end()
            return waits, sorted(firsts)[len(firsts) * 9 // 10]
        calm = ask(Tenants(bench_rig, tls=tls))
        _, stormy = storm(bench_rig, tls, scale / 2, logins.sources(), ask)
        for key, what, unit, before, after in zip(
                ("wait", "first"), ("p99 of waiting calls", "p90 of first calls"), ("us", "ms"),
                calm, stormy):
            yield Fact(f"others_{key}_{name}", f"{name}: {what} beside wrong logins", "x",
                       after / before, 3, f"{after:.3g} {unit}, {before:.3g} without; from "
                       f"{logins.SOURCES} addresses")


# ---- GPU time

def metered(bench_rig, _floor, scale):
    """Kernels of 10 us: what gpuaasd says that they have used, and what the software GPU says."""
    if scale < 0.1:  # as little as possible: tests/e2e/metering.py holds it
        return
    for way in ("stream", "streams", "graph"):
        said, spans = gpu_log.measure(bench_rig.build, way)
        true = gpu_log.union(spans[0])
        yield Fact(f"metered_{way}", f"GPU time of 10 us kernels, {way}: off by", "%",
                   abs(said[0] - true) / true * 100, 5,
                   f"{said[0] / 1e6:.2f} ms measured, {true / 1e6:.2f} ms by the GPU, "
                   f"{len(spans[0])} kernels")


FACTS = {"wrong_logins": wrong_logins, "others": others, "metered": metered}
