#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpuaasctl about tenants, users, tokens and usage: what it changes is so, also for a gpuaasd that
is started anew; a dry run changes nothing; of two admins at once the second one is told; secrets
are shown once."""

import contextlib
import json
import os
import re
import sqlite3
import stat
import tempfile
import time

from lib import ctl, harness
from lib.admin import Raw
from lib.ctl import CONFLICT, ERROR, NOT_FOUND, USAGE
from lib.harness import expect, wait_until
from lib.player import Player

GIB = 1 << 30


def test_tenants(build):
    with ctl.administered(build) as (_, admin):
        expect([each["name"] for each in admin.items("tenant", "list")] == ["default"], "at first")
        text = admin.text("tenant", "add", "ml-lab", "gpu-mem=40GiB", "gpus=2", "sessions=16",
                          "gpu-seconds=100h/month", "gpu-types=H200, A30", "isolation=exclusive",
                          "on-exhausted=suspend", "--desc", "a laboratory")
        expect(text == "ml-lab: made", text)
        shown = admin.json("tenant", "show", "ml-lab")
        expect(shown["limits"]["gpu_mem_bytes"] == 40 * GIB and shown["limits"]["gpus"] == 2 and
               shown["limits"]["gpu_time_month_ms"] == 360000000 and
               shown["limits"]["objects"] is None and shown["isolation"] == "exclusive" and
               shown["on_exhausted"] == "suspend" and shown["gpu_types"] == ["H200", "A30"] and
               shown["description"] == "a laboratory" and shown["state"] == "active" and
               shown["used"]["sessions"] == 0, f"{shown}")
        admin.run("tenant", "add", "big", "gpu-mem=1gib", "module-bytes=2mb")
        limits = admin.json("tenant", "show", "big")["limits"]
        expect(limits["gpu_mem_bytes"] == GIB and limits["module_bytes"] == 2000000, f"{limits}")
        for user in ("ana", "bob"):
            admin.run("user", "add", "big", user)
        admin.run("user", "suspend", "big", "bob", "--reason", "x")
        expect(admin.json("tenant", "show", "big")["users"] ==
               [{"name": "ana", "state": "active"}, {"name": "bob", "state": "suspended"}] and
               re.search(r"users +ana,bob", admin.text("tenant", "show", "big")), "its users")
        table = admin.text("tenant", "list")
        expect(re.search(r"ml-lab +active +0/16 +0 B/40\.0 GiB +0\.0h/100\.0h", table), table)
        card = admin.text("tenant", "show", "ml-lab")
        expect("H200,A30" in card and "objects" not in card, card)
        same = ["tenant", "add", "ml-lab", "gpu-mem=40G", "gpus=2", "sessions=16",
                "gpu-seconds-month=100h", "gpu-types=H200,A30", "isolation=exclusive",
                "on-exhausted=suspend", "--desc", "a laboratory"]
        expect(admin.text(*same) == "ml-lab: as it was", "the same once more is no error")
        admin.wrong(CONFLICT, "tenant", "add", "ml-lab", "gpus=3", says="set-quota")
        text = admin.text("tenant", "set-quota", "ml-lab", "gpu-mem=80GiB", "gpus=-")
        expect("ml-lab: gpu-mem 40GiB -> 80GiB" in text and
               "ml-lab: gpus 2 -> -" in text, text)
        after = admin.json("tenant", "show", "ml-lab")
        expect(after["generation"] == shown["generation"] + 1 and
               after["limits"]["gpus"] is None, f"{after}")



def test_every_limit_is_shown(build):
    """By the name by which it is set; a new row of the table needs nothing else for that."""
    row = re.compile(r'(?m)^LIMIT\(\w+, "([^"]+)", "[^"]+", (\w+), \d+, \w+, (true|false),')
    with open(os.path.join(ctl.ROOT, "api", "limits.def"), encoding="utf-8") as file:
        limits = row.findall(file.read())
    typed = {"BYTES": "3MiB", "BYTES_PER_SECOND": "3MiB/s", "MILLISECONDS": "90s"}
    shown = {"3MiB": "3.0 MiB", "3MiB/s": "3.0 MiB", "90s": "(01:30|1.5m)", "7": "7"}
    with ctl.administered(build) as (_, admin):
        for words, whose in (["tenant", "lab"], "true false"), (["user", "lab", "ana"], "true"):
            given = [(key, typed.get(unit, "7")) for key, unit, users in limits if users in whose]
            admin.run(words[0], "add", *words[1:], *("=".join(each) for each in given))
            text = admin.text(words[0], "show", *words[1:])
            expect(len(given) >= 15, f"{given}")
            for key, value in given:
                name = key.replace("gpu-seconds-", "GPU time of the ")
                line = rf"(?m)^{name}( \(per \w+\))? +(\S.*/)?{shown[value]}$"
                expect(re.search(line, text), f"{key}: {text}")


def test_dry_run(build):
    """It says what would be, refuses what would be refused, and does nothing."""
    with ctl.administered(build) as (_, admin):
        admin.run("tenant", "add", "a", "gpus=1")
        admin.run("tenant", "add", "d")
        for user in ("ana", "eve"):
            admin.run("user", "add", "a", user)
        admin.run("user", "suspend", "a", "eve", "--reason", "x")
        admin.run("group", "add", "g")
        admin.run("group", "join", "g", "d")
        admin.run("token", "issue", "d")
        admin.run("token", "issue", "d")
        issued = admin.items("token", "list")[0]["id"]
        authority = ["--ca", os.path.join(admin.folder, "ca")]
        admin.run("ca", "init", *authority, server=False)
        admin.run("cert", "issue", "d", *authority, "--out", os.path.join(admin.folder, "d"))
        signed = admin.items("cert", "list")[0]["id"]
        lists = [[kind, "list"] for kind in ("tenant", "user", "group", "token", "cert", "local")]
        before = [admin.items(*words) for words in lists]
        for words in (["tenant", "add", "b"], ["tenant", "set-quota", "a", "gpus=5"],
                      ["tenant", "suspend", "a", "--reason", "x", "--kill"],
                      ["tenant", "describe", "a", "the first"],
                      ["tenant", "rename", "a", "c"], ["tenant", "rm", "a"],
                      ["user", "add", "a", "bob"], ["user", "rm", "a", "ana"],
                      ["user", "set-quota", "a", "ana", "gpus=1"],
                      ["user", "suspend", "a", "ana", "--reason", "x"],
                      ["user", "resume", "a", "eve"], ["local", "set", "uid:5", "a"],
                      ["group", "add", "h"], ["group", "join", "g", "a"],
                      ["group", "leave", "g", "d"], ["group", "rm", "g"],
                      ["token", "revoke", issued], ["cert", "revoke", signed]):
            text = admin.text(*words, "--dry-run")
            expect("dry run: nothing is done" in text, f"{words}: {text}")
            document = admin.json(*words, "--dry-run")
            expect("before" in document and "after" in document, f"{words}: {document}")
        admin.run("token", "issue", "a", "--dry-run", "--out", "/nonexistent/x")
        admin.run("token", "issue", "a", "--user", "ana", "--ttl", "60s", "--dry-run")
        expect([admin.items(*words) for words in lists] == before, "as it was")
        for words, status in ((["tenant", "set-quota", "x", "gpus=1"], NOT_FOUND),
                              (["tenant", "set-quota", "a", "gpus=x"], USAGE),
                              (["tenant", "rename", "a", "default"], CONFLICT),
                              (["user", "set-quota", "a", "ana", "gpus=2"], USAGE),
                              (["user", "add", "a", "bob", "gpus=2"], USAGE),
                              (["user", "add", "x", "ana"], NOT_FOUND),
                              (["user", "rm", "a", "bob"], NOT_FOUND),
                              (["group", "add", "g", "--desc", "other"], CONFLICT),
                              (["group", "join", "g", "x"], NOT_FOUND),
                              (["group", "join", "x", "a"], NOT_FOUND),
                              (["group", "rm", "g", "--if-generation", "99"], CONFLICT),
                              (["local", "set", "uid:5", "x"], NOT_FOUND),
                              (["token", "issue", "x"], NOT_FOUND),
                              (["token", "issue", "d"], CONFLICT),
                              (["token", "rotate", "d"], CONFLICT),
                              (["token", "issue", "a", "--user", "bob"], NOT_FOUND),
                              (["token", "issue", "a", "--name", "n" * 300], USAGE),
                              (["token", "revoke", "abcdef"], NOT_FOUND),
                              (["cert", "revoke", issued], USAGE)):
            admin.wrong(status, *words, "--dry-run")


def test_description(build):
    with ctl.administered(build) as (_, admin):
        admin.run("tenant", "add", "a", "gpus=1", "--desc", "one")
        shown = admin.json("tenant", "show", "a")
        change = admin.json("tenant", "describe", "a", "two words", "--if-generation",
                            str(shown["generation"]))
        expect((change["before"]["description"], change["after"]["description"]) ==
               ("one", "two words") and change["after"]["limits"] == shown["limits"], f"{change}")
        text = admin.text("tenant", "describe", "a", "two words")
        expect(text == "a: as it was", text)
        admin.wrong(CONFLICT, "tenant", "describe", "a", "three", "--if-generation",
                    str(shown["generation"]), says="somebody has changed it")
        admin.wrong(CONFLICT, "tenant", "add", "a", "gpus=1", says="tenant describe")
        admin.wrong(NOT_FOUND, "tenant", "describe", "x", "three")
        admin.wrong(USAGE, "tenant", "describe", "a", "t" * 1000, says="longer than")
        exported = [each for each in json.loads(admin.text("tenant", "export"))["tenants"]
                    if each["name"] == "a"]
        expect(exported[0]["description"] == "two words", f"{exported}")
        text = admin.text("tenant", "describe", "a", "")
        expect("a: description two words -> -" in text, text)
        expect(not admin.json("tenant", "show", "a")["description"], "it is gone")


def test_wrong_values(build):
    with ctl.administered(build) as (_, admin):
        admin.run("tenant", "add", "a")
        for words, status, *says in (
                (["tenant", "show", "x"], NOT_FOUND, "x"),
                (["tenant", "add", "-x"], USAGE),
                (["tenant", "add", ".x"], USAGE, "no name"),
                (["tenant", "add", "a b"], USAGE, "no name"),
                (["tenant", "add", "x" * 65], USAGE, "no name"),
                (["tenant", "add", "b", "gpus"], USAGE, "gpus"),
                (["tenant", "add", "b", "gpus=-1"], USAGE, "gpus"),
                (["tenant", "add", "b", "gpu-mem=5x"], USAGE, "gpu-mem"),
                (["tenant", "add", "b", "gpu-men=5G"], USAGE, "gpu-men"),
                (["tenant", "add", "b", "share=0"], USAGE, "between 1 and 10000", "- for 100"),
                (["tenant", "add", "b", "share=1", "share=2"], USAGE, "share: given twice"),
                (["user", "add", "a", "bob", "sessions=1", "sessions=2"], USAGE, "given twice"),
                (["tenant", "add", "b", "compute-cap=101%"], USAGE, "between 1% and 100%"),
                (["tenant", "add", "b", "isolation=shared"], USAGE, "not in this version"),
                (["tenant", "add", "b", "on-exhausted=throttle"], USAGE, "throttle=20%"),
                (["tenant", "add", "b", "--desc", "d" * 300], USAGE, "255"),
                (["tenant", "set-quota", "a"], USAGE, "an argument is missing"),
                (["tenant", "suspend", "a"], USAGE, "--reason"),
                (["tenant", "rename", "a", "b c"], USAGE, "cannot be called"),
                (["tenant", "rename", "default", "b"], USAGE, "keeps its name"),
                (["tenant", "rm", "default", "--yes"], USAGE, "always there"),
                (["tenant", "rm", "a"], USAGE, "--yes"),
                (["tenant", "set-quota", "a", "gpus=1", "--if-generation", "x"], USAGE, "number"),
                (["user", "add", "x", "ana"], NOT_FOUND, "x"),
                (["user", "set-quota", "a", "bob", "gpus=1"], NOT_FOUND, "bob"),
                (["local", "set", "1000", "a"], USAGE, "uid:NUMBER"),
                (["local", "set", "uid:4294967295", "a"], USAGE, "uid:NUMBER"),
                (["local", "rm", "uid:77"], NOT_FOUND, "77"),
                (["token", "issue", "x"], NOT_FOUND, "x"),
                (["token", "issue", "a", "--ttl", "5"], USAGE, "ttl"),
                (["token", "issue", "a", "--ttl", "1y"], USAGE, "s, m, h, d or w"),
                (["token", "issue", "a", "--user", "bob"], NOT_FOUND, "bob"),
                (["token", "revoke", "abcdef", "--yes"], NOT_FOUND, "abcdef"),
                (["usage", "x"], NOT_FOUND, "x"),
                (["usage", "--by", "hour"], USAGE, "tenant, user, node, gpu and day"),
                (["usage", "--from", "soon"], USAGE, "2026-11-25"),
                (["usage", "--unit", "percent"], USAGE, "gpu-hours")):
            admin.wrong(status, *words, says=says)


def test_two_admins(build):
    """The second administrator is told, and no part of that change is made."""
    with ctl.administered(build) as (_, admin):
        admin.run("tenant", "add", "a", "gpus=1")
        generation = str(admin.json("tenant", "show", "a")["generation"])
        admin.run("tenant", "set-quota", "a", "gpus=2", "--if-generation", generation)
        admin.wrong(CONFLICT, "tenant", "set-quota", "a", "gpus=3", "--if-generation", generation,
                    says=["somebody has changed it", "tenant show a"])
        for words in (["suspend", "a", "--reason", "x"], ["resume", "a"], ["rm", "a", "--yes"],
                      ["rename", "a", "b"], ["describe", "a", "x"]):
            admin.wrong(CONFLICT, "tenant", *words, "--if-generation", generation)
        expect(admin.json("tenant", "show", "a")["limits"]["gpus"] == 2, "the first one's")


def test_it_is_kept(build):
    """By the database: a gpuaasd that is killed and started anew has all of it."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "gpuaas.db")
        config = ctl.configuration(folder, keys=f"store = {path}")
        admin = ctl.Ctl(build, folder)
        with harness.serving(build, config=config) as server:
            expect(stat.S_IMODE(os.stat(path).st_mode) == 0o600, "for its owner alone")
            admin.run("tenant", "add", "a", "gpus=1")
            admin.run("user", "add", "a", "ana", "sessions=1")
            admin.run("local", "set", "uid:1234", "a", "--user", "ana")
            token = admin.text("token", "issue", "a")
            before = [admin.items(*words) for words in
                      (("tenant", "list"), ("user", "list"), ("local", "list"), ("token", "list"))]
            server.kill()
            server.wait(10)
        with harness.serving(build, config=config):
            after = [admin.items(*words) for words in
                     (("tenant", "list"), ("user", "list"), ("local", "list"), ("token", "list"))]
            expect(before == after and len(after[3]) == 1, f"{before} {after}")
            with open(path, "rb") as file:
                expect(token.split("_", 2)[2].encode() not in file.read(), "no secret is kept")


