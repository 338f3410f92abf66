# SPDX-License-Identifier: Apache-2.0
"""Tenants with work of known length on a GPU that only keeps time."""

import contextlib
import os
import subprocess
import tempfile
import time

from lib import ctl, harness

GPU = """[gpu.0]
driver = soft
model = c2050
memory = 256MiB
context_time = none
timing = yes
execute = no
"""
BLOCKS_MS = 30000  # blocks of a kernel that takes so long
LOOK_S = 20 if os.environ.get("GPUAAS_TEST_FULL") else 5


class Node:
    def __init__(self, build, server, admin):
        self.build, self.server, self.admin = build, server, admin
        self.ending = False
        self.tenants = {}  # of programs, by their process ids

    def tenant(self, name, *limits):
        self.admin.run("tenant", "add", name, *limits)
        self.admin.run("token", "issue", name, "--out", self.token(name))

    def token(self, name):
        return os.path.join(self.admin.folder, f"{name}.token")

    def program(self, name, kernel_ms, pause_us=0, rounds=0, way="stream"):
        arguments = [way, "0", str(round(kernel_ms * BLOCKS_MS)), str(rounds), str(pause_us)]
        env = self.build.remote([self.server], GPUAAS_TOKEN_FILE=self.token(name))
        program = harness.Process([self.build.program("decoys"), *arguments], env,
                                  stdin=subprocess.DEVNULL)
        self.tenants[program.pid] = name
        return program

    def requests(self, name, kernel_ms, rounds):
        """A process for each request, one after the other."""
        while not self.ending:
            program = self.program(name, kernel_ms, rounds=rounds)
            while program.running() and not self.ending:
                time.sleep(0.001)
            program.end()

    def used_s(self):
        """The use of each tenant so far."""
        return {row["tenant"]: row["compute_time_ms"] / 1000
                for row in self.admin.items("usage", "--by", "tenant")}

    def look(self):
        before, since = self.used_s(), time.monotonic()
        time.sleep(LOOK_S)
        after, passed = self.used_s(), time.monotonic() - since
        parts = {name: (s - before.get(name, 0)) / passed for name, s in after.items()}
        print({name: round(part, 3) for name, part in parts.items()})
        return parts


@contextlib.contextmanager
def node(build, policy, tenants, keys="", server_keys=""):
    """Tenants by name: their limits, the length of a kernel in ms, the pause behind it in us."""
    with tempfile.TemporaryDirectory(prefix="gpuaas-entitled-") as folder:
        auth = f"auth = on\nstore = {folder}/store.db\nspare_backends = 3\n{server_keys}"
        config = ctl.configuration(folder, gpus=0, keys=auth) + GPU + f"policy = {policy}\n{keys}"
        with harness.serving(build, config=config) as server, contextlib.ExitStack() as stack:
            here = Node(build, server, ctl.Ctl(build, folder))
            for name, (limits, kernel_ms, pause_us) in tenants.items():
                here.tenant(name, *limits)
                if kernel_ms is not None:
                    program = here.program(name, kernel_ms, pause_us)
                    stack.callback(program.end)
                    program.wait_for_line("begins", harness.PROGRAM_SECONDS)
            yield here
