# SPDX-License-Identifier: Apache-2.0
"""A server with tenants that have limits, and programs of theirs."""

import contextlib
import os
import re
import sqlite3
import tempfile
import time

from lib import ctl, harness
from lib.harness import expect, wait_until
from lib.player import Player

MEMORY = 512  # MiB of each GPU


def configuration(folder, gpus, keys="", memory=MEMORY):
    text = (f"[server]\nlisten = tcp://127.0.0.1:0\ndata_ports = 0\n"
            f"admin_socket = {folder}/admin.sock\nstore = {folder}/store.db\n")
    for number in range(gpus):
        text += (f"[gpu.{number}]\ndriver = soft\nmemory = {memory}MiB\nsms = 2\n"
                 f"name = Soft {'AB'[number % 2]}{number}\n{keys}")
    return text


@contextlib.contextmanager
def limited(build, *limits, gpus=1, keys="", memory=MEMORY, extra=None,
            server_keys=()):
    """A server where everybody is the tenant "default", who has these limits; `limit` of it
    changes them. `keys`: lines of the configuration of each GPU; `server_keys`: of gpuaasd."""
    with tempfile.TemporaryDirectory(prefix="gpuaas-quotas-") as folder:
        config = harness.with_keys(configuration(folder, gpus, keys, memory), *server_keys)
        with harness.serving(build, config=config, extra=extra) as server:
            admin = ctl.Ctl(build, folder)
            server.store = os.path.join(folder, "store.db")
            server.limit = lambda *words: admin.run("tenant", "set-quota", "default", *words)
            server.sessions = lambda: admin.items("sessions")
            server.usage = lambda: admin.items("usage")
            if limits:
                server.limit(*limits)
            yield server


@contextlib.contextmanager
def players(build, server, count, **extra):
    env = build.remote([server], **extra)
    with contextlib.ExitStack() as stack:
        made = [stack.enter_context(contextlib.closing(Player(build, env))) for _ in range(count)]
        yield made


def notes(process, limit):
    return [line for line in process.err.lines if f"limit {limit} of tenant default" in line]


def expect_note(process, limit, pattern=""):
    wait_until(lambda: notes(process, limit), 10, f"a note of {limit}\n{process.report()}")
    line = notes(process, limit)[0]
    expect(re.search(pattern, line), f"{line!r} does not say {pattern!r}")


def use_up(server, seconds):
    """The tenant's usage of this day has so many more."""
    with contextlib.closing(sqlite3.connect(server.store, timeout=20)) as database:
        database.execute(
            "INSERT INTO usage_day (tenant, day, user, node, gpu, sessions, gpu_ns, wall_ms, "
            "memory_mib_s, memory_peak, bytes_in, bytes_out, launches) "
            "VALUES (1, ?, '', 'n', 'g0', 1, ?, 5000, 10, 1, 1, 2, 3)",
            (int(time.time()) // 86400, seconds * 10**9))
        database.commit()


@contextlib.contextmanager
def another_driver(build, lacks, *limits, keys=""):
    """A limited server with a driver that lacks something."""
    with tempfile.TemporaryDirectory(prefix="gpuaas-quotas-") as folder:
        point = os.path.join(folder, "failpoint")
        with open(point, "w", encoding="utf-8") as f:
            f.write(f"0 fail backend: {lacks}\n")
        with limited(build, *limits, keys=keys, extra={"GPUAAS_FAILPOINT": point}) as server:
            yield server
