#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Limits of a user of a tenant (docs/quotas.md): they hold for all programs of the user together,
within what the tenant may have; who meets one is told whose limit it is; the tenant's other users
notice nothing."""


from lib import harness
from lib.harness import expect, wait_until
from lib.lab import lab


def expect_note(player, text):
    wait_until(lambda: any(text in line for line in player.err.lines), 10,
               f"{text!r} is told\n{player.report()}")


def test_memory(build):
    with lab(build, ["gpu-mem=200MiB"], ["gpu-mem=64MiB"]) as here, \
            here.players("ana", "ana", "ben") as (ana, again, ben):
        expect(ana.free() <= 64 < ben.free(), "each is told what he may have")
        expect(ana.ask("take 40") == "took", ana.report())
        expect(again.ask("take 40") == "cudaErrorMemoryAllocation", again.report())
        expect_note(again, "limit gpu-mem of user ana of tenant lab: 64MiB allowed")
        expect(again.ask("take 16") == "took", "what is left of hers\n" + again.report())
        expect(ben.ask("take 120") == "took", "his tenant has more\n" + ben.report())
        expect(ben.ask("take 40") == "cudaErrorMemoryAllocation", ben.report())
        expect_note(ben, "limit gpu-mem of tenant lab: 200MiB allowed")
        expect(ana.ask("give") == "gave" and again.ask("take 40") == "took", again.report())


def test_other_limits_while_it_runs(build):
    with lab(build, ["gpu-mem=200MiB"], ["gpu-mem=64MiB"]) as here, \
            here.players("ana") as (ana,):
        expect(ana.ask("take 50") == "took", ana.report())
        expect(ana.ask("take 100") == "cudaErrorMemoryAllocation", ana.report())
        told = here.admin.run("user", "set-quota", "lab", "ana", "gpu-mem=16MiB")
        expect("ana already uses" in told.out.text + told.err.text, told.report())
        expect(ana.ask("give") == "gave", ana.report())
        here.admin.run("user", "set-quota", "lab", "ana", "gpu-mem=150MiB")
        wait_until(lambda: ana.ask("take 100") == "took", 10, "the new limit holds")


def expect_refused(here, user, *words):
    process = harness.run([here.build.program("devices")], here.env(user), status=1)
    text = process.err.text
    expect(all(word in text for word in words), f"{words}\n{process.report()}")


def test_sessions(build):
    with lab(build, of_ana=["sessions=1"]) as here, here.players("ana") as (ana,):
        ana.free()  # it is connected
        expect_refused(here, "ana", "limit sessions of user ana of tenant lab: 1 allowed, 1 used")
        harness.run_passing([build.program("vector_add")], here.env("ben"))


def test_idle_timeout(build):
    with lab(build, of_ana=["idle-timeout=1s"]) as here, here.players("ana") as (ana,):
        ana.free()
        expect_note(ana, "limit idle-timeout of user ana of tenant lab: 1s allowed")


if __name__ == "__main__":
    harness.main(globals())