def test_damaged_database(build):
    """The error says what to do, and gpuaasd does not start without tenants instead."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "gpuaas.db")
        with open(path, "wb") as file:
            file.write(b"no database" * 1000)
        os.chmod(path, 0o600)
        server = harness.Server(build, config=ctl.configuration(folder, keys=f"store = {path}"))
        try:
            expect(server.wait(20) == 1 and path in server.err.text and
                   "db restore" in server.err.text, server.report())
        finally:
            server.end()


def test_locked_database(build):
    """Another program keeps it: the admin is told, sessions go on."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "gpuaas.db")
        config = ctl.configuration(folder, keys=f"store = {path}")
        admin = ctl.Ctl(build, folder)
        with harness.serving(build, config=config) as server, \
                contextlib.closing(Player(build, build.remote([server]))) as player:
            player.free()
            other = sqlite3.connect(path)
            other.execute("BEGIN IMMEDIATE")
            admin.wrong(ERROR, "tenant", "add", "a", says="locked")
            expect(player.free() > 0 and admin.items("sessions"), "it goes on")
            other.rollback()
            other.close()
            admin.run("tenant", "add", "a")


def test_users(build):
    with ctl.administered(build) as (_, admin):
        admin.run("tenant", "add", "a", "gpu-mem=2GiB", "sessions=4")
        expect(admin.text("user", "add", "a", "ana", "sessions=2") == "ana of a: made", "made")
        expect("as it was" in admin.text("user", "add", "a", "ana", "sessions=2"), "once more")
        admin.wrong(CONFLICT, "user", "add", "a", "ana", "sessions=1", says="set-quota")
        admin.wrong(USAGE, "user", "set-quota", "a", "ana", "sessions=5", says="sessions")
        text = admin.text("user", "set-quota", "a", "ana", "sessions=3", "gpu-mem=1GiB")
        expect("sessions 2 -> 3" in text and "gpu-mem - -> 1GiB" in text, text)
        admin.run("user", "suspend", "a", "ana", "--reason", "holiday")
        shown, = admin.items("user", "list", "a")
        expect(shown["state"] == "suspended" and shown["reason"] == "holiday" and
               shown["limits"]["sessions"] == 3, f"{shown}")
        admin.run("user", "resume", "a", "ana")
        admin.run("local", "set", "gid:7", "a", "--user", "ana")
        text = admin.text("local", "set", "gid:7", "default")
        expect("tenant a -> default" in text and "user ana -> " in text, text)
        admin.run("user", "rm", "a", "ana", "--yes")
        expect(not admin.items("user", "list"), "he is gone")
        admin.run("local", "rm", "gid:7")
        expect(not admin.items("local", "list"), "and this, too")


