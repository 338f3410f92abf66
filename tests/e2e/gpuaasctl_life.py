#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpuaasctl drains and fills a node and its GPUs, makes gpuaasd read its configuration anew, has an
authority of certificates, reads the audit log, and copies the database."""

import contextlib
import os
import signal
import stat
import subprocess
import tempfile

from lib import ctl, harness
from lib.ctl import CONFLICT, ERROR, NOT_FOUND, TIMEOUT, USAGE
from lib.harness import expect, wait_until
from lib.player import Player


def test_drain(build):
    """Nobody new comes, those that are there are told and go on; undone by undrain."""
    with ctl.administered(build, gpus=2) as (server, admin), \
            contextlib.closing(Player(build, build.remote([server]))) as player:
        player.free()
        text = admin.text("drain", "node", "--reason", "kernel update", "--dry-run")
        expect("state ready -> draining" in text and "dry run" in text, text)
        expect(admin.json("health")["state"] == "serving", "nothing is done")
        change = admin.json("drain", "node", "--reason", "kernel update", "--deadline", "1h")
        expect(change["before"]["state"] == "ready" and change["after"]["state"] == "draining" and
               3500000 < change["after"]["deadline_ms"] <= 3600000, f"{change}")
        health = admin.json("health", status=ERROR)
        expect(health["state"] == "draining" and health["reason"] == "kernel update", f"{health}")
        player.wait_for_line("kernel update", 20, player.err)
        refused = harness.run([build.program("hello")], build.remote([server]), status=None)
        expect(refused.status != 0 and "kernel update" in refused.err.text, refused.report())
        admin.wrong(TIMEOUT, "drain", "node", "--reason", "x", "--wait", "--timeout", "1", "-q",
                    says="drains on")
        expect(player.free() > 0, "it goes on")
        text = admin.text("undrain", "node")
        expect("state draining -> ready" in text, text)
        harness.run_passing([build.program("hello")], build.remote([server]))
        player.end()
        told = admin.run("drain", "node", "--reason", "x", "--wait").err.text
        expect("node: drained" in told, told)
        expect(admin.json("health", status=ERROR)["state"] == "drained", "nobody is left")
        expect("as it was" not in admin.text("undrain", "node"), "back")


def test_drain_waits(build):
    """It tells how many are left; a gpuaasd that is silent for a while does not end the wait."""
    with ctl.administered(build) as (server, admin), \
            contextlib.closing(Player(build, build.remote([server]))) as player:
        player.free()
        words = [admin.program, "--server", f"unix:{admin.socket}", "drain", "node", "--reason",
                 "x", "--wait"]
        with harness.running(words, admin.env) as drain:
            drain.wait_for_line("node: waiting for 1 session", 20, drain.err)
            server.kill(signal.SIGSTOP)
            try:
                drain.wait_for_line("still waiting", 30, drain.err)
            finally:
                server.kill(signal.SIGCONT)
            player.end()
            expect(drain.wait(30) == 0 and "node: drained" in drain.err.text, drain.report())


def test_drain_gpu(build):
    with ctl.administered(build, gpus=2) as (_, admin):
        admin.run("drain", "gpu", "1", "--reason", "fan")
        wait_until(lambda: [gpu["state"] for gpu in admin.items("gpus")] == ["ready", "drained"],
                   10, "the second one")
        expect(admin.items("gpus")[1]["reason"] == "fan", "why")
        expect(admin.json("health")["state"] == "serving", "the node serves")
        admin.run("undrain", "gpu", "1")
        expect("as it was" in admin.text("undrain", "gpu", "1"), "once more is no error")
        for words, status, *says in (
                (["drain", "gpu", "2", "--reason", "x"], NOT_FOUND, "no GPU 2"),
                (["drain", "gpu", "--reason", "x"], USAGE, "which GPU"),
                (["drain", "gpu", "x", "--reason", "x"], USAGE, "its number"),
                (["drain", "node", "1", "--reason", "x"], USAGE, "no number"),
                (["drain", "pool", "--reason", "x"], USAGE, "node, or gpu"),
                (["drain", "node"], USAGE, "--reason"),
                (["drain", "node", "--reason", "x", "--deadline", "soon"], USAGE, "s, m, h"),
                (["drain"], USAGE, "an argument is missing")):
            admin.wrong(status, *words, says=says)


def test_killed_session_is_told(build):
    with ctl.administered(build) as (server, admin), \
            contextlib.closing(Player(build, build.remote([server]))) as player:
        player.free()
        admin.run("sessions", "kill", admin.items("sessions")[0]["id"], "--yes", "--reason",
                  "too loud")
        player.wait_for_line("too loud", 20, player.err)
        wait_until(lambda: not admin.items("sessions"), 20, "it is gone")
        with contextlib.suppress(harness.Failure, OSError):
            expect("719" in player.ask("free"), player.report())


def test_reload(build):
    with tempfile.TemporaryDirectory() as folder:
        admin = ctl.Ctl(build, folder)
        with harness.serving(build, config=ctl.configuration(folder)) as server:
            def rewrite(old, new):
                with open(server.config, encoding="utf-8") as file:
                    text = file.read()
                with open(server.config, "w", encoding="utf-8") as file:
                    file.write(text.replace(old, new))
            expect(admin.json("reload")["restart_needed"] is None, "as it was")
            rewrite("[gpu.0]", "ticket_s = 7\n[gpu.0]")
            said = admin.run("reload", "--dry-run").err.text
            expect("would be read (dry run: nothing is done)" in said, said)
            expect(admin.json("config", "show")["sections"]["server"]["ticket_s"] != "7", "not yet")
            admin.run("reload")
            expect(admin.json("config", "show")["sections"]["server"]["ticket_s"] == "7", "it is")
            rewrite("[gpu.0]", "clients = 9\n[gpu.0]")
            tried = admin.json("reload", "--dry-run")
            expect(tried["restart_needed"] == "clients", f"{tried}")
            process = admin.run("reload")
            expect("restart is needed" in process.err.text and "clients" in process.err.text,
                   process.report())
            rewrite("ticket_s = 7", "ticket_s = x")
            admin.wrong(ERROR, "reload", "--dry-run", says="nothing would change")
            admin.wrong(ERROR, "reload", says="nothing has changed")
            expect(admin.json("config", "show")["sections"]["server"]["ticket_s"] == "7", "still")


def test_authority(build):
    with ctl.administered(build) as (server, admin), tempfile.TemporaryDirectory() as folder:
        ca, out = os.path.join(folder, "ca"), os.path.join(folder, "one")
        admin.wrong(NOT_FOUND, "ca", "show", "--ca", ca, server=False)
        init = ["ca", "init", "--ca", ca, "--name", "our lab", "--dry-run"]
        said = admin.run(*init, server=False).err.text
        expect("our lab would be made" in said and not os.path.exists(ca), said)
        expect(admin.json(*init, server=False)["fingerprint"] is None, "there is none")
        made = admin.json("ca", "init", "--ca", ca, "--name", "our lab", server=False)
        expect(made["name"] == "our lab" and made["earlier"] == 0, f"{made}")
        admin.wrong(CONFLICT, "ca", "init", "--ca", ca, server=False)
        admin.wrong(CONFLICT, *init, server=False)
        said = admin.run("ca", "rotate", "--ca", ca, "--dry-run", server=False).err.text
        expect("would get a new key" in said, said)
        expect(admin.json("ca", "show", "--ca", ca, server=False) == made, "as it was")
        admin.run("tenant", "add", "a")
        admin.run("user", "add", "a", "ana")
        cert = admin.json("cert", "issue", "a", "--user", "ana", "--ca", ca, "--out", out)
        expect(cert["certificate"] == out + ".crt" and cert["after"]["tenant"] == "a" and
               cert["after"]["user"] == "ana", f"{cert}")
        expect(stat.S_IMODE(os.stat(out + ".key").st_mode) == 0o600, "the key is its owner's")
        shown = subprocess.run(["openssl", "x509", "-in", out + ".crt", "-noout", "-text",
                                "-fingerprint", "-sha256"], check=True, capture_output=True,
                               text=True).stdout
        listed, = admin.items("cert", "list", "a")
        expect(f"URI:gpuaas://tenant/a/{listed['id']}" in shown and
               listed["fingerprint"] in shown.replace(":", "").lower() and
               listed["state"] == "valid", f"{listed}\n{shown}")
        admin.wrong(CONFLICT, "cert", "issue", "a", "--ca", ca, "--out", out, says="one.")
        admin.wrong(NOT_FOUND, "cert", "issue", "b", "--ca", ca, "--out", out + "2", says="b")
        expect(not os.path.exists(out + "2.crt") and not os.path.exists(out + "2.key"),
               "nothing is left of it")
        admin.wrong(USAGE, "cert", "issue", "a", "--ca", ca, "--ttl", "x")
        admin.run("cert", "issue-server", "127.0.0.1", "localhost", "--ca", ca, "--out",
                  os.path.join(folder, "server"))
        scopes = {each["scope"] for each in admin.items("cert", "list")}
        expect(scopes == {"tenant", "server"}, f"{scopes}")
        text = admin.text("cert", "revoke", listed["id"], "--yes")
        expect("state valid -> revoked" in text, text)
        admin.wrong(USAGE, "ca", "rotate", "--ca", ca, says="--yes", server=False)
        rotated = admin.json("ca", "rotate", "--ca", ca, "--yes", server=False)
        expect(rotated["fingerprint"] != made["fingerprint"] and rotated["earlier"] == 1,
               f"{rotated}")
        expect(server.running(), "it serves")


def test_dry_run_of_certificates(build):
    with ctl.administered(build) as (_, admin):
        admin.run("tenant", "add", "a")
        admin.run("user", "add", "a", "ana")
        authority = ["--ca", os.path.join(admin.folder, "ca")]
        admin.run("ca", "init", *authority, server=False)
        admin.run("cert", "issue", "a", *authority, "--out", os.path.join(admin.folder, "d"))
        before = admin.items("cert", "list")
        there = os.path.join(admin.folder, "d")
        for words in (["cert", "issue", "a", "--user", "ana"], ["cert", "issue-admin", "ana"],
                      ["cert", "issue-server", "gpu1"]):
            words += ["--dry-run", *authority, "--out"]
            said = admin.run(*words, f"{admin.folder}/new").err.text
            expect("would be in" in said and "dry run: nothing is done" in said, said)
            document = admin.json(*words, f"{admin.folder}/new")
            expect(document["before"] is None and document["after"]["state"] == "valid",
                   f"{document}")
            admin.wrong(CONFLICT, *words, there, says="d.crt is there already")
            admin.wrong(ERROR, *words, "/nonexistent/x", says="No such file")
        expect(not os.path.exists(f"{admin.folder}/new.key"), "no file is made")
        admin.wrong(NOT_FOUND, "cert", "issue", "x", "--dry-run", *authority, says="x")
        admin.wrong(NOT_FOUND, "cert", "issue", "a", "--user", "bob", "--dry-run", *authority)
        expect(admin.items("cert", "list") == before, "as it was")


def test_audit(build):
    """`tail` and `verify` of a log whose lines are made by hand, so they are not as written."""
    with tempfile.TemporaryDirectory() as folder:
        admin = ctl.Ctl(build, folder)
        admin.wrong(NOT_FOUND, "audit", "tail", "--log", folder, server=False, says="no audit log")
        admin.wrong(NOT_FOUND, "audit", "verify", "--log", folder, server=False)
        with open(os.path.join(folder, "audit-2026-11-25.log"), "w", encoding="utf-8") as file:
            for number in range(1, 31):
                file.write('{"time":"2026-11-25T10:00:00Z","seq":%d,"event":"auth.refused",'
                           '"who":"a\\u001b[31mb","hash":"00"}\n' % number)
        text = admin.text("audit", "tail", "--log", folder, server=False)
        lines = text.splitlines()
        expect(len(lines) == 20 and "auth.refused" in lines[0] and "seq=11" in lines[0] and
               "\x1b" not in text, text)
        text = admin.text("audit", "tail", "--log", folder, "-n", "2", "--json", server=False)
        expect(len(text.splitlines()) == 2 and '"seq":30' in text, text)
        admin.wrong(USAGE, "audit", "tail", "--log", folder, "--lines", "0", server=False)
        process = admin.run("audit", "verify", "--log", folder, server=False, status=ERROR)
        expect("not as it was written" in process.err.text and
               "audit-2026-11-25.log:1:" in process.err.text, process.report())
        document = admin.json("audit", "verify", "--log", folder, server=False, status=ERROR)
        expect(document["findings"], f"{document}")
        with ctl.administered(build) as (_, other):
            other.wrong(NOT_FOUND, "audit", "verify", says="audit_log")


def test_database(build):
    """A copy while it is used; a check; the copy in its place, with gpuaasd stopped."""
    with tempfile.TemporaryDirectory() as folder:
        path, copy = os.path.join(folder, "gpuaas.db"), os.path.join(folder, "copy.db")
        admin, config = ctl.Ctl(build, folder), ctl.configuration(folder, keys=f"store = {path}")
        with harness.serving(build, config=config):
            admin.run("tenant", "add", "a")
            admin.run("db", "backup", copy, "--dry-run")
            expect(os.listdir(folder).count("copy.db") == 0, "none is made")
            admin.run("db", "backup", copy)
            expect(stat.S_IMODE(os.stat(copy).st_mode) == 0o600, "for its owner alone")
            admin.run("tenant", "add", "b")
            expect(admin.json("db", "check")["findings"] == [], "sound")
            for more in ("--yes", "--dry-run"):
                admin.wrong(ERROR, "db", "restore", copy, "--store", path, more, server=False,
                            says="stop")
        admin.wrong(USAGE, "db", "restore", copy, server=False, says="--store FILE")
        admin.wrong(USAGE, "db", "restore", copy, "--store", path, server=False, says="--yes")
        before = sorted(os.listdir(folder))
        said = admin.run("db", "restore", copy, "--store", path, "--dry-run", server=False).err.text
        expect("would be put" in said and sorted(os.listdir(folder)) == before, said)
        admin.run("db", "restore", copy, "--store", path, "--yes", server=False)
        with harness.serving(build, config=config):
            expect([each["name"] for each in admin.items("tenant", "list")] == ["a", "default"],
                   "as it was when it was copied")
        with open(copy, "r+b") as file:
            file.seek(4096)
            file.write(b"damage" * 2000)
        expect(admin.json("db", "check", copy, server=False, status=ERROR)["findings"], "damaged")
        for more in ("--yes", "--dry-run"):
            admin.wrong(ERROR, "db", "restore", copy, "--store", path, more, server=False)
        admin.wrong(NOT_FOUND, "db", "check", "/nonexistent", server=False)
    with ctl.administered(build) as (_, admin):
        admin.wrong(NOT_FOUND, "db", "backup", "/tmp/none", says="in memory")


if __name__ == "__main__":
    harness.main(globals())
