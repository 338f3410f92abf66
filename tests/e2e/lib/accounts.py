# SPDX-License-Identifier: Apache-2.0
"""A node that writes what is used, and reads of it what was written."""

import contextlib
import os
import sqlite3
import tempfile

from lib import ctl, harness
from lib.gpu_log import GPU, slices, union

NS = 10**9


class Node:
    """A gpuaasd with a store that outlives it, and the trace of its GPU."""

    def __init__(self, build, folder, gpu=GPU):
        self.build, self.folder = build, folder
        self.store = os.path.join(folder, "gpuaas.db")
        self.trace = os.path.join(folder, "trace.json")
        self.admin = ctl.Ctl(build, folder)
        keys = f"store = {self.store}\nnode = here"
        self.config = ctl.configuration(folder, gpus=0, keys=keys) + gpu

    def serving(self, **extra):
        return harness.serving(self.build, config=self.config,
                               extra={"SOFTGPU_TRACE": self.trace, **extra})

    def usage(self):
        """The sum of all."""
        return self.admin.items("usage")[0]

    def rows(self):
        with contextlib.closing(sqlite3.connect(self.store, timeout=20)) as database:
            database.row_factory = sqlite3.Row
            return [dict(row) for row in database.execute(
                "SELECT epoch, session, gpu, gpu_ns, wall_ms, ended, reason FROM usage "
                "ORDER BY epoch, session")]

    def true_ns(self, until_ns=None):
        """For how long any engine has worked, up to then (of the clock of the trace)."""
        return union([(begin, min(end, until_ns or end)) for spans in slices(self.trace)
                      for begin, end in spans if until_ns is None or begin < until_ns])


@contextlib.contextmanager
def node(build, **options):
    with tempfile.TemporaryDirectory(prefix="gpuaas-accounting-") as folder:
        yield Node(build, folder, **options)
