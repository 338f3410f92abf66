#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The limits of a tenant while many of its programs race for them, and while backend processes and
gpuaasd are killed at each step of lending: the lent sum is never more than the limit, no process
has charged more than it was lent, and in the end all of it can be had again."""

import contextlib
import os
import random
import re
import signal
import tempfile
import threading
import time

import check
from check import expect, wait_until
from lib import ctl, harness
from lib.player import Player
from points import Fuse, lending_points

LIMIT = 200  # MiB
CONFIG = """[server]
listen = tcp://127.0.0.1:0
data_ports = 0
spare_backends = 0
clients = 200
ticket_s = 120
handshake_timeout_s = 120
admin_socket = {folder}/admin.sock
[gpu.0]
driver = soft
memory = 2GiB
sms = 1
"""
CLIENTS, SECONDS = (64, 60) if check.ALL else (5, 5)
REPORT = re.compile(r"report: tenant default, (\d+) applications: (\d+) bytes of device memory "
                    r"lent, (\d+) charged(.*)$")
MIB = 1 << 20


class Borrower(Player):
    def ask(self, words):
        """None: it is gone."""
        try:
            return super().ask(words)
        except (BrokenPipeError, harness.Failure):
            expect(not self.running(), words)
            return None


@contextlib.contextmanager
def serving(build, fuse=None):
    with tempfile.TemporaryDirectory(prefix="gpuaas-lending-") as folder:
        server = harness.Server(build, config=CONFIG.format(folder=folder),
                                extra=fuse.env if fuse else None)
        try:
            server.wait_ready()
            ctl.Ctl(build, folder).run("tenant", "set-quota", "default", f"gpu-mem={LIMIT}MiB")
            yield server
        finally:
            server.end()
            server.folder.cleanup()


@contextlib.contextmanager
def players(build, server, count):
    with contextlib.ExitStack() as stack:
        made = []
        for _ in range(count):
            made.append(Borrower(build, build.remote([server])))
            stack.callback(made[-1].end)
        yield made


def sample(server):
    """The books of gpuaasd: lent and charged bytes; None: no program is there."""
    before = len(server.err.lines)
    server.kill(signal.SIGUSR1)
    wait_until(lambda: any("backend processes, " in line for line in server.err.lines[before:]), 10,
               "a report")
    for line in server.err.lines[before:]:
        match = REPORT.search(line)
        if match:
            lent, charged = int(match.group(2)), int(match.group(3))
            expect(match.group(4) == "", line)
            expect(charged <= lent <= LIMIT * MIB, line)
            return lent, charged
    return None


def expect_all_free(build, server):
    """One program can have all that the limit allows, but for its first block."""
    with players(build, server, 1) as (last,):
        wait_until(lambda: last.ask(f"take {LIMIT - 8}") == "took", 15, "all of it can be had")


def play(player, until, failures):
    with contextlib.suppress(OSError):
        turn = random.Random(player.pid)
        while time.monotonic() < until:
            answer = player.ask(f"take {turn.choice((1, 2, 9, 30, 70))}")
            if answer not in ("took", "cudaErrorMemoryAllocation"):
                failures.append(f"{answer}\n{player.report()}")
                return
            if turn.random() < 0.4:
                player.ask("give")


def test_many_race_for_it(build):
    failures, samples = [], []
    with serving(build) as server, contextlib.ExitStack() as stack:
        made = []
        for _ in range(CLIENTS):  # one after the other: the race is for memory
            made += stack.enter_context(players(build, server, 1))
            expect(made[-1].ask("free"), made[-1].report())
        until = time.monotonic() + SECONDS
        threads = [threading.Thread(target=play, args=(player, until, failures))
                   for player in made]
        for thread in threads:
            thread.start()
        while time.monotonic() < until:
            samples.append(sample(server))
            time.sleep(0.1)
        for thread in threads:
            thread.join()
        expect(not failures, failures)
        most = max(charged for _, charged in samples)
        expect(most > LIMIT * MIB // 2, f"the limit was met: {most} bytes were charged at most")
        for player in made:
            player.ask("give")
            player.popen.stdin.close()
        for player in made:
            player.wait(60)
        expect_all_free(build, server)
    print(f"{len(samples)} samples, {CLIENTS} programs")


def steps(build, server):
    """Comes to each step of lending: one has some that it does not use, which the other needs."""
    with players(build, server, 2) as (one, other):
        one.ask("take 10")
        other.ask(f"take {LIMIT - 60}")
        sample(server)
        one.ask("give")
        other.ask("take 30")
        sample(server)


def kill_at(build, point):
    with Fuse() as fuse, check.explained(f"kill at {point.name!r}"), \
            contextlib.ExitStack() as outer:
        fuse.arm(point.name, "kill")
        server = outer.enter_context(serving(build, fuse))
        with contextlib.ExitStack() as stack:
            if point.program == "gpuaasd":
                stack.enter_context(contextlib.suppress(check.Failure, ProcessLookupError))
            steps(build, server)
        expect(fuse.disarm(), "nobody came there")
        if point.program == "gpuaasd":
            server.wait(10)
            check.expect_no_orphans(build)
            return
        wait_until(lambda: sample(server) is None, 15, "nothing is left of the programs")
        expect_all_free(build, server)


def test_kills(build):
    for point in lending_points():
        kill_at(build, point)


def test_who_does_not_answer_is_waited_for_in_vain(build):
    """A backend process that stands still keeps what it was lent: the other is refused in time."""
    with serving(build) as server, players(build, server, 1) as (one,):
        expect(one.ask("take 10") == "took", one.report())
        stopped = server.backends()
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        with players(build, server, 1) as (other,):
            try:
                start = time.monotonic()
                answer = other.ask(f"take {LIMIT - 20}")
                expect(answer == "cudaErrorMemoryAllocation", other.report())
                expect(time.monotonic() - start < 20, "it is refused in some seconds")
            finally:
                for pid in stopped:
                    os.kill(pid, signal.SIGCONT)
            wait_until(lambda: other.ask(f"take {LIMIT - 60}") == "took", 30, "it answers again")


if __name__ == "__main__":
    harness.main(globals())
