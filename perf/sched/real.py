# SPDX-License-Identifier: Apache-2.0
"""A trace as real programs, on a real gpuaasd or by themselves, and what is seen of it: when the
programs ended, what they waited for, and whether the run counts. For that software GPUs must not
have been late, the processors must have had room, and programs and turns must have begun in
time."""

import contextlib
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests",
                                "e2e"))

import mixes  # noqa: E402
from lib import harness  # noqa: E402

IDLE_LEAST = 0.20   # of the processors' time
LATE_MOST = 0.05    # the 99th percentile of late wake-ups and of late turns, by a phase
VOID_SHARE = 0.01   # of the run's time, by which software GPUs may be late together
SPARES_MOST = 16    # backend processes that are ready
SECONDS = 580

LATE = re.compile(r"gpuaas\S*\[(\d+)\] \w+: softgpu: timing: .* executed later than the model "
                  r"says, by ([\d.]+) ms .* (\d+) found no room")
PHASE = re.compile(r"phase on GPU (\d+): \w+ at (\d+) for (\d+) ns")
TURN = re.compile(r"turn on GPU (\d+): wanted at (\d+), granted at (\d+), begun at (\d+)")


class Run:
    """A run, as far as it is seen from outside. Times in ns."""

    def __init__(self, lines, log, wall_ns, idle):
        self.lines, self.log, self.wall_ns, self.idle = lines, log, wall_ns, idle
        self.phases = [tuple(map(int, match)) for match in PHASE.findall(log)]
        self.turns = [tuple(map(int, match)) for match in TURN.findall(log)]

    def completions(self):
        """Mean completion time of each application, from arrival to exit, in seconds."""
        by_stream = {}
        for line in self.lines:
            by_stream.setdefault(line["stream"], []).append((line["end"] - line["arrival"]) / 1e9)
        return {stream: sum(times) / len(times) for stream, times in by_stream.items()}

    def shares(self):
        """Where the programs' time has gone, all together. network: calls on their way and in
        the processes at both ends, and whatever else."""
        parts = {"start": sum(line["ready"] - line["begin"] for line in self.lines),
                 "cpu": sum(line["cpu"] for line in self.lines),
                 "gate": sum(begun - wanted for _, wanted, _, begun in self.turns),
                 "gpu": sum(ns for _, _, ns in self.phases)}
        whole = sum(line["end"] - line["begin"] for line in self.lines)
        parts["network"] = whole - sum(parts.values())
        return {name: round(ns / whole, 4) for name, ns in parts.items()}

    def conserved(self):
        """The part of a GPU's time that it worked, of that in which somebody wanted it to: the
        least of all GPUs. 1: no session waited for a turn while the GPU had nothing to do."""
        least = 1.0
        for gpu in {phase[0] for phase in self.phases}:
            works = union((at, at + ns) for of, at, ns in self.phases if of == gpu)
            waits = union((wanted, begun) for of, wanted, _, begun in self.turns if of == gpu)
            busy = length(works)
            least = min(least, busy / (busy + length(waits) - overlap(waits, works)))
        return least

    def late_turns_p99_ns(self):
        """From a grant that a session has waited for until its work went through."""
        late = sorted(begun - granted for _, wanted, granted, begun in self.turns
                      if granted >= wanted)
        return late[(len(late) - 1) * 99 // 100] if late else 0

    def late_gpus(self):
        """(the most by which software GPUs were late in all, items that found no room). A process
        tells again when twice as much was late."""
        last = {pid: (2 * float(ms) * 1e6, int(alone)) for pid, ms, alone in LATE.findall(self.log)}
        return sum(ns for ns, _ in last.values()), sum(alone for _, alone in last.values())

    def verdict(self, phase_ns):
        """Why the run does not count; "": it does."""
        why = []
        late_ns, alone = self.late_gpus()
        if late_ns > VOID_SHARE * self.wall_ns or alone:
            why.append(f"software GPUs were late by {late_ns / self.wall_ns:.1%} of the run, and "
                       f"{alone} items found no room")
        if self.idle < IDLE_LEAST:
            why.append(f"processors were idle for {self.idle:.0%} of the time, "
                       f"{IDLE_LEAST:.0%} is needed")
        late = max((line["late_p99"] / (line["cpu"] / max(line["phases"] / 4, 1))
                    for line in self.lines if line["cpu"]), default=0)
        if late > LATE_MOST:
            why.append(f"wake-ups were late by {late:.1%} of a CPU phase (99 %)")
        late = self.late_turns_p99_ns() / phase_ns
        if late > LATE_MOST:
            why.append(f"turns began late by {late:.1%} of a phase (99 %)")
        return "; ".join(why)


# ---- intervals: sorted lists of (begin, end) that do not touch

def union(intervals):
    found = []
    for begin, end in sorted(map(tuple, intervals)):
        if found and begin <= found[-1][1]:
            found[-1][1] = max(found[-1][1], end)
        else:
            found.append([begin, end])
    return found


def length(intervals):
    return sum(end - begin for begin, end in intervals)


def overlap(one, other):
    return length(one) + length(other) - length(union([*one, *other]))


# ---- runs

def processor_times():
    """(busy, all) of all processors, in ticks."""
    with open("/proc/stat", encoding="ascii") as file:
        fields = [int(text) for text in file.readline().split()[1:9]]
    idle = fields[3] + fields[4]
    return sum(fields) - idle, sum(fields)


@contextlib.contextmanager
def awake():
    """Idle processors do not fall asleep (PM QoS, as cyclictest does): in a virtual machine waking
    them takes the longer the longer they slept, up to half a millisecond for a call. Without the
    right to ask for that, they do."""
    try:
        with open("/dev/cpu_dma_latency", "wb", buffering=0) as file:
            file.write(struct.pack("i", 0))
            yield
    except OSError:
        yield


def real_time():
    """The programs go before all others, if that is allowed. gpuaasd and its processes do not: they
    would wait for each other, as real-time processes do not interrupt each other."""
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))


