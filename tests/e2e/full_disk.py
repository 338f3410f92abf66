#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A disk that is full or read-only, a database that somebody keeps locked: /readyz, `gpuaasctl
health` and /metrics say it, by name and with what to do, and all is well again by itself. The disk
is a small one of the server's own, in a mount namespace, where the machine allows that."""

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile

from lib import ctl, harness, namespaces, tokens
from lib.harness import expect, wait_until
from lib.metrics import get, metrics_of, place_of

SEEN_SECONDS = 20
MOUNT = 'mount -t tmpfs -o size=1m tmpfs "$0" && exec "$@"'
LOCKER = """
import sqlite3, sys
base = sqlite3.connect(sys.argv[1], isolation_level=None)
base.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.read()
"""


class Node:
    """A server whose files lie on a disk of its own, with a tenant and its token."""

    def __init__(self, build, folder, server):
        self.build, self.folder, self.server = build, folder, server
        self.disk = f"/proc/{server.pid}/root{folder}/disk"
        self.ctl = ctl.Ctl(build, folder)
        self.place = place_of(server)
        self.ctl.run("tenant", "add", "lab")
        token = os.path.join(folder, "lab.token")
        self.ctl.run("token", "issue", "lab", "--out", token)
        self.env = build.remote([server], GPUAAS_TOKEN_FILE=token)

    def inside(self, *command):
        """Runs it where the server sees its disk."""
        subprocess.run(["nsenter", "--mount", "--target", str(self.server.pid), *command],
                       check=True)

    def fill(self):
        with open(os.path.join(self.disk, "fill"), "wb", buffering=0) as file:
            with contextlib.suppress(OSError):
                while file.write(b"x" * 4096) == 4096:
                    pass

    def make_room(self):
        os.remove(os.path.join(self.disk, "fill"))

    def metric(self, name):
        return metrics_of(self.place)[name]

    def expect_not_ready(self, condition, *words):
        """All three say it, and the words are in the same sentence."""
        def says():
            status, text, _ = get(self.place, "/readyz?verbose")
            lines = [line for line in text.splitlines() if line.startswith(f"not {condition}: ")]
            return status == 503 and lines
        line = wait_until(says, SEEN_SECONDS, f"not {condition}: {get(self.place, '/readyz')}")[0]
        expect(all(word in line for word in words), f"{words}: {line}")
        expect(get(self.place, "/readyz")[0] == 503, "without ?verbose, too")
        expect(self.metric(f'gpuaas_condition{{condition="{condition}"}}') == 0 and
               self.metric("gpuaas_ready") == 0, "metrics")
        health = json.loads(self.ctl.text("--json", "health", status=ctl.ERROR))
        expect(health["ready"] is False and
               any(text.startswith(f"{condition}: ") and all(word in text for word in words)
                   for text in health["problems"]), f"{health}")
        expect(words[0] in self.ctl.text("health", status=ctl.ERROR), "the table, too")

    def expect_ready(self):
        wait_until(lambda: get(self.place, "/readyz")[0] == 200, SEEN_SECONDS,
                   f"{get(self.place, '/readyz')}\n{self.server.report()}")
        expect(self.metric("gpuaas_ready") == 1, "metrics")
        health = self.ctl.json("health")
        expect(health["ready"] is True and health["problems"] == [], f"{health}")
        harness.run_passing([self.build.program("hello")], self.env)


@contextlib.contextmanager
def node(build, more="", auth_key="on"):
    with tempfile.TemporaryDirectory(prefix="gpuaas-disk-") as folder:
        os.mkdir(os.path.join(folder, "disk"))
        config = harness.configuration(1).replace(
            "[server]\n", f"[server]\nauth = {auth_key}\nstore = {folder}/disk/gpuaas.db\n"
            f"admin_socket = {folder}/admin.sock\nhttp = 127.0.0.1:0\n"
            f"{more.replace('FOLDER', folder)}", 1)
        prefix = ("unshare", "--mount", "sh", "-c", MOUNT, f"{folder}/disk")
        with harness.serving(build, config=config, prefix=prefix) as server:
            one = Node(build, folder, server)
            one.expect_ready()
            yield one


def test_full_disk(build):
    """The disk of the store and of the audit log, without which nobody is let in."""
    if not namespaces.namespaces():
        print("  (left out: no mount namespaces here)")
        return
    with node(build, "audit_log = FOLDER/disk/audit\n") as one, \
            harness.running([build.program("endless"), "kernel"], one.env) as neighbour:
        neighbour.wait_for_line("started", 60)
        one.fill()
        one.expect_not_ready("store", "gpuaas.db: its disk is full", "ake room")
        one.expect_not_ready("audit", "disk/audit: ", "make room")
        tokens.expect_refused(build, one.env, "cannot write its audit log")
        one.ctl.wrong(ctl.ERROR, "tenant", "add", "shop", says=["disk is full", "Make room"])
        expect(neighbour.running(), f"what runs goes on\n{neighbour.report()}")
        one.make_room()
        one.expect_ready()
        expect(neighbour.running(), f"what runs goes on\n{neighbour.report()}")


def test_full_disk_without_credentials(build):
    """With auth = off and without an audit log programs come in; admins can change nothing."""
    if not namespaces.namespaces():
        print("  (left out: no mount namespaces here)")
        return
    with node(build, auth_key="off") as one:
        one.fill()
        one.expect_not_ready("store", "its disk is full", "ake room")
        harness.run_passing([build.program("hello")], one.env)
        wait_until(lambda: "usage cannot be written, and waits" in one.server.err.text, 20,
                   one.server.report())
        expect("no new applications are admitted" not in one.server.err.text, "they are")
        one.make_room()
        one.expect_ready()
        wait_until(lambda: "usage is written again" in one.server.err.text, 20,
                   one.server.report())


def test_audit_that_may_lose_lines(build):
    """Programs come in, so it is ready; what is lost is counted."""
    if not namespaces.namespaces():
        print("  (left out: no mount namespaces here)")
        return
    with node(build, "audit_log = FOLDER/disk/audit\naudit_full = drop\n") as one:
        one.fill()
        one.expect_not_ready("store", "its disk is full")
        wait_until(lambda: one.metric("gpuaas_audit_writable") == 0, 20, "it says so")
        expect(one.metric('gpuaas_condition{condition="audit"}') == 1, "programs come in")
        for _ in range(100):  # what is left of its last page
            if one.metric("gpuaas_audit_lost_lines_total") > 0:
                break
            one.ctl.run("token", "list", "lab")
            harness.run_passing([build.program("hello")], one.env)
        lost = one.metric("gpuaas_audit_lost_lines_total")
        expect(lost > 0, "a line has been lost")
        one.make_room()
        one.expect_ready()
        wait_until(lambda: one.metric("gpuaas_audit_writable") == 1, 20, "it goes on")
        expect(one.metric("gpuaas_audit_lost_lines_total") >= lost, "a counter never shrinks")


def test_read_only_disk(build):
    if not namespaces.namespaces():
        print("  (left out: no mount namespaces here)")
        return
    with node(build, "audit_log = FOLDER/audit\n") as one:
        disk = f"{one.folder}/disk"
        one.inside("mount", "--bind", disk, disk)
        one.inside("mount", "-o", "remount,bind,ro", disk)
        one.expect_not_ready("store", "gpuaas.db: ", "read-only")
        one.inside("umount", disk)
        one.expect_ready()


def test_locked_database(build):
    with node(build) as one:
        locker = subprocess.Popen(
            ["nsenter", "--mount", "--target", str(one.server.pid), sys.executable, "-c", LOCKER,
             f"{one.folder}/disk/gpuaas.db"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True)
        expect(locker.stdout.readline() == "locked\n", "it is locked")
        one.expect_not_ready("store", "the database locked", "fuser")
        harness.run_passing([build.program("hello")], one.env)
        locker.communicate("", timeout=30)
        one.expect_ready()


def test_database_that_is_gone(build):
    """Also with auth = off, where nobody is looked up in it."""
    for auth_key in ("on", "off"):
        with node(build, auth_key=auth_key) as one:
            store = os.path.join(one.disk, "gpuaas.db")
            for end in ("", "-wal", "-shm"):
                os.rename(store + end, f"{store}{end}.away")
            one.expect_not_ready("store", "put the database back")
            for end in ("", "-wal", "-shm"):
                os.rename(f"{store}{end}.away", store + end)
            one.expect_ready()
            expect(not re.search("Sanitizer|runtime error", one.server.err.text), "no complaint")


if __name__ == "__main__":
    harness.main(globals())