def test_tokens(build):
    with ctl.administered(build) as (server, admin), tempfile.TemporaryDirectory() as folder:
        admin.run("tenant", "add", "a")
        process = admin.run("token", "issue", "a", "--ttl", "1d", "--name", "for tests")
        token, = process.out.lines
        expect(re.fullmatch(r"gpuaas_[0-9A-Za-z]{12}_[\w-]{43}", token) and
               "only now" in process.err.text, process.report())
        path = os.path.join(folder, "token")
        document = admin.json("token", "issue", "a", "--out", path)
        expect(document["token"] is None and stat.S_IMODE(os.stat(path).st_mode) == 0o600,
               f"{document}")
        with open(path, encoding="ascii") as file:
            second = file.read().strip()
        listed = sorted(admin.items("token", "list", "a"), key=lambda each: not each["name"])
        expect([each["id"] for each in listed] == [token.split("_")[1], second.split("_")[1]] and
               listed[0]["name"] == "for tests" and listed[0]["state"] == "valid", f"{listed}")
        expect(time.time() + 86000 < time.mktime(time.strptime(
            listed[0]["expires"], "%Y-%m-%dT%H:%M:%SZ")) - time.timezone < time.time() + 86500,
            f"{listed[0]}")
        for text in (admin.text("token", "list"), admin.text("token", "list", "-o", "wide"),
                     json.dumps(listed), server.err.text):
            expect(token.split("_", 2)[2] not in text, "the secret is nowhere else")
        admin.wrong(CONFLICT, "token", "issue", "a", says="2 valid tokens")
        expect(admin.json("tenant", "show", "a")["credentials"] == 2, "both are valid")
        admin.wrong(ERROR, "token", "issue", "a", "--out", path, says="it is there already")
        admin.wrong(USAGE, "cert", "revoke", token.split("_")[1], "--yes", says="token revoke")
        text = admin.text("token", "revoke", token.split("_")[1], "--yes")
        expect("state valid -> revoked" in text, text)
        expect("as it was" in admin.text("token", "revoke", token.split("_")[1], "--yes"), "again")
        process = admin.run("token", "issue", "a", "--out", os.path.join(folder, "third"))
        expect(not process.out.text, "not on standard output")
        admin.wrong(CONFLICT, "token", "issue", "a", "--out", os.path.join(folder, "fourth"))
        expect(not os.path.exists(os.path.join(folder, "fourth")), "no file without a token")