@contextlib.contextmanager
def at_work(build, policy, scale, programs):
    """(environment of a program, what gpuaasd has said)"""
    if policy == "cuda":
        env = build.local(mixes.devices(scale))
        yield {**env, "GPUAAS_LOG": "info"}, lambda: ""
    else:
        config = mixes.configuration(scale, policy, min(programs, SPARES_MOST))
        with harness.serving(build, config=config) as server:
            time.sleep(min(programs, SPARES_MOST) * 0.05)  # until processes are ready
            yield build.remote([server]), lambda: server.err.text


def replay(build, trace, policy, scale, programs, first=None):
    """`first`: called in the process of the programs before it begins."""
    with tempfile.NamedTemporaryFile("w", suffix=".trace") as file, \
            awake(), at_work(build, policy, scale, programs) as (env, told):
        file.write(trace)
        file.flush()
        command = [build.path("perf", "gpuaas-load"), file.name, "--bytes", str(mixes.BYTES),
                   "--gpus", ",".join(mixes.gpus_of(policy))]
        before, begin = processor_times(), time.monotonic_ns()
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=SECONDS,
                              check=False, preexec_fn=first)
        after, end = processor_times(), time.monotonic_ns()
    log = done.stderr + told()  # backend processes, too, have ended
    if done.returncode != 0:
        raise harness.Failure(f"gpuaas-load: {log[-4000:]}")
    busy, ticks = after[0] - before[0], after[1] - before[1]
    return Run([json.loads(line) for line in done.stdout.splitlines()], log, end - begin,
               1 - busy / max(ticks, 1))


class Spinners:
    """Programs that use all processors, to see that such a run is rejected."""

    def __init__(self, count):
        self.programs = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
                         for _ in range(count)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for program in self.programs:
            program.kill()
            program.wait()
