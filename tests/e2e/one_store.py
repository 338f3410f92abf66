#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A store is one gpuaasd's, as long as that runs: a second one does not start, and says who has it
and since when. Whatever keeps a second gpuaasd from starting, sessions of the first one and their
accounts are as before; what works on the database's file works beside it, and without it."""

import contextlib
import os
import re
import signal
import socket
import sqlite3
import tempfile
import time

from lib import ctl, harness
from lib.harness import expect, wait_until
from lib.player import Player

GPU = "[gpu.0]\ndriver = soft\nmemory = 256MiB\nsms = 2\n"


class Node:
    """A folder with a database, and servers on it; each has its own admin socket."""

    def __init__(self, build, folder):
        self.build, self.folder = build, folder
        self.store = os.path.join(folder, "gpuaas.db")
        self.admin = ctl.Ctl(build, folder)
        self.config = self.configuration("admin.sock")

    def configuration(self, admin, store=None, listen="tcp://127.0.0.1:0", keys="", gpu=GPU):
        return (f"[server]\nlisten = {listen}\ndata_ports = 0\nnode = here\n"
                f"admin_socket = {self.folder}/{admin}\nstore = {store or self.store}\n{keys}{gpu}")

    def serving(self):
        return harness.serving(self.build, config=self.config)

    def refused(self, *patterns, admin="other.sock", **options):
        """Another gpuaasd does not start, and says why."""
        server = harness.Server(self.build, config=self.configuration(admin, **options))
        try:
            status = server.wait(60)
            expect(status == 1, f"exit status {status}\n{server.report()}")
            for pattern in patterns:
                expect(re.search(pattern, server.err.text), f"{pattern!r}\n{server.report()}")
        finally:
            server.end()
            server.folder.cleanup()

    def rows(self):
        with contextlib.closing(sqlite3.connect(self.store, timeout=20)) as database:
            return database.execute("SELECT epoch, ended FROM usage ORDER BY epoch").fetchall()

    def wall_ms(self):
        with contextlib.closing(sqlite3.connect(self.store, timeout=20)) as database:
            return database.execute("SELECT sum(wall_ms) FROM usage").fetchone()[0]

    def used(self, server):
        return rf"is used by gpuaasd, process {server.pid}, since {time.gmtime().tm_year}-"


@contextlib.contextmanager
def node(build):
    with tempfile.TemporaryDirectory(prefix="gpuaas-store-") as folder:
        yield Node(build, folder)


@contextlib.contextmanager
def running_session(build, here, server):
    """A program whose account is in the database."""
    with contextlib.closing(Player(build, build.remote([server]))) as player:
        expect(player.ask("take 8") == "took", player.report())
        wait_until(lambda: (1, 0) in here.rows(), 20, f"its row: {here.rows()}")
        yield player


def beside(here):
    """Commands of gpuaasctl that use the file itself."""
    copy = os.path.join(here.folder, "copy")
    here.admin.run("db", "backup", copy, "--store", here.store, server=False)
    here.admin.run("db", "check", "--store", here.store, server=False)
    here.admin.run("db", "check", copy, server=False)


def test_a_second_one(build):
    """By the same path, by links, without the file of the lock, and when the first one's database
    was not there yet."""
    with node(build) as here:
        link = os.path.join(here.folder, "link.db")
        os.symlink(here.store, link)
        with here.serving() as server, running_session(build, here, server) as player:
            for store in (here.store, link):
                here.refused(here.used(server), store=store)
            hard = os.path.join(here.folder, "hard.db")
            os.link(here.store, hard)
            here.refused("is used by another gpuaasd, which knows it by another name", store=hard)
            os.unlink(here.store + "-lock")
            here.refused("is used by another gpuaasd, .* has been removed")
            beside(here)
            here.admin.run("db", "backup", os.path.join(here.folder, "copy"))
            here.admin.wrong(1, "db", "restore", os.path.join(here.folder, "copy"), "--store",
                             here.store, "--yes", says=("stop that one first",), server=False)
            expect(here.rows() == [(1, 0)] and player.ask("take 8") == "took",
                   f"{here.rows()}\n{player.report()}")
        beside(here)
        with here.serving():
            expect([row[0] for row in here.rows()] == [1], f"{here.rows()}")


def test_the_dead_keep_nothing(build):
    """Neither the lock of one that was killed, nor its backend processes, are in the way."""
    with node(build) as here:
        with here.serving() as server, running_session(build, here, server):
            server.kill(signal.SIGKILL)
            server.wait(20)
            with here.serving():
                ended = here.rows()
        expect(len(ended) == 1 and ended[0][1] != 0, f"{ended}")


