#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A resource runs out: descriptors, processes, threads, the program to start, room for log lines.
Requests are refused with a reason and a documented error, no process spins, and everything works
again when the shortage is over."""

import contextlib
import http.client
import os
import resource
import socket
import subprocess
import tempfile
import time

import check
from check import Checker, expect, wait_until
from lib import ctl, harness
from lib.player import Player
from points import Fuse

WATCH_SECONDS = 3


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def expect_calm(pid, what):
    """It may not spin while it can do nothing."""
    before = cpu_seconds(pid)
    time.sleep(WATCH_SECONDS)
    used = cpu_seconds(pid) - before
    print(f"{what}: {used:.2f} s of CPU in {WATCH_SECONDS} s")
    # On a busy machine who spins gets little of it.
    expect(used < WATCH_SECONDS / 15, f"{what} spins: {used} s of CPU in {WATCH_SECONDS} s")


@contextlib.contextmanager
def crowd(address, count):
    """Opens connections that say nothing."""
    host, port = address.rsplit(":", 1)
    with visitors((socket.AF_INET, (host, int(port))), count) as sockets:
        yield sockets


@contextlib.contextmanager
def visitors(door, count):
    """Opens connections that say nothing, at an address of this family."""
    family, address = door
    sockets = []
    try:
        for _ in range(count):
            connection = socket.socket(family)
            sockets.append(connection)
            connection.setblocking(False)
            connection.connect_ex(address)
        yield sockets
    finally:
        for connection in sockets:
            connection.close()


def limit_descriptors(pid, more):
    """Allows it only so many more than it has."""
    limit = max(int(name) for name in os.listdir(f"/proc/{pid}/fd")) + 1 + more
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (limit, before[1]))
    return before


def data_address(pid):
    """Where a backend process listens: the one listening socket that it has."""
    inodes = {os.readlink(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd")}
    with open("/proc/net/tcp", encoding="ascii") as f:
        for line in f.readlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in inodes:
                return f"127.0.0.1:{int(fields[1].split(':')[1], 16)}"
    raise check.Failure(f"process {pid} does not listen")


def test_nobody_spins_when_nothing_is_to_do(build):
    """semantics S154"""
    for transport in ("tcp", "auto"):
        with harness.serving(build) as server:
            env = build.remote([server], GPUAAS_TRANSPORT=transport)
            with contextlib.closing(Player(build, env)) as player:
                for words, answer in (("work 20", "worked"), ("copy 2", "copied")):
                    expect(player.ask(words) == answer, player.report())
                for pid, what in ((player.pid, "a program"), (server.backends()[0], "its backend"),
                                  (server.pid, "gpuaasd")):
                    expect_calm(pid, f"{what}, over {transport},")


def test_descriptors_of_gpuaasd(build):
    with harness.serving(build) as server:
        checker = Checker(build, server)
        before = limit_descriptors(server.pid, 20)
        with crowd(server.place, 60):
            server.wait_for_line("no descriptors or memory left", 20, server.err)
            expect_calm(server.pid, "gpuaasd without descriptors")
            # A connection that says nothing makes room.
            expect("descriptors have run out: dropped" in server.err.text, server.report())
            check.run_steps(build, [server])
        check.run_steps(build, [server])
        # With room for the connection of a client, and not for a backend process.
        server.wait_spares()
        limit_descriptors(server.pid, 1)
        for victim in [check.start_steps(build, [server]), check.start_steps(build, [server])]:
            error = check.victim_result(victim)
            expect(error in (0, 46, 100), f"{error}\n{victim.report()}")
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, before)
        server.wait_spares()
        checker.check()


def get(address, path):
    with contextlib.closing(http.client.HTTPConnection(address, timeout=20)) as connection:
        connection.request("GET", path)
        return connection.getresponse().status


class Doors:
    """The doors of one gpuaasd: where strangers come, and what the door is for."""

    def __init__(self, build, server, folder):
        self.build, self.server, self.folder = build, server, folder
        match = server.wait_for_line(r"monitoring at http://(\S+): ", 20, server.err)
        self.monitoring = match.group(1)
        self.all = [(self.knock(server.place), self.programs),
                    (self.knock(self.monitoring), self.watch),
                    ((socket.AF_UNIX, f"{folder}/admin.sock"), self.administer)]

    @staticmethod
    def knock(place):
        host, port = place.rsplit(":", 1)
        return socket.AF_INET, (host, int(port))

    def programs(self):
        check.run_steps(self.build, [self.server])

    def watch(self):
        expect(get(self.monitoring, "/livez") == 200, "it lives")

    def administer(self):
        ctl.Ctl(self.build, self.folder).run("tenant", "list")


def test_every_door_of_gpuaasd(build):
    """Descriptors run out at each door of gpuaasd, by strangers there, or at another one: it lives
    and does not spin, and all doors work again when the strangers have gone."""
    with tempfile.TemporaryDirectory(prefix="gpuaas-doors-") as folder:
        keys = ["http = 127.0.0.1:0", f"admin_socket = {folder}/admin.sock",
                f"store = {folder}/store.db"]
        with harness.serving(build, gpus=1, keys=keys) as server:
            doors = Doors(build, server, folder)
            for _, use in doors.all:
                use()
            server.wait_spares()
            # Its connections to the database are there when the first usage has been written.
            wait_until(lambda: ctl.Ctl(build, folder).items("usage"), 20, "usage is written")
            checker = Checker(build, server)
            for door, _ in doors.all:
                before = limit_descriptors(server.pid, 3)
                with visitors(door, 24), contextlib.ExitStack() as others:
                    # Strangers fill what is left there, and wait at the other doors.
                    for other, _ in doors.all:
                        others.enter_context(visitors(other, 4))
                    expect_calm(server.pid, f"gpuaasd without descriptors, at {door[1]},")
                    expect(server.running(), server.report())
                resource.prlimit(server.pid, resource.RLIMIT_NOFILE, before)
                for _, use in doors.all:
                    use()
                server.wait_spares()
            expect(server.err.text.count("no descriptors or memory left") >= len(doors.all),
                   f"each door says so\n{server.report()}")
            checker.check()


def limitable():
    """The configuration for tests that limit a backend process: in a container root may not limit
    the processes of others."""
    return harness.configuration(2, keys=["backend_user = root"] if os.geteuid() == 0 else [])


def test_descriptors_of_a_backend(build):
    with harness.serving(build, config=limitable()) as server:
        with harness.running([build.program("endless"), "idle"], build.remote([server])) as idle:
            idle.wait_for_line("started", 60)
            checker = Checker(build, server, clients=1)
            backend = server.backends()[0]
            limit_descriptors(backend, 2)
            with crowd(data_address(backend), 10):
                expect_calm(backend, "a backend process without descriptors")
                expect(idle.running(), f"its program has ended\n{idle.report()}")
            checker.check()


def test_descriptors_of_a_client(build):
    with harness.serving(build) as server:
        checker = Checker(build, server)
        for limit in range(4, 16):
            command = ["prlimit", f"--nofile={limit}", build.program("steps")]
            victim = harness.Process(command, build.remote([server]))
            error = check.victim_result(victim)
            expect(error in (0, 46, 100) or "error while loading" in victim.err.text,
                   f"{limit} descriptors: {error}\n{victim.report()}")
        checker.check()


@contextlib.contextmanager
def failing_calls(pid, calls, error):
    """These system calls of the process fail."""
    inject = f"inject={calls}:error={error}"
    tracer = subprocess.Popen(["strace", "-qq", "-e", f"trace={calls}", "-e", inject, "-p",
                               str(pid)], stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: tracer_of(pid) == tracer.pid, 20, "strace has attached")
        yield
    finally:
        tracer.terminate()
        tracer.wait(20)


def tracer_of(pid):
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as f:
        return int(next(line for line in f if line.startswith("TracerPid")).split()[1])


def test_fork(build):
    """As when the limit of processes is reached."""
    with harness.serving(build, config=check.without_spares()) as server:
        checker = Checker(build, server)
        with failing_calls(server.pid, "clone,clone3,fork,vfork", "EAGAIN"):
            victim = check.start_steps(build, [server])
            expect(check.victim_result(victim) == 46, victim.report())
            expect("temporarily unavailable" in victim.err.text, victim.report())
            expect("cannot start a backend process" in server.err.text, server.report())
        checker.check()


def test_exec(build):
    if build.sanitize == "none":
        return  # no failpoints
    with Fuse() as fuse:
        fuse.arm("gpuaasd: before exec", "fail", 2)  # the first one was to look at the devices
        with harness.serving(build, config=check.without_spares(), extra=fuse.env) as server:
            checker = Checker(build, server)
            victim = check.start_steps(build, [server])
            expect(check.victim_result(victim) in (0, 46), victim.report())  # 0: it asked again
            expect("cannot start a backend process" in server.err.text, server.report())
            expect(fuse.fired(), "nothing has failed")
            checker.check()


if __name__ == "__main__":
    harness.main(globals())
