#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shares, caps and throttles of tenants, as docs/quotas.md has them, with programs that always want
the GPU. The GPU only keeps time, so the processors have little to do; but a machine that is so busy
that the GPU stands still although somebody wants it says nothing about shares: such a look is VOID,
and is done again. Upper bounds are always compared. The time that a cap must leave is compared with
the time for which it has held the program back, which a busy machine does not change."""

import contextlib
import os
import subprocess
import tempfile
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
hold = 2ms
"""
SHORT, LONG = "200us", "130ms"  # kernels: the latter are longer than a turn
LOOK_MS = 2000  # of GPU time, for all together
BUSY = 0.9  # of a look, or it is VOID
LOOKS = 5


@contextlib.contextmanager
def node(build, policy, kernel_time=SHORT):
    with tempfile.TemporaryDirectory(prefix="gpuaas-shares-") as folder:
        keys = f"auth = on\nstore = {folder}/store.db"
        config = ctl.configuration(folder, gpus=0, keys=keys) + GPU
        config += f"kernel_time = {kernel_time}\npolicy = {policy}\n"
        with harness.serving(build, config=config) as server:
            yield server, ctl.Ctl(build, folder)


@contextlib.contextmanager
def working(build, server, admin, *tenants):
    """A program of each tenant, which goes on and on."""
    with contextlib.ExitStack() as stack:
        for tenant in tenants:
            token = os.path.join(admin.folder, f"{tenant}.token")
            admin.run("token", "issue", tenant, "--out", token)
            program = harness.Process([build.program("metered"), "whole"],
                                      build.remote([server], GPUAAS_TOKEN_FILE=token),
                                      stdin=subprocess.PIPE)
            stack.callback(program.end)
            program.wait_for_line("begins", harness.PROGRAM_SECONDS)
        used = lambda: gpu_ms(admin)  # noqa: E731
        wait_until(lambda: all(used().get(tenant, 0) > 100 for tenant in tenants), 60, "all work")
        yield


def use_ms(admin, figure):
    """The GPU time of each tenant's session so far."""
    return {session["tenant"]: sum(use[figure] for use in session["use"])
            for session in admin.items("sessions")}


def gpu_ms(admin):
    return use_ms(admin, "compute_ms")


def look(admin, work_ms=LOOK_MS):
    """The use of each while so much was done, as parts of the time that this took."""
    begin, since = gpu_ms(admin), time.monotonic()

    def passed():
        now = {tenant: ms - begin[tenant] for tenant, ms in gpu_ms(admin).items()}
        return now if sum(now.values()) >= work_ms else None
    used = wait_until(passed, 120, f"{work_ms} ms of GPU time")
    took_ms = (time.monotonic() - since) * 1000
    parts = {tenant: ms / took_ms for tenant, ms in used.items()}
    print({tenant: round(part, 3) for tenant, part in parts.items()})
    return parts


def expect_ratio(admin, one, other, least, most, work_ms=LOOK_MS):
    """Compares the GPU times of two programs that always want the GPU. A look may be off by what
    the meter does not know yet (0.3 s)."""
    busy = []
    for _ in range(LOOKS):
        parts = look(admin, work_ms)
        ratio = parts[one] / parts[other]
        if least <= ratio <= most:
            return
        busy += [ratio] if sum(parts.values()) >= BUSY else []
    expect(not busy, f"{one} has {busy} times as much as {other}")
    print("VOID: the machine is too busy to keep the GPU at work")


def expect_part(admin, tenant, part, work_ms):
    """Checks a program with a cap that is alone and always wants the GPU. Not more, in all; and for
    each second that it waits, for only the cap lets it wait, it has part / (1 - part) of them: also
    if the machine is too busy for it to use its part up. A look may be off by what the meter does
    not know yet."""
    begin, since, waited, seen = gpu_ms(admin)[tenant], time.monotonic(), 0, []
    for _ in range(LOOKS):
        before, looked = use_ms(admin, "waited_ms")[tenant], time.monotonic()
        used = look(admin, work_ms)[tenant]
        wait_ms = use_ms(admin, "waited_ms")[tenant] - before
        wait = wait_ms / 1000 / (time.monotonic() - looked)
        in_all = (gpu_ms(admin)[tenant] - begin) / 1000 / (time.monotonic() - since)
        waited += wait_ms
        seen.append([round(figure, 3) for figure in (in_all, used, wait)])
        not_more, not_less = in_all <= part * 1.2, used * (1 - part) >= 0.8 * part * wait
        if not_more and not_less and waited >= work_ms / 2:
            return
    expect(not_more and waited < work_ms / 2,
           f"{seen} of the GPU in all, in a look, and waited for it; {part} is allowed")
    print("VOID: the machine is too busy for it to use its part up")