def test_groups(build):
    with ctl.administered(build) as (_, admin):
        for name in ("a", "b"):
            admin.run("tenant", "add", name)
        admin.wrong(NOT_FOUND, "group", "join", "g", "a", says="no group")
        admin.run("group", "add", "g", "--desc", "friends", "--dry-run")
        expect(not admin.items("group", "list"), "a dry run makes none")
        admin.run("group", "add", "g", "--desc", "friends")
        expect(admin.text("group", "add", "g", "--desc", "friends") == "g: as it was", "again")
        admin.wrong(CONFLICT, "group", "add", "g", says="already")
        admin.run("group", "join", "g", "b", "--dry-run")
        admin.run("group", "join", "g", "a")
        changed = admin.json("group", "join", "g", "b", "--if-generation", "2")
        expect(changed["before"]["tenants"] == ["a"] and changed["after"]["tenants"] == ["a", "b"],
               f"{changed}")
        admin.wrong(CONFLICT, "group", "leave", "g", "b", "--if-generation", "2", says="read it")
        admin.wrong(NOT_FOUND, "group", "leave", "g", "nobody")
        admin.run("group", "leave", "g", "a")
        expect(re.search(r"g +b +friends", admin.text("group", "list")), "the other one stays")
        admin.wrong(USAGE, "tenant", "set-quota", "a", "isolation=shared",
                    says="not in this version")
        admin.run("group", "rm", "g", "--yes")
        expect(not admin.items("group", "list") and len(admin.items("tenant", "list")) == 3,
               "its tenants stay")


