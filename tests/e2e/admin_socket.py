#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The admin socket itself (docs/admin-protocol.md): a request that makes no sense is told so and
harms nobody; requests and replies are bounded; who is slow, idle or many keeps nobody waiting."""

import contextlib
import functools
import json
import os
import shutil
import socket
import sqlite3
import subprocess
import tempfile

from lib import ctl, harness
from lib.admin import CONNS_MAX, Raw
from lib.harness import expect, wait_until

REQUEST_MAX = 65536
PAGE_MAX = 300000  # bytes of a page of a list that goes on
TENANTS = 600
ROWS, BY = 31000, ("tenant", "user", "node", "gpu", "day")  # more than a reply has


def test_requests(build):
    with ctl.administered(build) as (_, admin), Raw(admin.socket) as raw:
        reply = raw.ask(id=7, verb="health")
        expect(reply["apiVersion"] == 1 and reply["id"] == 7 and reply["ok"] is True and
               reply["result"]["state"] == "serving", f"{reply}")
        expect(raw.ask(id="a b", verb="health")["id"] == "a b", "an id may be a text")
        for id in (1.5, None, [1], "x" * 65):
            expect(raw.ask(id=id, verb="health")["id"] is None, "or there is none")
        raw.send(b'{"apiVersion":1,"id":1,"verb":"health"}\n{"apiVersion":1,"id":2,"verb":"gpus"}\n'
                 b'{"apiVersion":1,"id":3,')
        expect([raw.reply()["id"] for _ in range(2)] == [1, 2], "in their order")
        raw.send(b'"verb":"health"}\n')
        expect(raw.reply()["id"] == 3, "in pieces")
        raw.send(b'{"apiVersion":1,"id":4,"verb":"health"}\n')
        raw.socket.shutdown(socket.SHUT_WR)
        expect(raw.reply()["id"] == 4 and raw.reply() is None, "who says no more is answered")


def test_wrong_requests(build):
    with ctl.administered(build) as (_, admin), Raw(admin.socket) as raw:
        verb = b'{"apiVersion":1,"verb":"%s","arguments":%s}\n'
        for data, *texts in (
                (b"\n", "no JSON"), (b"hello\n", "no JSON"), (b"{}\n", "apiVersion is missing"),
                (b"[1]\n", "no JSON object"), (b"[" * 5000 + b"\n", "no JSON"),
                (b'{"a":1,"a":2}\n', "no JSON", "duplicate"), (b"\xff\xfe\n", "no JSON"),
                (b'{"apiVersion":"1","verb":"health"}\n', "apiVersion"),
                (b'{"apiVersion":2,"verb":"health"}\n', "2 of the request", "same release"),
                (b'{"apiVersion":1}\n', "verb is missing"),
                (b'{"apiVersion":1,"verb":3}\n', "verb"),
                (b'{"apiVersion":1,"verb":"health","dry_run":true}\n', "no member dry_run"),
                (b'{"apiVersion":1,"verb":"health","dryRun":1}\n', "neither true nor false"),
                (b'{"apiVersion":1,"verb":"health","dryRun":true}\n', "changes nothing"),
                (b'{"apiVersion":1,"verb":"health","arguments":[]}\n', "no object"),
                (verb % (b"helth", b"{}"), "not in this version", "did you mean health?"),
                (verb % (b"sessions.migrate", b"{}"), "not in this version"),
                (verb % (b"health", b'{"x":1}'), "no argument x"),
                (verb % (b"session.show", b"{}"), "needs the argument id"),
                (verb % (b"session.show", b'{"id":5}'), "must be a text"),
                (verb % (b"session.show", b'{"id":"a\\u0000b"}'), "no JSON"),
                (verb % (b"session.show", b'{"id":"%s"}'), "no id of a session")):
            raw.wrong(data, "usage", *texts)
        expect(raw.ask(verb="health")["ok"], "and goes on")


def test_too_long(build):
    with ctl.administered(build) as (_, admin):
        with Raw(admin.socket) as raw:
            raw.wrong(b"x" * (REQUEST_MAX + 10), "usage", "too long")
            expect(raw.reply() is None, "it is closed")
        with Raw(admin.socket) as raw:
            request = b'{"apiVersion":1,"id":5,"verb":"health"'
            raw.send(request + b" " * (REQUEST_MAX - len(request) - 2) + b"}\n")
            expect(raw.reply()["id"] == 5, "the longest one")
        admin.run("health")


def test_many(build):
    """One admin too many is told so; the others go on, and make room when they leave."""
    with ctl.administered(build) as (server, admin), contextlib.ExitStack() as stack:
        before = len(server.descriptors())
        conns = [stack.enter_context(Raw(admin.socket)) for _ in range(CONNS_MAX)]
        for raw in conns:
            expect(raw.ask(verb="health")["ok"], "each is served")
        admin.wrong(ctl.LIMIT, "health", says="too many admins")
        expect(conns[0].ask(verb="health")["ok"], "who was there stays")
        conns[1].socket.shutdown(socket.SHUT_RDWR)
        wait_until(lambda: len(server.descriptors()) == before + CONNS_MAX - 1, 10, "one has left")
        admin.run("health")
        stack.close()
        wait_until(lambda: len(server.descriptors()) == before, 10, "all have left")


def test_slow_reader(build):
    """A peer that asks and does not read is not read any more, and nobody else notices."""
    with ctl.administered(build, gpus=40) as (server, admin), Raw(admin.socket) as raw:
        raw.socket.setblocking(False)
        request = b'{"apiVersion":1,"verb":"gpus"}\n'
        sent = 0
        with contextlib.suppress(BlockingIOError):
            while sent < 64 << 20:
                sent += raw.socket.send(request * 1000)
        expect(sent < 16 << 20, f"{sent} bytes of requests are taken without a reader")
        admin.run("health")
        raw.socket.setblocking(True)
        raw.socket.settimeout(60)
        expect(raw.reply()["ok"], "the replies are there all the same")
        with open(f"/proc/{server.pid}/status", encoding="ascii") as file:
            expect("VmRSS" in file.read(), "it lives")


def test_end_with_admins(build):
    """gpuaasd ends gracefully while admins are connected, and takes its socket with it."""
    with ctl.administered(build) as (server, admin), Raw(admin.socket) as raw, \
            Raw(admin.socket) as half:
        expect(raw.ask(verb="health")["ok"], "it serves")
        half.send(b'{"apiVersion"')
        server.stop()
        expect(raw.reply() is None and not os.path.exists(admin.socket), "it is gone")


class Pages:
    """A list that is asked for page by page."""

    def __init__(self, raw, verb, **arguments):
        self.raw, self.verb, self.arguments = raw, verb, arguments
        self.rows, self.sizes, self.after = [], [], None

    def ask(self):
        """Whether there is a further one."""
        after = {"after": self.after} if self.after else {}
        self.raw.send(json.dumps({"apiVersion": 1, "verb": self.verb,
                                  "arguments": {**self.arguments, **after}}).encode() + b"\n")
        line = self.raw.file.readline()
        page = json.loads(line)["result"]
        self.sizes.append(len(line))
        self.rows += page["items"]
        self.after = page["next"]
        return self.after is not None

    def all(self):
        while self.ask():
            pass
        return self.rows


@functools.cache
def long_store(build_folder):
    """A database, to be copied: it takes long to make. (It goes with this program.)"""
    folder = tempfile.TemporaryDirectory(prefix="gpuaas-list-")
    store = os.path.join(folder.name, "db")
    subprocess.run([os.path.join(build_folder, "tests", "usage_speed"), store, str(TENANTS),
                    str(ROWS)], check=True)
    return folder, store


@contextlib.contextmanager
def long_lists(build):
    with tempfile.TemporaryDirectory(prefix="gpuaas-list-") as folder:
        store = shutil.copy(long_store(build.folder)[1], folder)
        with ctl.administered(build, keys=f"store = {store}") as (_, admin):
            yield store, admin


def change_last_usage(store, launches):
    """Behind gpuaasd's back: of the row that a list tells last."""
    with contextlib.closing(sqlite3.connect(store)) as base, base:
        base.execute("UPDATE usage_day SET launches = ? WHERE tenant = "
                     "(SELECT number FROM tenant ORDER BY name DESC LIMIT 1)", (launches,))


