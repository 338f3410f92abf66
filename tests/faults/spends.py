#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What one application can make the node spend has a bound: at the bound that application gets a
documented error, and nobody else notices (docs/limits.md)."""

import ast
import contextlib
import os
import resource
import subprocess
import sys

import check
import harness
from check import expect
from node import Player

SPENDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "spender.py")
OUT_OF_MEMORY = 2
SHARES_MOST = 1024  # server/channel.h: CHANNEL_SHARES_MAX
CONFIG = """[server]
listen = tcp://127.0.0.1:0
data_ports = 0
{more}
[gpu.0]
driver = soft
memory = 512MiB
sms = 2
"""


class Spender(Player):
    """spender.py, which has a context."""

    def __init__(self, build, env):
        harness.Process.__init__(self, [sys.executable, SPENDER], env, stdin=subprocess.PIPE)
        self.answers = 0
        expect(self.ask("start()") == "started", self.report())

    def get(self, words):
        return ast.literal_eval(self.ask(words))


@contextlib.contextmanager
def spenders(build, server, count, **env):
    with contextlib.ExitStack() as stack:
        made = [Spender(build, build.remote([server], **env)) for _ in range(count)]
        yield [stack.enter_context(contextlib.closing(program)) for program in made]


def limit_descriptors(pid, more):
    """Allows it only so many more than it has."""
    limit = max(int(name) for name in os.listdir(f"/proc/{pid}/fd")) + 1 + more
    resource.prlimit(pid, resource.RLIMIT_NOFILE,
                     (limit, resource.prlimit(pid, resource.RLIMIT_NOFILE)[1]))


def test_exported_memory_costs_who_exports_it(build):
    """Three, then eight, export as much as they can; gpuaasd, which has few descriptors left, has
    as many as before, and others start and open what was exported."""
    with harness.serving(build, config=CONFIG.format(more="clients = 16")) as server:
        server.wait_spares()
        limit_descriptors(server.pid, 60)
        for count in (3, 8):
            with spenders(build, server, count) as programs:
                server.wait_spares()
                before = check.descriptors(server.pid)
                for program in programs:
                    program.say(f"share({SHARES_MOST + 10})")
                answers = [ast.literal_eval(program.hear()) for program in programs]
                expect([answer[:2] for answer in answers] ==
                       [(SHARES_MOST, OUT_OF_MEMORY)] * count, f"{answers}")
                expect(check.descriptors(server.pid) == before,
                       f"gpuaasd: {before} became {check.descriptors(server.pid)}")
                with spenders(build, server, 1) as (other,):
                    for answer in answers:
                        expect(other.get(f"open_shared('{answer[2]}')") == 0, other.report())
                    expect(other.get("copies()"), other.report())
                for program in programs:
                    expect(program.get("copies()"), program.report())
        expect("which is the most" in server.err.text, server.report())


if __name__ == "__main__":
    harness.main(globals())