def seconds_left(record):
    return time.mktime(time.strptime(record["expires"], "%Y-%m-%dT%H:%M:%SZ")) - time.timezone \
        - time.time()


def test_rotation(build):
    """The next token takes the place of the one that is there, which stays valid for a while."""
    with ctl.administered(build) as (_, admin):
        admin.run("tenant", "add", "a")
        admin.wrong(NOT_FOUND, "token", "rotate", "a", says="token issue")
        admin.wrong(NOT_FOUND, "token", "rotate", "b")
        admin.run("token", "issue", "a", "--ttl", "2d", "--name", "cluster")
        old, = admin.items("token", "list", "a")
        admin.run("token", "rotate", "a", "--dry-run")
        admin.wrong(USAGE, "token", "rotate", "a", "--grace", "x", says="s, m, h, d or w")
        expect(len(admin.items("token", "list", "a")) == 1, "so far there is one")
        made = admin.json("token", "rotate", "a", "--ttl", "10d")
        expect(made["previous"] == old and made["after"]["name"] == "cluster" and
               made["token"].split("_")[1] == made["after"]["id"] and
               seconds_left(made["after"]) > 9.9 * 86400, f"{made}")
        admin.wrong(CONFLICT, "token", "rotate", "a", says="2 valid tokens")
        admin.run("token", "revoke", old["id"], "--yes")
        process = admin.run("token", "rotate", "a", "--grace", "1h")
        expect(len(process.out.lines) == 1 and
               f"the old token {made['after']['id']} is valid until" in process.err.text,
               process.report())
        listed = {each["id"]: each for each in admin.items("token", "list", "a")}
        expect(3500 < seconds_left(listed[made["after"]["id"]]) <= 3600 and
               listed[made["after"]["id"]]["state"] == "valid", f"{listed}")


