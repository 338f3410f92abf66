#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every refusal, for whatever reason, is in the audit log, with the identity, and is counted:
programs by limits, drains, GPUs that others have, and people who may not administer."""

import contextlib
import os
import signal

from lib import audit_log, ctl, harness, tokens
from lib.harness import expect, wait_until
from lib.metrics import metrics_of, place_of
from lib.player import Player


class Refusing(audit_log.Audited):
    def __init__(self, build, folder, server):
        super().__init__(build, folder, server)
        self.build, self.place = build, place_of(server)

    def member(self, tenant, *limits):
        """The environment of a program of a new tenant."""
        self.ctl.run("tenant", "add", tenant, *limits)
        token = os.path.join(os.path.dirname(self.folder), f"{tenant}.token")
        self.ctl.run("token", "issue", tenant, "--out", token)
        return self.build.remote([self.server], GPUAAS_TOKEN_FILE=token)

    def count(self, reason):
        return metrics_of(self.place)[f'gpuaas_refusals_total{{reason="{reason}"}}']

    def of_limit(self, tenant, limit):
        return metrics_of(self.place).get(
            f'gpuaas_tenant_refusals_total{{tenant="{tenant}",limit="{limit}"}}', 0)

    def expect_line(self, reason, **members):
        line = self.wait_for("session.refused", reason=reason, **members)
        expect(line["detail"] and line["address"].startswith("127.0.0.1") and
               "(pid " in line["program"], f"{line}")
        return line


@contextlib.contextmanager
def refusing(build, more="", gpus=1):
    with audit_log.scratch() as folder:
        keys = (f"audit_log = {folder}/audit\nadmin_socket = {folder}/admin.sock\n"
                f"http = 127.0.0.1:0\n{more}")
        with tokens.guarded(build, more=keys, gpus=gpus) as server:
            yield Refusing(build, folder, server)


def test_limits(build):
    with refusing(build, gpus=2) as log:
        env = log.member("lab", "sessions=1", "gpus=1", "gpu-mem=64MiB")
        with contextlib.closing(Player(build, env)) as player:
            expect(player.ask("take 3") == "took", player.report())
            tokens.expect_refused(build, env, "limit sessions of tenant lab")
            line = log.expect_line("limit", tenant="lab", limit="sessions")
            expect("1 allowed, 1 used" in line["detail"], f"{line}")
            expect(log.count("limit") == log.of_limit("lab", "sessions") == 1, "counted")
            player.ask("device 1")
            log.expect_line("limit", tenant="lab", limit="gpus")
            expect(log.of_limit("lab", "gpus") >= 1, "counted")
        with contextlib.closing(Player(build, env)) as player:
            expect(player.ask("take 100") != "took", "more than it may have")
            wait_until(lambda: log.of_limit("lab", "gpu-mem") >= 1, 20, "memory is counted")
        wait_until(lambda: metrics_of(log.place)["gpuaas_sessions"] == 0, 20, "it has gone")
        expect(log.of_limit("lab", "sessions") == 1, "counters outlive programs")
        types = log.member("old", "gpu-types=A100")
        tokens.expect_refused(build, types, "gpu-types of tenant old")
        log.expect_line("gpu_types", tenant="old")
        spent = log.member("poor", "gpu-seconds=0s/month")
        tokens.expect_refused(build, spent, "limit gpu-seconds")
        log.expect_line("limit", tenant="poor", limit="gpu-seconds-month")
        log.verify()


def test_drain_and_exclusive(build):
    with refusing(build) as log:
        env, alone = log.member("lab"), log.member("alone", "isolation=exclusive")
        with contextlib.closing(Player(build, env)) as player:
            expect(player.ask("take 3") == "took", player.report())
            harness.run([build.program("hello")], alone, status=None)
            log.expect_line("gpu_taken", tenant="alone")
            log.ctl.run("drain", "node", "--reason", "new fan")
            harness.run([build.program("hello")], env, status=None)
            line = log.expect_line("drain", tenant="lab")
            expect("new fan" in line["detail"], f"{line}")
        expect(log.count("drain") >= 1 and log.count("gpu_taken") >= 1, "both are counted")
        log.ctl.run("undrain", "node")
        log.ctl.run("drain", "gpu", "0", "--reason", "new cable")
        harness.run([build.program("hello")], env, status=None)
        wait_until(lambda: any("new cable" in each.get("detail", "") for each in log.lines()), 20,
                   "a GPU's drain, too")


def test_storms(build):
    """A program that asks again and again fills no disk, and hides no strangers' failures."""
    with refusing(build) as log:
        env = log.member("lab", "sessions=0")
        for _ in range(3):
            tokens.expect_refused(build, env, "limit sessions")
        asked = 0
        while asked < 130:
            processes = [harness.Process([build.program("devices")], env) for _ in range(10)]
            for process in processes:
                process.wait(60)
            asked += len(processes)
        tokens.expect_refused(build, tokens.with_token(build, log.server, "gpuaas_wrong"),
                              tokens.NOT_ACCEPTED)
        log.wait_for("auth.fail")
        refused = [line for line in log.lines() if line["event"] == "session.refused"]
        counted = log.count("limit")
        expect(counted >= 133 and len(refused) < counted, f"{counted} {len(refused)}")
        wait_until(lambda: counted == sum(
            each.get("left_out", 0) + (each["event"] == "session.refused")
            for each in log.lines()), 30, "all are counted")


