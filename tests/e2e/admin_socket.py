#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The admin socket itself (docs/admin-protocol.md): a request that makes no sense is told so and
harms nobody; requests and replies are bounded; who is slow, idle or many keeps nobody waiting."""

import contextlib
import json
import os
import socket
import subprocess
import tempfile

from lib import ctl, harness
from lib.admin import CONNS_MAX, Raw
from lib.harness import expect, wait_until

REQUEST_MAX = 65536
REPLY_MAX = 8 << 20
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


def test_long_lists(build):
    """A reply has as many rows as it may, and each row is in one of the pages."""
    with tempfile.TemporaryDirectory(prefix="gpuaas-list-") as folder:
        store, sizes, found = os.path.join(folder, "db"), [], []
        subprocess.run([build.path("tests", "usage_speed"), store, "100", str(ROWS)], check=True)
        with ctl.administered(build, keys=f"store = {store}") as (_, admin), \
                Raw(admin.socket) as raw:
            after = {}
            while after is not None:
                raw.send(json.dumps({"apiVersion": 1, "verb": "usage", "arguments": {
                    "by": ",".join(BY), **after}}).encode() + b"\n")
                line = raw.file.readline()
                sizes.append(len(line))
                page = json.loads(line)["result"]
                found += [tuple(row[key] for key in BY) for row in page["items"]]
                after = page["next"] and {"after": page["next"]}
    expect(len(found) == len(set(found)) == ROWS and found == sorted(found),
           f"{len(found)} rows, {len(set(found))} different ones")
    expect(len(sizes) == 2 and REPLY_MAX - 100000 < sizes[0] <= REPLY_MAX, f"{sizes} bytes")


if __name__ == "__main__":
    harness.main(globals())