def test_each_way_to_fail(build):
    """The last thing that may fail is over before accounts of an earlier gpuaasd are ended: one
    that was killed, here, whose rows nobody else protects."""
    with node(build) as here, contextlib.ExitStack() as stack:
        with here.serving() as server, running_session(build, here, server):
            server.kill(signal.SIGKILL)
            server.wait(20)
        taken = stack.enter_context(contextlib.closing(socket.create_server(("127.0.0.1", 0))))
        port = taken.getsockname()[1]
        path = os.path.join(here.folder, "file")
        with open(path, "w", encoding="utf-8"):
            pass
        here.refused("in use", listen=f"tcp://127.0.0.1:{port}")
        here.refused("in use", keys=f"http = 127.0.0.1:{port}\n")
        here.refused("audit", keys=f"audit_log = {path}\n")
        here.refused("no GPU to serve", gpu="[gpu.0]\ndriver = nvidia\n")
        here.refused("admin_socket", admin="file")
        expect(here.rows() == [(1, 0)], f"{here.rows()}")
        with here.serving():
            expect(here.rows()[0][1] != 0, f"{here.rows()}")


def test_a_store_that_is_lost_stays_locked(build):
    """A database that has gone while gpuaasd serves does not let another one in."""
    with node(build) as here:
        with here.serving() as server, running_session(build, here, server):
            os.rename(here.store, here.store + ".away")
            here.refused(here.used(server))
            os.rename(here.store + ".away", here.store)


def expect_no_restore(here, copy, says):
    for more in ((), ("--dry-run",)):
        here.admin.wrong(1, "db", "restore", copy, "--store", here.store, "--yes", *more,
                         says=(says,), server=False)


def test_no_command_replaces_it(build):
    """Beside a gpuaasd whose database is as it was, has been moved away, or is damaged, so that it
    has none open: no command makes a database there or puts one there, and each says why."""
    with node(build) as here:
        copy, away = os.path.join(here.folder, "copy"), here.store + ".away"
        with here.serving() as server, running_session(build, here, server) as player:
            used = f"is used by gpuaasd, process {server.pid}, since "
            here.admin.run("db", "backup", copy)
            expect_no_restore(here, copy, used)
            os.rename(here.store, away)
            wait_until(lambda: "moved, removed or replaced" in server.err.text, 20,
                       f"it is told\n{server.report()}")
            expect_no_restore(here, copy, used)
            for words in (("backup", copy + "-2"), ("backup", copy + "-2", "--dry-run"),
                          ("check",)):
                here.admin.wrong(3, "db", *words, says=("there is no such database",))
                here.admin.wrong(3, "db", *words, "--store", here.store, server=False,
                                 says=("there is no such database",))
            here.admin.run("db", "check", away, server=False)
            expect(not os.path.exists(here.store), "there is a database")
            expect(not os.path.exists(copy + "-2"), "there is a copy of nothing")
            expect("can be written again" not in server.err.text,
                   f"it is not even there\n{server.report()}")
            os.rename(away, here.store)
            wait_until(lambda: "is open again" in server.err.text, 20,
                       f"it is open again\n{server.report()}")
            beside(here)
            with open(here.store, "r+b") as file:
                sound = file.read(4096)
                file.seek(0)
                file.write(bytes(4096))
            wait_until(lambda: "is damaged" in server.err.text or
                       "not a database" in server.err.text, 20, f"it is told\n{server.report()}")
            expect_no_restore(here, copy, used)
            with open(here.store, "r+b") as file:
                file.write(sound)
            expect(player.ask("take 8") == "took", player.report())
        here.admin.run("db", "restore", copy, "--store", here.store, "--yes", server=False)
        expect(os.path.exists(here.store + ".replaced"), "what was there is kept")
        os.unlink(here.store)
        os.unlink(here.store + ".replaced")
        told = here.admin.run("db", "restore", copy, "--store", here.store, "--yes", server=False)
        expect("there was none before" in told.err.text, told.report())
        with here.serving():
            expect([row[0] for row in here.rows()] == [1], f"{here.rows()}")


def test_another_file_in_its_place(build):
    """Somebody has put it there by hand, while gpuaasd ran: that says so, and locks it. It is what
    holds from now on: the journal of the one before adds nothing to it."""
    with node(build) as here:
        copy = os.path.join(here.folder, "copy")
        with here.serving() as server:
            here.admin.run("tenant", "add", "early")
            here.admin.run("db", "backup", copy)
            here.admin.run("tenant", "add", "late")
            os.rename(copy, here.store)
            wait_until(lambda: "is another file than before" in server.err.text, 20,
                       f"it is told\n{server.report()}")
            here.admin.run("tenant", "show", "early")
            here.admin.run("tenant", "show", "late", status=ctl.NOT_FOUND)
            os.unlink(here.store + "-lock")
            here.refused("is used by another gpuaasd")


def test_the_journal_of_usage_goes_with_it(build):
    """Rows that a killed gpuaasd had not written are in the file beside the database, and belong to
    the database that it went on with."""
    with node(build) as here:
        copy = os.path.join(here.folder, "copy")
        with here.serving() as server, running_session(build, here, server):
            here.admin.run("db", "backup", copy)
            os.rename(copy, here.store)
            wait_until(lambda: "is another file than before" in server.err.text, 20,
                       f"it is told\n{server.report()}")
            before = here.wall_ms()
            wait_until(lambda: here.wall_ms() > before + 1000, 20, "it writes there")
            server.kill(signal.SIGKILL)
            server.wait(20)
        with here.serving() as server:
            expect("of another database" not in server.err.text, server.report())
            expect(here.rows()[0][1] != 0, f"{here.rows()}")


if __name__ == "__main__":
    harness.main(globals())
