# SPDX-License-Identifier: Apache-2.0
"""A program that does what it is told, line by line (tests/kernels/shares.cu)."""

import contextlib
import subprocess

from lib import harness
from lib.harness import expect, wait_until

MEMORY = 256  # MiB
CONFIG = f"""[server]
listen = tcp://127.0.0.1:0
data_ports = 0
[gpu.0]
driver = soft
memory = {MEMORY}MiB
sms = 2
"""
ANSWER_SECONDS = 120


class Player(harness.Process):
    """tests/kernels/shares.cu"""

    def __init__(self, build, env):
        super().__init__([build.program("shares")], env, stdin=subprocess.PIPE)
        self.answers = 0

    def say(self, words):
        self.popen.stdin.write(words + "\n")
        self.popen.stdin.flush()

    def hear(self):
        def answered():
            expect(self.running() or len(self.out.lines) > self.answers, self.report())
            return len(self.out.lines) > self.answers
        wait_until(answered, ANSWER_SECONDS, f"an answer of {self}\n{self.report()}")
        self.answers += 1
        return self.out.lines[self.answers - 1]

    def ask(self, words):
        self.say(words)
        return self.hear()

    close = harness.Process.end

    def free(self):
        return int(self.ask("free").split()[0])


@contextlib.contextmanager
def players(build, env, count):
    with contextlib.ExitStack() as stack:
        made = [stack.enter_context(contextlib.closing(Player(build, env))) for _ in range(count)]
        yield made
