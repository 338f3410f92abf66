#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program that only looks at the devices uses none (docs/accounting.md, docs/protocol.md): it
keeps nobody out, is no session, and nobody counts it. A program's session begins with the first
device that it opens, for the list of sessions, the limits, the metrics, the audit log and the usage
alike."""

import contextlib
import glob
import json
import os
import re
import signal
import sys
import tempfile
import time
import urllib.request

from lib import ctl, harness
from lib.evaluator import Program
from lib.harness import expect, wait_until
from lib.limited import limited, players, use_up
from lib.two_tenants import gpu, two_tenants

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "faults"))
import raw  # noqa: E402 (it lies beside)
from lib.looking import looking


def gpuaas(build, env, *words, status=0):
    return harness.run([build.path("bin", "gpuaas"), *words], env, status=status)


def test_who_looks_keeps_no_exclusive_tenant_out(build):
    with two_tenants(build, "exclusive") as (server, lab, other):
        with looking(other) as program:
            wait_until(server.backends, 10, "it has been given a backend process beforehand")
            harness.run_passing([build.program("vector_add")], gpu(lab, 0))
            wait_until(lambda: program.ask("open_it()") == (0, 0), 20, "it may open it afterwards")


def test_nor_is_kept_out_by_one_that_looks(build):
    with two_tenants(build, "exclusive") as (server, lab, other), looking(lab) as program:
        wait_until(server.backends, 10, "it has been given a backend process beforehand")
        harness.run_passing([build.program("vector_add")], gpu(other, 0))
        wait_until(lambda: program.ask("open_it()") == (0, 0), 20, "it may open it afterwards")


def test_who_has_looked_finds_it_taken(build):
    with two_tenants(build, "exclusive") as (_, lab, other), looking(other) as program, \
            harness.running([build.program("endless"), "idle"], gpu(lab, 0)) as job:
        job.wait_for_line("started", 60)
        expect(program.ask("open_it()")[0] == 46, program.report())
        wait_until(lambda: "another tenant has it for itself" in program.err.text, 20,
                   f"it is told\n{program.report()}")


def test_one_that_does_not_answer_is_waited_for_in_vain(build):
    """Whether it has opened the GPU nobody knows."""
    with two_tenants(build, "exclusive") as (server, lab, other), looking(other):
        stopped = wait_until(server.backends, 10, "it has one")
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        try:
            late = harness.run([build.program("vector_add")], gpu(lab, 0), status=None)
            expect(late.status != 0 and "another program is about to use it" in late.err.text,
                   late.report())
        finally:
            for pid in stopped:
                os.kill(pid, signal.SIGCONT)
        harness.run_passing([build.program("vector_add")], gpu(lab, 0))


def test_one_that_dies_is_in_nobodys_way(build):
    with two_tenants(build, "exclusive") as (server, lab, other), looking(other):
        stopped = wait_until(server.backends, 10, "it has one")
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        with harness.running([build.program("vector_add")], gpu(lab, 0)) as job:
            time.sleep(0.5)
            for pid in stopped:
                os.kill(pid, signal.SIGKILL)
            job.wait(60)
            expect("PASSED" in job.out.text, job.report())


def test_limits_of_the_own_tenant(build):
    """Devices that another program of the tenant has only looked at do not count for `gpus`; opened
    ones do."""
    with limited(build, "gpus=1", gpus=2) as server:
        env = build.remote([server])
        with looking(env) as program:
            harness.run_passing([build.program("vector_add")], gpu(env, 1))
            wait_until(lambda: program.ask("open_it()") == (0, 0), 20, "it may open one, too")
            late = harness.run([build.program("vector_add")], gpu(env, 1), status=None)
            expect(late.status != 0 and "limit gpus of tenant default: 1 allowed" in late.err.text,
                   late.report())


def test_listings_while_all_sessions_are_used(build):
    with limited(build, "sessions=1") as server, players(build, server, 1) as (player,):
        player.free()
        env = build.remote([server])
        listed = gpuaas(build, env, "devices")
        expect("Soft A0" in listed.out.text and not listed.err.text, listed.report())
        shown = gpuaas(build, env, "status", status=1)
        expect("Soft A0" in shown.out.text and "limit sessions of tenant default" in
               shown.out.text, shown.report())
        told = "limit sessions of tenant default: 1 allowed, 1 used"
        late = gpuaas(build, env, "run", build.program("vector_add"), status=None)
        expect(late.status != 0 and told in late.err.text, late.report())
        # A program that lists them cannot say that it does no more.
        with contextlib.closing(Program(env)) as lister:
            expect(lister.ask("look()")[0] == 800, lister.report())
            wait_until(lambda: told in lister.err.text, 20, lister.report())
        expect(len(server.sessions()) == 1, f"{server.sessions()}")


def test_two_that_begin_at_once(build):
    """Both have greeted while there was none; the second one to open a device is refused."""
    with limited(build, "sessions=1") as server:
        env = build.remote([server])
        with looking(env) as one, looking(env) as other:
            expect(one.ask("open_it()") == (0, 0), one.report())
            expect(other.ask("open_it()")[0] == 46, other.report())
            wait_until(lambda: "limit sessions of tenant default: 1 allowed, 1 used" in
                       other.err.text, 20, f"it is told\n{other.report()}")


def test_gpu_time_is_asked_when_a_session_begins(build):
    """A program that has greeted in time, and has a ticket or not, begins none when the time is
    used up."""
    told = "limit gpu-seconds-day of tenant default: 100s allowed, 101"
    with limited(build, "gpu-seconds=100s/day") as server:
        env = build.remote([server])
        with raw.Raw(server.address) as client, raw.Raw(server.address) as late, \
                looking(env) as program, players(build, server, 1) as (player,):
            expect(player.ask("work 3") == "worked", player.report())
            ticket = client.open()
            use_up(server, 101)
            opcode, said = late.ask_open()
            expect(opcode == raw.REFUSED and told.encode() in said, f"{opcode} {said}")
            time.sleep(3)  # it is looked at once a second
            with client.connect(ticket[0]) as conn:
                opcode, said = client.show(conn, ticket, raw.DATA)
                expect(opcode == raw.REFUSED and b"taken back" in said, f"{opcode} {said}")
            expect(program.ask("open_it()")[0] == 46, program.report())
            wait_until(lambda: told in program.err.text, 20, f"it is told\n{program.report()}")
            expect(player.ask("work 3") == "worked", "who runs goes on")
            expect(len(server.sessions()) == 1, f"{server.sessions()}")
            server.limit("gpu-seconds=200s/day")
            expect(late.ask_open()[0] == raw.TICKET, "there is time again")


def test_who_is_suspended_begins_no_session(build):
    """Whether it has a ticket or asks for one."""
    with two_tenants(build, "app") as (server, _, env):
        told, token = "tenant other is suspended: unpaid", env["GPUAAS_TOKEN"]
        with raw.Raw(server.address, token=token) as client, \
                raw.Raw(server.address, token=token) as late, looking(env) as program, \
                harness.running([build.program("endless"), "idle"], env) as job:
            job.wait_for_line("started", 60)
            ticket = client.open()
            server.change("suspend", "other", "unpaid")
            time.sleep(3)  # changes are looked for once a second
            opcode, said = late.ask_open()
            expect(opcode == raw.REFUSED and told.encode() in said, f"{opcode} {said}")
            with client.connect(ticket[0]) as conn:
                opcode, said = client.show(conn, ticket, raw.DATA)
                expect(opcode == raw.REFUSED and b"taken back" in said, f"{opcode} {said}")
            expect(program.ask("open_it()")[0] == 46, program.report())
            wait_until(lambda: told in program.err.text, 20, f"it is told\n{program.report()}")
            expect(job.running(), "what runs goes on")
            server.change("resume", "other")
            wait_until(lambda: late.ask_open()[0] == raw.TICKET, 20, "it is admitted again")


# ---- one number of sessions


def audited(folder, event):
    count = 0
    for name in glob.glob(f"{folder}/audit/audit-*.log"):
        with open(name, encoding="utf-8") as lines:
            count += sum(json.loads(line).get("event") == event for line in lines)
    return count


def metric(place, name):
    with urllib.request.urlopen(f"http://{place}/metrics", timeout=20) as answer:
        text = answer.read().decode()
    return sum(float(value) for value in re.findall(rf"^{name}(?:{{.*}})? (\S+)$", text, re.M))


def test_all_count_the_same_sessions(build):
    """After probes, listings, programs that use one or both GPUs, ones that look, refused ones."""
    with tempfile.TemporaryDirectory(prefix="gpuaas-observers-") as folder:
        keys = (f"store = {folder}/db\naudit_log = {folder}/audit\nhttp = 127.0.0.1:0\n"
                "ledger_interval_s = 1")
        config = ctl.configuration(folder, gpus=2, keys=keys)
        with harness.serving(build, config=config) as server:
            place = server.wait_for_line(r"monitoring at http://(\S+:\d+)", 20,
                                         server.err).group(1)
            admin, env = ctl.Ctl(build, folder), build.remote([server])
            used = 0
            for _ in range(3):
                gpuaas(build, env, "devices")
                gpuaas(build, env, "run", build.program("vector_add"))
                used += 1
            harness.run_passing([build.program("two_devices")], env)
            gpuaas(build, env, "status")
            used += 2
            with looking(env) as program:
                expect(metric(place, "gpuaas_sessions") == 0, "it is no session")
                admin.run("tenant", "set-quota", "default", "sessions=1")
                expect(program.ask("open_it()") == (0, 0), program.report())
                used += 1
                late = harness.run([build.program("vector_add")], env, status=None)
                expect(late.status != 0 and "limit sessions" in late.err.text, late.report())
                expect(metric(place, "gpuaas_sessions") == len(admin.items("sessions")) == 1,
                       "one runs")
                expect(audited(folder, "session.open") == used, "so many have begun")
            wait_until(lambda: not admin.items("sessions"), 20, "all have ended")
            expect(metric(place, "gpuaas_sessions") == 0, "none is there")
            wait_until(lambda: metric(place, "gpuaas_sessions_closed_total") == used, 20,
                       f"{used} have ended")
            expect(audited(folder, "session.open") == used and
                   audited(folder, "session.close") == used, f"{used} are in the audit log")

            def counted():
                return sum(row["sessions"] for row in admin.items("usage"))
            deadline = time.monotonic() + 20
            while counted() != used and time.monotonic() < deadline:
                time.sleep(0.2)
            expect(counted() == used, f"{counted()} in the usage, not {used}")


if __name__ == "__main__":
    harness.main(globals())
