#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Limits of a user of a tenant (docs/quotas.md): they hold for all programs of the user together,
within what the tenant may have; who meets one is told whose limit it is; the tenant's other users
notice nothing."""

import contextlib
import re
import tempfile

import ctl
import harness
from harness import expect, wait_until
from node import Player

CONFIG = """[server]
listen = tcp://127.0.0.1:0
data_ports = 0
admin_socket = {folder}/admin.sock
store = {folder}/store.db
auth = on
[gpu.0]
driver = soft
memory = 512MiB
sms = 2
[gpu.1]
driver = soft
memory = 512MiB
sms = 2
"""


class Lab:
    """A tenant with the users ana, who has limits, and ben, who has none."""

    def __init__(self, build, folder, server, of_tenant, of_ana):
        self.build, self.server = build, server
        self.admin = ctl.Ctl(build, folder)
        self.admin.run("tenant", "add", "lab", *of_tenant)
        self.tokens = {}
        for user, limits in (("ana", of_ana), ("ben", ())):
            self.admin.run("user", "add", "lab", user, *limits)
            text = self.admin.text("token", "issue", "lab", "--user", user)
            self.tokens[user] = re.search(r"gpuaas[._]\S+", text).group(0)

    def env(self, user):
        return self.build.remote([self.server], GPUAAS_TOKEN=self.tokens[user])

    @contextlib.contextmanager
    def players(self, *users):
        with contextlib.ExitStack() as stack:
            yield [stack.enter_context(contextlib.closing(Player(self.build, self.env(user))))
                   for user in users]


@contextlib.contextmanager
def lab(build, of_tenant=(), of_ana=()):
    with tempfile.TemporaryDirectory(prefix="gpuaas-quotas-") as folder:
        with harness.serving(build, config=CONFIG.format(folder=folder)) as server:
            yield Lab(build, folder, server, of_tenant, of_ana)


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
