# SPDX-License-Identifier: Apache-2.0
"""The cost of scheduling for a launch in the backend process: the gate without a policy, a policy,
the meter, the request monitor. The floor of each is the same launch without it, in turns."""

import contextlib
import os
import shutil
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "server", "tests"))

import gate_cost  # noqa: E402  (found by the line above)
import rig  # noqa: E402
from facts import Fact, processor_ns  # noqa: E402

LAUNCHES = 500000
TURNS = 30
OTHERS = 2  # programs that compute on the server's core


def gate_off(bench_rig, _floor, _scale):
    """Instructions, which are the same on every machine."""
    fact = Fact("sched_cost_off", "no policy: added to a launch", "instructions", None,
                gate_cost.MOST)
    if shutil.which("valgrind") is None:
        fact.note = "there is no valgrind, which counts them"
    else:
        build = bench_rig.build
        gated, bare = gate_cost.measure(build.path("gen"), os.path.join(build.cuda, "include"),
                                        "cc")
        fact.value = gated - bare
        fact.note = f"{bare:g} without, by callgrind"
    yield fact


@contextlib.contextmanager
def crowded(bench_rig):
    """Others want the server's core as well, so that a backend process always has launches to do
    when it runs: else it waits for the program by polling, and what is added to a launch is hidden
    in that time."""
    others = []
    try:
        with rig.starting(bench_rig.server_core, bench_rig.real_time):
            for _ in range(OTHERS):
                others.append(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


class Side:
    """A server with one program, or several at a time, that launch."""

    def __init__(self, bench_rig, transport="auto", programs=1, lines=(), gpu_lines=(),
                 program=None):
        if bench_rig.real_time:
            bench_rig.real_time = rig.SHARING  # the core, with the others
        server = bench_rig.server(["spare_backends = 0", *lines], gpu_lines=gpu_lines,
                                  program=program)
        self.loops = [bench_rig.loops_remote(server, transport) for _ in range(programs)]
        self.costs = []
        self.launch(LAUNCHES // 100)
        self.backends = server.backends()

    def launch(self, count):
        for loops in self.loops:
            loops.tell("launch", count)
        for loops in self.loops:
            loops.answer()

    def measure(self, count):
        before = sum(map(processor_ns, self.backends))
        self.launch(count)
        self.costs.append((sum(map(processor_ns, self.backends)) - before) /
                          (count * len(self.loops)))


def added(bench_rig, key, title, target, sides, scale):
    """The second side adds this to a launch in the backend process. They alternate in being
    first."""
    with crowded(bench_rig):
        for number in range(max(3, round(TURNS * min(scale, 1)))):
            for side in sides[::1 if number % 2 else -1]:
                side.measure(max(1000, round(LAUNCHES * scale)))
    without, with_it = (side.costs for side in sides)
    more = sorted(b - a for a, b in zip(without, with_it))
    ratio = statistics.median(b / a for a, b in zip(without, with_it))
    quarter = len(more) // 4
    return Fact(key, title, "ns", statistics.median(more), target,
                f"half of the turns {more[quarter]:.1f}..{more[-1 - quarter]:.1f}; "
                f"{statistics.median(without):.1f} without, ratio {ratio:.3f}")


def policy(bench_rig, _floor, scale):
    """For a program alone, and for two that take turns."""
    for key, programs, title, target in (("alone", 1, "alone", 10), ("turns", 2, "in turns", 100)):
        sides = [Side(bench_rig, programs=programs, gpu_lines=[f"policy = {name}"])
                 for name in ("none", "rr")]
        yield added(bench_rig, f"sched_cost_{key}", f"a policy, {title}: added to a launch",
                    target, sides, scale)


def metering(bench_rig, _floor, scale):
    """The meter and the monitor. Two per cent of a kernel of 10 us are 200 ns."""
    for transport, way in (("tcp", "tcp"), ("shm", "auto")):
        sides = [Side(bench_rig, way, lines=[f"ledger_interval_s = {interval}"])
                 for interval in (0, 1)]
        yield added(bench_rig, f"sched_cost_metering_{transport}",
                    f"{transport}: metering, added to a launch", 200, sides, scale)


def monitor(bench_rig, _floor, scale):
    """The monitor alone: metered, without and with it."""
    sides = [Side(bench_rig, lines=["ledger_interval_s = 1"], program=program)
             for program in (bench_rig.build.path("perf", "gpuaasd_unmonitored"), None)]
    yield added(bench_rig, "sched_cost_monitor", "request monitor: added to a launch", None, sides,
                scale)


FACTS = {"sched_cost_off": gate_off, "sched_cost_policy": policy,
         "sched_cost_metering": metering, "sched_cost_monitor": monitor}