def test_suspend_and_remove(build):
    """The tenant of running programs."""
    with ctl.administered(build) as (server, admin), \
            contextlib.closing(Player(build, build.remote([server]))) as player:
        player.free()
        process = admin.run("tenant", "suspend", "default", "--reason", "maintenance")
        expect("1 sessions" in process.err.text and "--kill" in process.err.text,
               process.report())
        expect(player.free() > 0, "it goes on")
        expect(admin.json("tenant", "show", "default")["reason"] == "maintenance", "why")
        words = ["tenant", "suspend", "default", "--reason", "now", "--kill"]
        text = admin.text(*words, "--dry-run")
        expect("default: 1 session ends (dry run: nothing is done)" in text, text)
        document = admin.json(*words)
        expect(document["sessions_ended"] == 1, f"{document}")
        wait_until(lambda: not admin.items("sessions"), 20, "it has ended")
        text = admin.text("tenant", "resume", "default")
        expect("state suspended -> active" in text and "reason now -> -" in text, text)
        admin.run("tenant", "add", "a")
        admin.run("token", "issue", "a")
        expect("name a -> b" in admin.text("tenant", "rename", "a", "b"), "renamed")
        expect(admin.items("token", "list", "b")[0]["tenant"] == "b", "with its token")
        expect("b: gone" in admin.text("tenant", "rm", "b", "--yes"), "it goes")
        expect(admin.items("token", "list")[0]["state"] == "revoked", "and its token")