def test_shares(build):
    with node(build, "tfs") as (server, admin):
        process = admin.run("tenant", "add", "large", "share=300", "latency-goal=5ms")
        expect("policy latency or auto" in process.err.text, process.report())
        admin.run("tenant", "add", "small")
        with working(build, server, admin, "large", "small"):
            expect_ratio(admin, "large", "small", 2.5, 3.5)
            admin.run("tenant", "set-quota", "large", "share=-")  # 100, as of the other
            look(admin, 500)
            expect_ratio(admin, "large", "small", 0.83, 1.2)


def test_shares_of_kernels_longer_than_a_turn(build):
    """Time beyond the end of a turn is owed. A look is long, since it may be off by a kernel."""
    with node(build, "tfs", LONG) as (server, admin):
        admin.run("tenant", "add", "large", "share=300")
        admin.run("tenant", "add", "small")
        with working(build, server, admin, "large", "small"):
            expect_ratio(admin, "large", "small", 2.5, 3.5, 6000)


def test_latency_goal(build):
    """A tenant with a goal goes first, and batch work has its part (batch_percent)."""
    with node(build, "latency\nbatch_percent = 10") as (server, admin):
        process = admin.run("tenant", "add", "quick", "latency-goal=5ms")
        expect("latency-goal" not in process.err.text, process.report())
        admin.run("tenant", "add", "batch")
        with working(build, server, admin, "quick", "batch"):
            expect_ratio(admin, "quick", "batch", 3, 30, 1000)
            admin.run("tenant", "set-quota", "quick", "latency-goal=-")
            look(admin, 300)
            expect_ratio(admin, "quick", "batch", 0.6, 1.6, 1000)


def test_cap(build):
    """The throttle of a tenant whose kernels fill the GPU."""
    with node(build, "none") as (server, admin):
        admin.run("tenant", "add", "capped", "compute-cap=25%")
        with working(build, server, admin, "capped"):
            expect_part(admin, "capped", 0.25, 500)
            admin.run("tenant", "set-quota", "capped", "compute-cap=50%")
            look(admin, 200)
            expect_part(admin, "capped", 0.5, 1000)


def test_throttle(build):
    """GPU time that is used up: the program goes on, and another one may begin."""
    with node(build, "rr") as (server, admin):
        process = admin.run("tenant", "add", "late", "throttle=20%")
        expect("set gpu-seconds" in process.err.text, process.report())
        admin.run("tenant", "set-quota", "late", "gpu-seconds=500ms/day")
        with working(build, server, admin, "late"):
            wait_until(lambda: "go on with 20 % of each GPU" in server.err.text, 60,
                       "it is used up")
            look(admin, 200)
            expect_part(admin, "late", 0.2, 500)
            admin.run("tenant", "set-quota", "late", "gpu-seconds-day=-")
            wait_until(lambda: "not throttled any more" in server.err.text, 20, "it is not")


def test_without_tenants(build):
    """auth = off: each program is for itself, and a cap of `default` does not hold."""
    with tempfile.TemporaryDirectory(prefix="gpuaas-shares-") as folder:
        config = ctl.configuration(folder, gpus=0) + GPU + f"kernel_time = {SHORT}\npolicy = tfs\n"
        with harness.serving(build, config=config):
            admin = ctl.Ctl(build, folder)
            process = admin.run("tenant", "set-quota", "default", "compute-cap=25%")
            expect("auth = off" in process.err.text and "do not hold" in process.err.text,
                   process.report())


if __name__ == "__main__":
    harness.main(globals())