def test_long_lists(build):
    """Each row is in one of the pages, which are all of one moment, while one admin asks for
    nothing else: the query goes on. Otherwise another one begins behind the last row."""
    with long_lists(build) as (store, admin), Raw(admin.socket) as raw:
        usage = Pages(raw, "usage", by=",".join(BY))
        keys = [tuple(row[key] for key in BY) for row in usage.all()]
        expect(len(keys) == len(set(keys)) == ROWS and keys == sorted(keys),
               f"{len(keys)} rows, {len(set(keys))} different ones")
        expect(len(usage.sizes) > 4 and max(usage.sizes) < PAGE_MAX, f"{usage.sizes} bytes")

        goes_on = Pages(raw, "usage", by=",".join(BY))
        expect(goes_on.ask(), "there is more")
        change_last_usage(store, 7)
        expect(goes_on.all()[-1]["launches"] == 0, "it is of the moment when it has begun")

        begins_anew = Pages(raw, "usage", by=",".join(BY))
        expect(begins_anew.ask(), "there is more")
        change_last_usage(store, 8)
        expect(raw.ask(verb="health")["ok"], "another request")
        keys = [tuple(row[key] for key in BY) for row in begins_anew.all()]
        expect(begins_anew.rows[-1]["launches"] == 8, "it is of now")
        expect(len(keys) == len(set(keys)) == ROWS, "each row, all the same")


def test_long_list_of_tenants(build):
    with long_lists(build) as (_, admin), Raw(admin.socket) as raw:
        goes_on = Pages(raw, "tenant.list")
        expect(goes_on.ask(), "there is more")
        admin.run("tenant", "add", "zebra")
        names = [row["name"] for row in goes_on.all()]
        expect(len(names) == TENANTS + 1 and names == sorted(set(names)), f"{len(names)}")
        begins_anew = Pages(raw, "tenant.list")
        expect(begins_anew.ask(), "there is more")
        admin.run("tenant", "add", "zoo")
        expect(raw.ask(verb="health")["ok"], "another request")
        names = [row["name"] for row in begins_anew.all()]
        expect(len(names) == TENANTS + 3 and names == sorted(set(names)) and names[-1] == "zoo",
               f"{len(names)}")


def test_many_lists_at_once(build):
    """As many as go on, and more, which begin anew with each page."""
    with long_lists(build) as (_, admin), contextlib.ExitStack() as stack:
        lists = [Pages(stack.enter_context(Raw(admin.socket)), "usage", by=",".join(BY))
                 for _ in range(10)]
        for pages in lists:
            expect(pages.ask(), "there is more")
        for pages in lists[::9]:
            keys = [tuple(row[key] for key in BY) for row in pages.all()]
            expect(len(keys) == len(set(keys)) == ROWS, "each row")


if __name__ == "__main__":
    harness.main(globals())