def test_below_what_is_used(build):
    """A tenant that has more keeps it; a warning says so."""
    with ctl.administered(build) as (server, admin), \
            contextlib.closing(Player(build, build.remote([server]))) as player:
        expect(player.ask("take 64") == "took", player.report())
        process = admin.run("tenant", "set-quota", "default", "gpu-mem=32MiB", "sessions=0")
        expect("warning: default already uses" in process.err.text and
               "gpu-mem=32MiB" in process.err.text and "sessions=0" in process.err.text and
               "new allocations" in process.err.text, process.report())
        expect(admin.items("sessions") and player.free() >= 0, "it goes on")
        document = admin.json("tenant", "set-quota", "default", "gpu-mem=16MiB")
        expect(len(document["warnings"]) == 2, f"{document}")
        expect(re.search(r"MiB/16\.0 MiB !", admin.text("tenant", "list")), "and a mark")


def test_long_lists(build):
    """Pages, and no tenant is left out or told twice."""
    with ctl.administered(build) as (_, admin), Raw(admin.socket) as raw:
        names = [f"t{number:04}" for number in range(600)]
        for name in names:
            expect(raw.ask(verb="tenant.add", arguments={"name": name})["ok"], name)
        expect([each["name"] for each in admin.items("tenant", "list")] == ["default", *names],
               "all of them")
        page = raw.ask(verb="tenant.list")["result"]
        expect(len(page["items"]) < 600 and page["next"] == page["items"][-1]["name"], "a page")


def test_usage(build):
    """Sums, as the database has them."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "gpuaas.db")
        config = ctl.configuration(folder, keys=f"store = {path}")
        admin = ctl.Ctl(build, folder)
        with harness.serving(build, config=config):
            admin.run("tenant", "add", "a")
            admin.run("tenant", "add", "b")
            fill_usage(path)
            total = {each["tenant"]: each for each in admin.items("usage")}
            expect(total["a"]["gpu_time_ms"] == 7200000 and total["a"]["sessions"] == 4 and
                   total["b"]["gpu_time_ms"] == 10800000 and
                   total["a"]["memory_peak_bytes"] == GIB, f"{total}")
            days = admin.items("usage", "a", "--by", "day,gpu")
            expect([each["day"] for each in days] ==
                   ["2026-11-01T00:00:00Z", "2026-11-02T00:00:00Z"] and
                   days[0]["gpu"] == "g0" and "tenant" not in days[0], f"{days}")
            expect(len(admin.items("usage", "--by", "day", "--from", "2026-11-02")) == 1 and
                   len(admin.items("usage", "--by", "day", "--to", "2026-11-02")) == 1, "bounds")
            expect([each["user"] for each in admin.items("usage", "a", "--by", "user")] == ["ana"],
                   "by user")
            most = admin.items("usage", "--by", "tenant,day", "--top", "2")
            expect([each["tenant"] for each in most] == ["b", "a"], f"{most}")
            expect([each["tenant"] for each in admin.items("usage", "--top", "1")] == ["b"], "one")
            admin.wrong(USAGE, "usage", "--top", "x", says="give a number")
            table = admin.text("usage")
            expect(re.search(r"a +4 +2\.00000 ", table), table)
            expect("7200.000" in admin.text("usage", "--unit", "gpu-seconds"), "in seconds")
            rows = admin.text("usage", "--csv").splitlines()
            expect(rows[0].startswith("tenant,sessions,gpu_time_ms") and rows[1].startswith("a,4,"),
                   f"{rows}")


def fill_usage(path):
    """Two days of two tenants; the sums by day are what `usage` reads."""
    with contextlib.closing(sqlite3.connect(path, timeout=20)) as database:
        for tenant, day, hours in ((2, 20758, 1), (2, 20759, 1), (3, 20759, 3)):
            database.execute(
                "INSERT INTO usage_day (tenant, day, user, node, gpu, sessions, gpu_ns, wall_ms, "
                "memory_mib_s, memory_peak, bytes_in, bytes_out, launches) "
                "VALUES (?, ?, 'ana', 'n', 'g0', 2, ?, 5000, 10, ?, 1, 2, 3)",
                (tenant, day, hours * 3600 * 10**9, GIB))
        database.commit()


if __name__ == "__main__":
    harness.main(globals())
