# SPDX-License-Identifier: Apache-2.0
"""A program that makes things of which each takes memory (charger.py)."""

import contextlib
import os
import subprocess
import sys

from lib import harness
from lib.harness import expect
from lib.player import Player

CHARGER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "charger.py")
MIB = 1 << 20


class Charger(Player):
    """charger.py, which has a context."""

    def __init__(self, build, env):
        harness.Process.__init__(self, [sys.executable, CHARGER], env, stdin=subprocess.PIPE)
        self.answers = 0
        expect(self.ask("start()") == "started", self.report())


@contextlib.contextmanager
def chargers(build, server, count=1):
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(contextlib.closing(Charger(build, build.remote([server]))))
               for _ in range(count)]
