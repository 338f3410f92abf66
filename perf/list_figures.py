# SPDX-License-Identifier: Apache-2.0
"""Long lists: gpuaasctl, from its start to its end, against a program that does nothing but the
same query by SQLite on the same database, and prints a table of as many rows; and how long gpuaasd
lets another request wait meanwhile."""

import functools
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "tests", "e2e"))

from lib import ctl  # noqa: E402  (found by this line)
from facts import Fact  # noqa: E402
from figures import Figure  # noqa: E402

BOUND = 1.5
TENANTS, ROWS = 10000, 100000
KEYS = ("tenant", "user", "node", "gpu", "day")
SUMS = ("sum(sessions), sum(gpu_ns) / 1000000, sum(compute_ns) / 1000000, sum(h2d_ns) / 1000000, "
        "sum(d2h_ns) / 1000000, sum(wall_ms), max(memory_peak), sum(memory_mib_s), sum(bytes_in), "
        "sum(bytes_out), sum(launches)")
# There is no usage of today and of this month in the database, but it is asked for.
TENANT_LIST = """
SELECT name, CASE suspended WHEN 0 THEN 'active' ELSE 'suspended' END,
 (SELECT group_concat(key || '=' || value) FROM tenant_limit l WHERE l.tenant = t.number),
 (SELECT sum(gpu_ns) FROM usage_day u WHERE u.tenant = t.number
  AND day BETWEEN unixepoch('now', 'start of month') / 86400 AND unixepoch() / 86400),
 (SELECT sum(gpu_ns) FROM usage_day u WHERE u.tenant = t.number AND day = unixepoch() / 86400),
 (SELECT count(*) FROM credential c WHERE c.tenant = t.number AND revoked = 0
  AND expires > unixepoch()), isolation, generation, description, reason, gpu_types, exhausted,
 created, changed
FROM tenant t WHERE removed = 0 ORDER BY name"""


def usage_sql(by):
    names = by.split(",")
    return (f"SELECT t.name, s.* FROM (SELECT {by}, {SUMS} FROM usage_day GROUP BY {by}) s "
            "LEFT JOIN tenant t ON t.number = s.tenant "
            f"ORDER BY {', '.join(['t.name', *names[1:]])}")


class Lists:
    """A database, gpuaasd on it, and both ways to its rows."""

    def __init__(self, rig, scale):
        folder = rig.stack.enter_context(tempfile.TemporaryDirectory(prefix="gpuaas-bench-"))
        self.store, self.admin = os.path.join(folder, "db"), ctl.Ctl(rig.build, folder)
        self.plain = rig.build.path("perf", "perf_plain_sql")
        subprocess.run([rig.build.path("tests", "usage_speed"), self.store,
                        str(max(10, round(TENANTS * scale))), str(max(100, round(ROWS * scale)))],
                       check=True)
        rig.server([f"store = {self.store}", f"admin_socket = {folder}/admin.sock"])

    def took_ms(self, command):
        """(ms, bytes that it has printed)"""
        begin = time.monotonic()
        done = subprocess.run(command, env=self.admin.env, stdout=subprocess.PIPE, check=True)
        return (time.monotonic() - begin) * 1e3, len(done.stdout)

    def command(self, *words):
        return [self.admin.program, "--server", f"unix:{self.admin.socket}", *words]

    def turn(self, words, sql):
        floor, _ = self.took_ms([self.plain, self.store, sql])
        ours, printed = self.took_ms(self.command(*words))
        return {"floor": floor, "ours": ours, "MB printed": printed / 1e6}


@functools.cache
def lists(rig, scale):
    return Lists(rig, scale)


def list_turn(words, sql):
    return lambda bench: lists(bench.rig, bench.scale).turn(words, sql)


def all_figures():
    """Lists of 100,000 rows, of sums of as many, and of all tenants."""
    found = [Figure(f"list_usage_{name}", f"usage --by {by}", "ms", True,
                    list_turn(("usage", "--by", by, "-o", "wide"), usage_sql(by)), BOUND)
             for name, by in (("all", ",".join(KEYS)), ("tenant", "tenant"))]
    found.append(Figure("list_tenants", "tenant list", "ms", True,
                        list_turn(("tenant", "list", "-o", "wide"), TENANT_LIST), BOUND))
    return found


def beside(bench_rig, _floor, scale):
    """Another admin's request while a long list is read."""
    if scale < 0.1:  # as little as possible: nothing is counted here
        return
    here = lists(bench_rig, scale)
    for name, words in (("usage", ("usage", "--by", ",".join(KEYS))),
                        ("tenants", ("tenant", "list"))):
        waits = [0]
        with subprocess.Popen(here.command(*words), env=here.admin.env,
                              stdout=subprocess.DEVNULL) as long:
            while long.poll() is None:
                waits.append(here.took_ms(here.command("config", "show"))[0])
        yield Fact(f"beside_{name}", f"config show beside {' '.join(words[:2])}", "ms",
                   max(waits), None, f"the longest of {len(waits) - 1}, from start to end")


FACTS = {"beside_lists": beside}
