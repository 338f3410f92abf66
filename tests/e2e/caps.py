#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A cap or throttle holds for the tenant, and not for a process, a user or a session of it: with a
new program for each kernel, with tokens of several users in turn, with short sessions beside a long
one, and with launches that make the GPU look empty, each tenant uses at most its cap of the time
and of one window, and the operations under way (sched/cap.h), alone and beside a busy neighbour."""

import contextlib
import itertools
import json
import os
import re
import subprocess
import tempfile
import threading
import time

from lib import ctl, harness
from lib.harness import expect, wait_until

GPU = """[gpu.0]
driver = soft
model = c2050
memory = 256MiB
context_time = none
timing = yes
execute = no
policy = none
"""
CAP = 0.1
WINDOW_S = 0.1
SHORT, LONG = "150000", "2000000"  # blocks: 5 and 67 ms
LONG_S = 0.067
SECONDS = 5
LAG_S = 1.5  # what the store may not have yet (docs/accounting.md)
# Engines' time is measured in batches, which begin before their first kernel.
TOLERANCE = 1.15


class Node:
    def __init__(self, build, server, admin):
        self.build, self.server, self.admin = build, server, admin
        self.ending = False
        self.failures = []

    def token(self, tenant, user=""):
        path = os.path.join(self.admin.folder, f"{tenant}.{user}.token")
        if not os.path.exists(path):
            who = [tenant] + (["--user", user] if user else [])
            self.admin.run("token", "issue", *who, "--out", path)
        return path

    def program(self, token, way, empty, blocks, rounds):
        env = self.build.remote([self.server], GPUAAS_TOKEN_FILE=token)
        return harness.Process([self.build.program("decoys"), way, str(empty), blocks,
                                str(rounds)], env, stdin=subprocess.DEVNULL)

    def again_and_again(self, *tokens):
        """Programs of one kernel each, with these tokens in turn."""
        for token in itertools.cycle(tokens):
            program = self.program(token, "stream", 0, LONG, 1)
            try:
                while program.running() and not self.ending:
                    time.sleep(0.005)
                if not self.ending and "PASSED" not in program.out.lines:
                    program.wait(5)
                    self.failures += [] if "PASSED" in program.out.lines else [program.report()]
            finally:
                program.end()
            if self.ending:
                return

    def end(self, thread):
        self.ending = True
        thread.join()

    def used_s(self):
        return {row["tenant"]: row["compute_time_ms"] / 1000
                for row in self.admin.items("usage", "--by", "tenant")}


@contextlib.contextmanager
def node(build, **extra):
    with tempfile.TemporaryDirectory(prefix="gpuaas-caps-") as folder:
        keys = f"auth = on\nstore = {folder}/store.db\nspare_backends = 4"
        config = ctl.configuration(folder, gpus=0, keys=keys) + GPU
        with harness.serving(build, config=config, extra=extra) as server:
            yield Node(build, server, ctl.Ctl(build, folder))


# For each way to get more: programs that go on for ever, and loops of short ones by their users'
# names ("": by the tenant's own token).
WAYS = {
    "processes": ([], [[""], [""]]),
    "users": ([], [["ana", "ben"], ["ben", "ana"]]),
    "sessions": ([("stream", 0, SHORT)], [[""]]),
}


def begin(here, stack, limits, ways):
    """Tenants with these limits, each at work in its way."""
    for tenant in ways:
        here.admin.run("tenant", "add", tenant, *limits)
        for user in {name for loop in WAYS[tenant][1] for name in loop if name}:
            here.admin.run("user", "add", tenant, user)
    for tenant in ways:
        lasting, loops = WAYS[tenant]
        for way, empty, blocks in lasting:
            stack.callback(here.program(here.token(tenant), way, empty, blocks, 0).end)
        for loop in loops:
            thread = threading.Thread(target=here.again_and_again,
                                      args=[here.token(tenant, name) for name in loop])
            thread.start()
            stack.callback(here.end, thread)


def measure(here, ways, allowed, seconds):
    wait_until(lambda: set(ways) <= set(here.used_s()), 60, "all work")
    before, since = here.used_s(), time.monotonic()
    time.sleep(seconds)
    after, passed = here.used_s(), time.monotonic() - since
    for tenant in ways:
        used = after[tenant] - before[tenant]
        # Each of the programs that are at work at once has a kernel that nobody stops.
        programs = len(WAYS[tenant][0]) + len(WAYS[tenant][1])
        most = TOLERANCE * allowed * (passed + WINDOW_S + LAG_S) + programs * LONG_S
        print(f"{tenant}: {used / passed:.3f} of the GPU")
        expect(used <= most, f"{tenant}: {used:.2f} s of {passed:.2f} s, {most:.2f} s allowed")
        expect(used > 0, f"{tenant} has not worked at all")
    expect(not here.failures, "\n".join(here.failures))


def capped(build, neighbour, limits=("compute-cap=10%",), ways=tuple(WAYS), first=None):
    with node(build) as here, contextlib.ExitStack() as stack:
        if neighbour:
            here.admin.run("tenant", "add", "neighbour")
            stack.callback(here.program(here.token("neighbour"), "stream", 0, SHORT, 0).end)
        begin(here, stack, limits, ways)
        if first is not None:
            first(here)
        measure(here, ways, CAP, SECONDS)


def test_alone(build):
    capped(build, False)


def test_beside_a_neighbour(build):
    capped(build, True)


def kernels_s(trace):
    """For each backend process the time of kernels that do something, as the GPU says; and that of
    all together, from the first to the last one."""
    with open(trace, encoding="utf-8") as f:
        events = json.loads(f.read() + "]")
    lanes = {event["tid"]: event["args"]["name"] for event in events
             if event.get("name") == "thread_name"}
    used, times = {}, []
    for event in events:
        lane = re.match(r"kernels.*process (\d+)", lanes.get(event.get("tid"), ""))
        if event.get("ph") == "X" and lane and event["dur"] > 1000:
            used[int(lane[1])] = used.get(int(lane[1]), 0) + event["dur"] / 1e6
            times += [event["ts"] / 1e6, (event["ts"] + event["dur"]) / 1e6]
    return used, max(times) - min(times)


def decoys(build, neighbour):
    """Kernels count by how much of the GPU they fill, and for how long; not by their number."""
    pids = {}
    with tempfile.TemporaryDirectory(prefix="gpuaas-caps-") as folder:
        trace = os.path.join(folder, "trace.json")
        with node(build, SOFTGPU_TRACE=trace) as here, contextlib.ExitStack() as stack:
            ways = ["stream", "streams", "graph"]
            for tenant in ways + (["neighbour"] if neighbour else []):
                limits = ["compute-cap=10%"] if tenant in ways else []
                here.admin.run("tenant", "add", tenant, *limits)
                before = set(here.server.backends())
                way, empty = (tenant, 20) if tenant in ways else ("stream", 0)
                program = here.program(here.token(tenant), way, empty, SHORT, 0)
                stack.callback(program.end)
                program.wait_for_line("begins", harness.PROGRAM_SECONDS)
                pids[tenant], = set(here.server.backends()) - before
            time.sleep(SECONDS)
        used, passed = kernels_s(trace)
    for tenant in ways:
        most = TOLERANCE * CAP * (passed + WINDOW_S) + 0.005
        print(f"{tenant}: {used[pids[tenant]] / passed:.3f} of the GPU")
        expect(0 < used[pids[tenant]] <= most,
               f"{tenant}: {used[pids[tenant]]} s of {passed} s, {most} s allowed")


def test_decoys_alone(build):
    decoys(build, False)


def test_decoys_beside_a_neighbour(build):
    decoys(build, True)


def test_throttle(build):
    """Its tenants have used up their GPU time; it is not theirs anew with each program."""
    def used_up(here):
        for tenant in ("processes", "users"):
            told = f"limit gpu-seconds-day of tenant {tenant}: 300ms allowed"
            wait_until(lambda told=told: told in here.server.err.text, 60, "it is used up")
        time.sleep(LAG_S)  # what they used before is told later
    capped(build, False, ("gpu-seconds=300ms/day", "throttle=10%"), ("processes", "users"),
           used_up)


if __name__ == "__main__":
    harness.main(globals())
