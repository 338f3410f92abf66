#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A disk to which no write gets for as long as it likes: it is told by name, with what to do;
changes by admins are answered when they are on it, and not before; and nobody else waits. A library
in front of the C library's holds fsync and fdatasync (slow_disk.c)."""

import contextlib
import glob
import json
import os
import tempfile

from lib import ctl, harness
from lib.harness import expect, wait_until
from lib.metrics import get, metrics_of, place_of

SECONDS = 120  # generous: what is asked is the order of things


class Node:
    def __init__(self, build, folder, server):
        self.folder, self.server = folder, server
        self.gate = os.path.join(folder, "gate")
        self.ctl = ctl.Ctl(build, folder)
        self.place = place_of(server)
        self.ctl.run("tenant", "add", "lab")
        token = os.path.join(folder, "lab.token")
        self.ctl.run("token", "issue", "lab", "--out", token)
        self.env = build.remote([server], GPUAAS_TOKEN_FILE=token)

    def slow(self):
        with open(self.gate, "w", encoding="utf-8"):
            pass

    def fast(self):
        os.remove(self.gate)

    @contextlib.contextmanager
    def asking(self, *words):
        """A command of an admin who has patience."""
        with harness.running([self.ctl.program, "--server", f"unix:{self.ctl.socket}",
                              "--timeout", "600", *words], self.ctl.env) as process:
            yield process

    def lines(self, word):
        """Lines of the audit log."""
        text = ""
        for path in sorted(glob.glob(os.path.join(self.folder, "audit", "audit-*.log"))):
            with open(path, encoding="utf-8") as file:
                text += file.read()
        return [json.loads(line) for line in text.splitlines() if word in line]

    def on_disk(self):
        """The number of the last line that is known to be there."""
        with open(os.path.join(self.folder, "audit", "head"), encoding="utf-8") as file:
            return int(file.read().split()[0])

    def health(self, status):
        return json.loads(self.ctl.text("--json", "health", status=status))

    def slowest(self):
        return max(self.metric("store"), self.metric("audit"))

    def metric(self, disk):
        return metrics_of(self.place).get(f'gpuaas_disk_write_seconds{{of="{disk}"}}', 0)


@contextlib.contextmanager
def node(build):
    with tempfile.TemporaryDirectory(prefix="gpuaas-slow-") as folder:
        config = harness.configuration(1).replace(
            "[server]\n", f"[server]\nauth = on\nstore = {folder}/gpuaas.db\n"
            f"admin_socket = {folder}/admin.sock\nhttp = 127.0.0.1:0\nledger_interval_s = 1\n"
            f"audit_log = {folder}/audit\n", 1)
        preload = [build.path("tests", "libslow_disk.so")]
        if build.sanitize in harness.RUNTIMES:
            preload.insert(0, harness.sanitizer_runtime(build.sanitize))
        extra = {"LD_PRELOAD": ":".join(preload), "SLOW_DISK": f"{folder}/gate"}
        with harness.serving(build, config=config, extra=extra) as server:
            one = Node(build, folder, server)
            yield one
            with contextlib.suppress(FileNotFoundError):
                one.fast()  # gpuaasd writes before it ends


def test_nobody_else_waits(build):
    with node(build) as one, \
            harness.running([build.program("endless"), "kernel"], one.env) as neighbour:
        neighbour.wait_for_line("started", SECONDS)
        one.slow()
        with one.asking("tenant", "add", "shop") as first, \
                one.asking("tenant", "describe", "lab", "patient") as second:
            for _ in range(3):
                harness.run_passing([build.program("hello")], one.env)
            wait_until(lambda: one.slowest() >= 1, SECONDS, "the metric says it")
            found = one.health(ctl.ERROR)
            expect(found["ready"] is True and found["state"] == "serving", f"{found}")
            expect(len(found["problems"]) == 1 and found["problems"][0].startswith("disk: ") and
                   one.folder in found["problems"][0] and "iostat" in found["problems"][0],
                   f"{found['problems']}")
            expect("disk of the" in one.ctl.text("health", status=ctl.ERROR), "the table, too")
            expect(get(one.place, "/readyz")[0] == 200, "programs come in")
            wait_until(lambda: "for a write: changes by admins wait" in one.server.err.text,
                       SECONDS, f"the log says it\n{one.server.report()}")
            wait_until(lambda: one.lines('"shop'), SECONDS, "it is done")
            expect("shop" in one.ctl.text("tenant", "list"), "others see it")
            harness.run_passing([build.program("hello")], one.env)
            expect(first.running() and second.running(), "but it is not acknowledged")
            expect(one.lines('"shop')[0]["seq"] > one.on_disk(), "since it is not on the disk")
            expect(neighbour.running(), f"what runs goes on\n{neighbour.report()}")
            one.fast()
            expect(first.wait(SECONDS) == 0 and second.wait(SECONDS) == 0, "both are answered")
            expect(one.lines('"shop')[0]["seq"] <= one.on_disk(), "when it is")
        wait_until(lambda: one.health(None)["problems"] == [], SECONDS, "all is well again")
        wait_until(lambda: "is fast again" in one.server.err.text, SECONDS, one.server.report())
        one.ctl.run("audit", "verify", "--log", os.path.join(one.folder, "audit"), server=False)
        expect(neighbour.running(), f"what runs goes on\n{neighbour.report()}")


def test_who_does_not_wait_for_the_answer(build):
    """The change is there all the same, and gpuaasd serves the next admin."""
    with node(build) as one:
        one.slow()
        with one.asking("tenant", "add", "shop"):
            wait_until(lambda: one.lines('"shop'), SECONDS, "it is done")
        one.ctl.run("tenant", "show", "shop")
        one.fast()
        one.ctl.run("tenant", "add", "mall")
        expect(one.lines('"mall')[0]["seq"] <= one.on_disk(), "it is on the disk")


if __name__ == "__main__":
    harness.main(globals())