def test_who_may_not_administer(build):
    if os.getuid() != 0:
        print("  (left out: only root can be somebody else)")
        return
    stranger = ["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups"]
    with refusing(build) as log:
        os.chmod(os.path.dirname(log.folder), 0o755)
        os.chmod(log.ctl.socket, 0o666)
        for words in (("health",), ("tenant", "add", "mine")):
            log.ctl.run(*words, prefix=stranger, status=ctl.DENIED)
        line = log.wait_for("admin.refused", who="uid:12345")
        expect("none of them" in line["error"] and line["pid"] > 0, f"{line}")
        expect(metrics_of(log.place)["gpuaas_admin_refusals_total"] == 2, "counted")
        log.verify()


def test_end_of_gpuaasd(build):
    """Programs are told that the server stops, and so is the audit log; nothing else is said."""
    for number in (signal.SIGTERM, signal.SIGINT):
        with refusing(build) as log:
            env = log.member("lab")
            with harness.running([build.program("endless"), "kernel"], env) as program, \
                    harness.running([build.program("endless"), "idle"], env) as idle:
                for each in (program, idle):
                    each.wait_for_line("started", 60)
                log.server.kill(number)
                program.wait_for_line("cudaDeviceSynchronize: error 719", 30)
                program.wait(30)
                for each in (program, idle):
                    wait_until(lambda each=each: "the server is being stopped" in each.err.text, 20,
                               each.report())
                    expect("connection ended" not in each.err.text, each.report())
                expect(log.server.wait(20) == 0, log.server.report())
            closes = [line for line in log.lines() if line["event"] == "session.close"]
            expect([line["reason"] for line in closes] == ["the server is being stopped"] * 2,
                   f"{log.lines()}")
            log.wait_for("server.end")
            log.verify()


def test_end_beside_a_program_that_stands_still(build):
    """gpuaasd ends all the same, and the program is told when it goes on."""
    with refusing(build) as log:
        env = log.member("lab")
        with harness.running([build.program("endless"), "kernel"], env) as program:
            program.wait_for_line("started", 60)
            program.kill(signal.SIGSTOP)
            log.server.kill(signal.SIGTERM)
            expect(log.server.wait(20) == 0, log.server.report())
            program.kill(signal.SIGCONT)
            program.wait_for_line("cudaDeviceSynchronize: error 719", 30)
            wait_until(lambda: "the server is being stopped" in program.err.text, 20,
                       program.report())


if __name__ == "__main__":
    harness.main(globals())
