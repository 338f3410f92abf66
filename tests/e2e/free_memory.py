#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cuMemGetInfo under limits of memory (docs/quotas.md): what it tells is what can be had, whatever
other programs of the tenant do, and gpuaasd has nothing to do with it while they change nothing."""

import contextlib
import glob
import re
import signal
import time

from lib import harness
from lib.chargers import MIB, Charger, chargers
from lib.harness import expect, wait_until
from lib.lab import lab
from lib.limited import limited

CALLS = 500


def wakes(pid):
    """How often its threads have woken up."""
    found = 0
    for path in glob.glob(f"/proc/{pid}/task/*/status"):
        with open(path, encoding="utf-8") as f:
            found += int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", f.read(), re.M).group(1))
    return found


def free(program):
    return int(program.ask("free()"))


def expect_no_question(server, program):
    """gpuaasd wakes up now and then for other reasons."""
    free(program)
    before = wakes(server.pid)
    program.ask(f"[free() for _ in range({CALLS})][-1]")
    woken = wakes(server.pid) - before
    expect(woken < CALLS / 4, f"gpuaasd has woken up {woken} times in {CALLS} calls")


def test_nobody_is_asked(build):
    with limited(build, "gpu-mem=100MiB", "gpu-mem-per-gpu=90MiB") as server, \
            chargers(build, server, 2) as (one, other):
        for change in ("memory(1)", f"memory({70 * MIB})", "end()"):
            one.ask(change)
            expect_no_question(server, one)
            expect_no_question(server, other)


def test_of_a_context(build):
    """The first block is charged, and free for the program; a limit below it does no harm."""
    with limited(build, "gpu-mem=100MiB") as server, chargers(build, server, 1) as (one,):
        (session,) = server.sessions()
        expect(session["gpu_mem_bytes"] == 2 * MIB, session)
        expect(free(one) == 100 * MIB, one.report())
        expect(one.ask("memory(4096)") == "0", one.report())
        (session,) = server.sessions()
        expect(session["gpu_mem_bytes"] == 2 * MIB, f"it takes the block: {session}")
        server.limit("gpu-mem=1MiB")
        with chargers(build, server, 1) as (other,):
            expect(free(other) == 0, other.report())
            expect(other.ask("memory(4096)") == "2", other.report())


def follow(teller, changer, most):
    """Each change by another program is in the next answer."""
    limit = free(teller)
    expect(most - 8 * MIB < limit <= most, f"{limit}: all but what the other program keeps")
    for size in (8, 4, 40):
        expect(changer.ask(f"memory({size * MIB})") == "0", changer.report())
        before = limit
        limit = free(teller)
        expect(limit == before - size * MIB, f"{limit} of {before}, {size} MiB")
    return limit


def test_of_what_others_change(build):
    """Allocations and releases, the end of a program, limits that change; on each GPU."""
    with limited(build, "gpu-mem=100MiB", "gpu-mem-per-gpu=90MiB", gpus=2) as server, \
            chargers(build, server, 2) as (one, other):
        left = follow(one, other, 90 * MIB)
        server.limit("gpu-mem=95MiB")
        wait_until(lambda: free(one) == left, 5, "the limit of a GPU is the least still")
        server.limit("gpu-mem-per-gpu=80MiB")
        wait_until(lambda: free(one) == left - 10 * MIB, 5, "the lower limit holds")
        server.limit("gpu-mem=70MiB")
        wait_until(lambda: free(one) == left - 20 * MIB, 5, "the least one holds")
        other.kill()
        wait_until(lambda: free(one) == 70 * MIB, 10, "what a dead program had is free")


def test_limits_that_come_later(build):
    """Programs that have memory already count from the first limit on."""
    with limited(build) as server, chargers(build, server, 2) as (one, other):
        expect(one.ask(f"memory({8 * MIB})") == other.ask(f"memory({8 * MIB})") == "0", "they have")
        server.limit("gpu-mem=100MiB")
        wait_until(lambda: max(free(one), free(other)) <= 84 * MIB, 5, "the limit holds")
        for program, teller in ((one, other), (other, one)):
            before = free(teller)
            expect(program.ask(f"memory({4 * MIB})") == "0", program.report())
            expect(free(teller) == before - 4 * MIB, teller.report())
        expect_no_question(server, one)
        expect_no_question(server, other)


def test_of_a_user(build):
    """A user's limit is the user's own; that of the tenant counts the memory of its other users."""
    with lab(build, ["gpu-mem=100MiB"], ["gpu-mem=40MiB"]) as made:
        ana, ben = Charger(build, made.env("ana")), Charger(build, made.env("ben"))
        before = free(ben)  # all but what the other program keeps
        expect(free(ana) == 40 * MIB and 90 * MIB < before <= 100 * MIB, ana.report())
        expect(ben.ask(f"memory({50 * MIB})") == "0" and free(ana) == 40 * MIB, ben.report())
        expect(ben.ask(f"memory({20 * MIB})") == "0", ben.report())
        expect(22 * MIB < free(ana) <= 30 * MIB, ana.report())
        expect(free(ben) == before - 70 * MIB, ben.report())
        expect_no_question(made.server, ana)
        ana.close()
        ben.close()


@contextlib.contextmanager
def stopped(server):
    server.kill(signal.SIGSTOP)
    try:
        yield
    finally:
        server.kill(signal.SIGCONT)


def test_gpuaasd_is_silent(build):
    """A program whose question is not answered reads an error, no wrong number; another program of
    the same process has as long for its own question, from its turn on."""
    with limited(build, "gpu-mem=100MiB", extra={"GPUAAS_TEST_SEATS": "2"},
                 server_keys=["spare_backends = 0"]) as server, \
            chargers(build, server, 2) as (one, other):
        expect(len(server.backends()) == 1, "one process")
        before = free(one)
        server.limit("gpu-mem=90MiB")
        wait_until(lambda: free(one) == before - 10 * MIB, 5, "the new limit")
        other.ask(f"memory({8 * MIB})")  # what was told does not hold any more
        with stopped(server):
            one.say("free()")
            time.sleep(0.5)  # behind the first question
            other.say("free()")
            expect("error 802" in one.hear(), one.report())
            wait_until(lambda: "gpuaasd does not answer" in one.err.text, 5, one.report())
            time.sleep(1)  # longer than between the two questions
        expect(0 < int(other.hear()) < before, other.report())
        expect(free(one) == before - 18 * MIB, one.report())


if __name__ == "__main__":
    harness.main(globals())
