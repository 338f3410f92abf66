# SPDX-License-Identifier: Apache-2.0
"""Programs that count their rounds on a GPU that has a policy (tests/kernels/turns.cu)."""

import contextlib
import subprocess
import tempfile

from lib import harness
from lib.harness import expect, wait_until

SECONDS = 90  # for a few rounds; a machine may be busy
PATIENCE = "200ms"  # a software GPU computes while a kernel of `spins` waits


@contextlib.contextmanager
def serving(build, policy, gpus=1, **extra):
    with tempfile.TemporaryDirectory(prefix="gpuaas-turns-") as folder:
        config = ("[server]\nlisten = tcp://127.0.0.1:0\ndata_ports = 0\n"
                  f"admin_socket = {folder}/admin.sock\n")
        for number in range(gpus):
            config += (f"[gpu.{number}]\ndriver = soft\nmemory = 256MiB\nsms = 1\n"
                       f"policy = {policy}\npatience = {PATIENCE}\n")
        with harness.serving(build, config=config, extra=extra) as server:
            server.admin = f"{folder}/admin.sock"
            yield server


class TurnTaker(harness.Process):
    """tests/kernels/turns.cu"""

    def __init__(self, build, server, *mode):
        env = build.remote([server], GPUAAS_TRANSPORT="auto") if mode == ("pinned",) else \
            build.remote([server])
        super().__init__([build.program("turns"), *map(str, mode)], env, stdin=subprocess.PIPE)

    def rounds(self):
        lines = [line for line in list(self.out.lines) if line.startswith("at ")]
        return int(lines[-1].split()[1]) if lines else 0

    def goes_on(self, more=2):
        """It makes so many rounds from now on."""
        begin = self.rounds()

        def further():
            expect(self.running(), f"{self} has ended\n{self.report()}")
            return self.rounds() >= begin + more
        wait_until(further, SECONDS, f"{self} goes on\n{self.report()}")

    def finish(self):
        self.popen.stdin.close()
        expect(self.wait(SECONDS) == 0 and self.out.lines[-1] == "PASSED", self.report())


@contextlib.contextmanager
def turn_takers(build, server, *modes):
    """All of them have made a round."""
    with contextlib.ExitStack() as stack:
        made = []
        for mode in modes:
            made.append(TurnTaker(build, server, *mode))
            stack.callback(made[-1].end)
        for player in made:
            player.goes_on(1)
        yield made
