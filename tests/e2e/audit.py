#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The audit log (key audit_log): who was let in, refused, what admins have changed; and a disk
without room, which keeps new programs out, as long as it lasts, and disturbs no others."""

import contextlib
import json
import os
import subprocess
import time

from lib import ctl, harness, tokens
from lib.audit_log import Audited, scratch
from lib.harness import expect, wait_until

RECOVERED_SECONDS = 10


@contextlib.contextmanager
def audited(build, folder, more=""):
    keys = (f"audit_log = {folder}/audit\n"
            f"admin_socket = {folder}/admin.sock\n{more}")
    with tokens.guarded(build, more=keys) as server:
        yield Audited(build, folder, server)


def test_who_was_let_in_and_refused(build):
    with scratch() as folder:
        with audited(build, folder) as log:
            server = log.server
            server.change("add", "lab")
            number, token = server.token("lab")
            harness.run_passing([build.program("hello")], tokens.with_token(build, server, token))
            line = log.wait_for("auth.ok", by="token", credential=number)
            expect(line["tenant"] == "lab" and line["address"].startswith("127.0.0.1"), line)
            opened = log.wait_for("session.open", tenant="lab")
            expect("hello" in opened["program"] and opened["transport"] == "tcp", opened)
            log.wait_for("session.close", session=opened["session"], reason="ended")
            wrong = token[:30] + ("A" if token[30] != "A" else "B") + token[31:]
            tokens.expect_refused(build, tokens.with_token(build, server, wrong),
                                  tokens.NOT_ACCEPTED)
            line = log.wait_for("auth.fail", reason="wrong")
            expect(number in line["detail"], f"the log says which credential: {line}")
            text = json.dumps(log.lines())
            expect(token[20:] not in text and wrong[20:] not in text, "no secret is written")
            log.verify()
        log.wait_for("server.end")
        log.verify()
        # A hand that changes it is found, also by gpuaasctl.
        with open(log.newest(), encoding="ascii") as file:
            changed = file.read().replace('"reason":"wrong"', '"reason":"right"')
        with open(log.newest(), "w", encoding="ascii") as file:
            file.write(changed)
        said = log.ctl.run("audit", "verify", "--log", log.folder, server=False, status=ctl.ERROR)
        expect("was changed" in said.out.text + said.err.text, said.report())


def test_what_admins_change(build):
    with scratch() as folder, audited(build, folder) as log:
        log.ctl.run("tenant", "add", "lab", "gpus=1")
        line = log.wait_for("admin.change", verb="tenant.add")
        expect(line["who"] == f"uid:{os.getuid()}" and '"lab"' in line["arguments"] and
               '"gpus":1' in line["after"], line)
        log.ctl.run("tenant", "set-quota", "lab", "gpus=2")
        line = log.wait_for("admin.change", verb="tenant.set-quota")
        before, after = json.loads(line["before"]), json.loads(line["after"])
        expect((before["limits"], after["limits"]) == ({"gpus": 1}, {"gpus": 2}) and
               "isolation" not in after, line)
        log.ctl.run("tenant", "set-quota", "lab", "isolation=exclusive")
        line = wait_until(lambda: next((each for each in log.lines() if "isolation=exclusive" in
                                        each.get("arguments", "")), None), 20, "the next one")
        expect(json.loads(line["before"])["isolation"] == "app" and
               json.loads(line["after"])["isolation"] == "exclusive", line)
        log.ctl.run("tenant", "describe", "lab", "of us")
        line = log.wait_for("admin.change", verb="tenant.describe")
        expect('"description":"of us"' in line["after"], line)
        log.ctl.run("--dry-run", "tenant", "set-quota", "lab", "gpus=3")
        log.ctl.run("tenant", "resume", "nobody", status=ctl.NOT_FOUND)
        line = log.wait_for("admin.refused", verb="tenant.resume")
        expect("nobody" in line["error"], line)
        token = log.ctl.json("token", "issue", "lab")
        line = log.wait_for("admin.change", verb="token.issue")
        secret = next(value for value in json.dumps(token).split('"')
                      if value.startswith("gpuaas_"))
        text = json.dumps(log.lines())
        expect(secret[20:] not in text, "no secret is written")
        expect("gpus=3" not in text, "what was only tried has changed nothing")
        log.verify()


@contextlib.contextmanager
def without_room(log):
    """Writing to the newest file of the log fails as on a full disk."""
    pid = log.server.pid
    tracer = subprocess.Popen(["strace", "-qq", "-e", "trace=pwrite64", "-e",
                               "inject=pwrite64:error=ENOSPC", "-P", log.newest(), "-p", str(pid)],
                              stderr=subprocess.DEVNULL)

    def attached():
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            return f"TracerPid:\t{tracer.pid}\n" in file.read()
    try:
        wait_until(attached, 20, "strace has attached")
        yield
    finally:
        tracer.terminate()
        tracer.wait(20)


def full(build, more, admitted):
    with scratch() as folder, audited(build, folder, more) as log:
        server = log.server
        server.change("add", "lab")
        env = tokens.with_token(build, server, server.token("lab")[1])
        with harness.running([build.program("endless"), "kernel"], env) as neighbour:
            neighbour.wait_for_line("started", 60)
            with without_room(log):
                for _ in range(2):
                    if admitted:
                        harness.run_passing([build.program("hello")], env)
                    else:
                        tokens.expect_refused(build, env, "cannot write its audit log")
                wait_until(lambda: "make room on its disk" in server.err.text, 10,
                           f"the log of gpuaasd says it\n{server.report()}")
                expect(neighbour.running(), f"what runs goes on\n{neighbour.report()}")
            began = time.monotonic()
            wait_until(lambda: "the audit log is written again" in server.err.text,
                       RECOVERED_SECONDS, f"it recovers by itself\n{server.report()}")
            expect(time.monotonic() - began < RECOVERED_SECONDS, "soon")
            harness.run_passing([build.program("hello")], env)
            expect(neighbour.running(), f"what runs goes on\n{neighbour.report()}")
        line = log.wait_for("audit.resumed")
        expect(line["lost"] >= 2, f"lines that were lost are counted: {line}")
        log.verify()


def test_a_full_disk_keeps_new_programs_out(build):
    full(build, "", False)


def test_or_only_loses_lines(build):
    full(build, "audit_full = drop\n", True)


def test_what_cannot_be_opened(build):
    with scratch() as folder, audited(build, folder) as log:
        config = harness.configuration(1, keys=[f"audit_log = {log.folder}"])
        with scratch() as other:
            path = os.path.join(other, "second.conf")
            with open(path, "w", encoding="ascii") as file:
                file.write(config)
            second = harness.run([build.path("bin", "gpuaasd"), "--config", path],
                                 build.environment(preload=False), status=1)
            expect("another process writes the audit log" in second.err.text, second.report())


def test_what_others_could_change(build):
    """gpuaasd neither starts with such a log nor takes a configuration anew, and says the cure."""
    with scratch() as folder:
        path = os.path.join(folder, "first.conf")
        keys = f"audit_log = {folder}/audit\nadmin_socket = {folder}/admin.sock\n"
        with open(path, "w", encoding="ascii") as file:
            file.write(harness.configuration(1, keys=[keys]))

        def refused(*words):
            said = harness.run([build.path("bin", "gpuaasd"), "--config", path, *words],
                               build.environment(preload=False), status=1)
            expect("[server] audit_log: " in said.err.text and cure in said.err.text, said.report())

        with audited(build, folder) as log:
            for name, wrong, right in (("", 0o777, 0o700), ("head", 0o666, 0o600),
                                       (os.path.basename(log.newest()), 0o620, 0o600)):
                place = os.path.join(log.folder, name).rstrip("/")
                cure = f"chmod {right:04o} {place}"
                os.chmod(place, wrong)
                log.ctl.wrong(ctl.ERROR, "reload", says=cure)
                refused("--check-config")
                os.chmod(place, right)
                log.ctl.run("reload")
            expect(log.server.running(), "it goes on")
        os.chmod(log.folder, 0o777)
        cure = f"chmod 0700 {log.folder}"
        refused()
        os.chmod(log.folder, 0o700)
        if os.geteuid() == 0:
            os.chown(log.folder, 65534, -1)
            cure = f"chown 0 {log.folder}"
            refused()


if __name__ == "__main__":
    harness.main(globals())
