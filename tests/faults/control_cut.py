#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The control connection of a program is cut, and its data connections are not: the program goes
on, and does not notice. Its memory is given back when it ends, as ever.

A relay stands between the program and gpuaasd; programs connect to the backend process directly."""

import contextlib
import os
import signal
import socket
import struct
import subprocess
import threading
import time

import check
from check import Checker, expect, wait_until
from lib import harness
from lib.metrics import metrics_of, place_of

ALONE = "goes on without its control connection"


class Relay:
    """Listens for programs, for a gpuaasd that listens at `place`. Its threads look up now and
    then, and nothing is closed that one waits for: somebody else may have the descriptor next."""

    def __init__(self, place):
        host, self.port = place.rsplit(":", 1)
        self.host = host
        self.listener = socket.create_server((host, 0))
        self.place = f"{host}:{self.listener.getsockname()[1]}"
        self.address = ("tls://" if harness.TRANSPORT == "tls" else "") + self.place
        self.pairs = []
        self.is_closed = False
        self.listener.settimeout(0.1)
        self.acceptor = threading.Thread(target=self.accept, daemon=True)
        self.acceptor.start()

    def accept(self):
        while not self.is_closed:
            with contextlib.suppress(TimeoutError):
                client, _ = self.listener.accept()
                server = socket.create_connection((self.host, int(self.port)))
                self.pairs.append(Pair(client, server))

    def cut(self, reset):
        """All connections that there are; with a reset, or with an end."""
        pairs, self.pairs = self.pairs, []
        for pair in pairs:
            pair.cut(reset)

    def close(self):
        self.is_closed = True
        self.acceptor.join()
        self.listener.close()
        self.cut(False)


class Pair:
    """Two connections, of which each gets what comes by the other one."""

    def __init__(self, client, server):
        self.ends = (client, server)
        self.is_cut = False
        self.pumps = [threading.Thread(target=self.pump, args=at, daemon=True)
                      for at in ((client, server), (server, client))]
        for pump in self.pumps:
            pump.start()

    def pump(self, source, to):
        source.settimeout(0.1)
        with contextlib.suppress(OSError):
            data = None
            while data != b"" and not self.is_cut:
                with contextlib.suppress(TimeoutError):
                    data = source.recv(65536)
                    to.sendall(data)
            if not self.is_cut:
                to.shutdown(socket.SHUT_WR)

    def cut(self, reset):
        self.is_cut = True
        for pump in self.pumps:
            pump.join()
        for end in self.ends:
            if reset:
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            end.close()


@contextlib.contextmanager
def relayed(build, config=None):
    with harness.serving(build, config=config) as server, \
            contextlib.closing(Relay(server.place)) as relay:
        yield server, relay


@contextlib.contextmanager
def alone(build, server, relay, reset=False):
    """A program that computes, whose control connection has been cut, and its backend process."""
    program = check.start_bystander(build, relay)
    try:
        program.wait_for_line("started", 60)
        backends = server.backends()
        expect(len(backends) == 1, f"one backend process is due: {backends}")
        told = server.err.text.count(ALONE)
        relay.cut(reset)
        wait_until(lambda: server.err.text.count(ALONE) == told + 1, 30,
                   f"gpuaasd says so\n{server.report()}")
        yield program, backends[0]
    finally:
        program.end()


def test_program_goes_on(build):
    """semantics S168"""
    with relayed(build) as (server, relay):
        checker = Checker(build, server)
        for reset in (False, True):
            with alone(build, server, relay, reset) as (program, backend):
                time.sleep(12)  # gpuaasd asks the backend process again and again
                expect(program.running() and server.backends() == [backend], program.report())
                program.kill(signal.SIGTERM)
                expect(check.victim_result(program) == 0, program.report())
                expect(not harness.logged(program), f"it notices nothing\n{program.report()}")
            checker.check()


def test_how_it_was_lost_is_counted(build):
    """The metric tells a program that ends after its connection was reset from one that has
    ended."""
    def closed(place, reason):
        return metrics_of(place)[f'gpuaas_sessions_closed_total{{reason="{reason}"}}']

    config = harness.configuration(1, keys=["http = 127.0.0.1:0"])
    with relayed(build, config) as (server, relay):
        place, counts = place_of(server), {"reset": 0, "client_exit": 0}
        for reset, reason in ((True, "reset"), (False, "client_exit")):
            with alone(build, server, relay, reset) as (program, _):
                program.kill()
                program.wait(10)
            counts[reason] += 1
            wait_until(lambda: {name: closed(place, name) for name in counts} == counts, 20,
                       f"{counts}")


def test_program_is_killed(build):
    with relayed(build) as (server, relay):
        checker = Checker(build, server)
        with alone(build, server, relay) as (program, _):
            program.kill()
            program.wait(10)
            checker.check()


def go_on(program):
    program.popen.stdin.write("\n")
    program.popen.stdin.flush()


def test_another_device_afterwards(build):
    """It connects again for it, and gpuaasd knows it."""
    with relayed(build, harness.configuration(2)) as (server, relay):
        program = harness.Process([build.program("late_devices")], build.remote([relay]),
                                  stdin=subprocess.PIPE)
        try:
            program.wait_for_line("started with 2", 60)
            go_on(program)
            program.wait_for_line("device 0 works", 60)
            backends = server.backends()
            relay.cut(False)
            wait_until(lambda: ALONE in server.err.text, 30, f"gpuaasd says so\n{server.report()}")
            go_on(program)
            expect(program.wait(60) == 0, program.report())
            expect("connected again" in server.err.text, server.report())
            expect(len(backends) == 1, f"{backends}")
        finally:
            program.end()
            program.popen.stdin.close()
        wait_until(lambda: not server.backends(), 20, "it has ended")


def test_backend_stands_still(build):
    """When its program ends then, nobody but gpuaasd can end it."""
    with relayed(build) as (server, relay):
        checker = Checker(build, server)
        with alone(build, server, relay) as (program, backend):
            os.kill(backend, signal.SIGSTOP)
            program.kill()
            program.wait(10)
            checker.check(killed=[backend])


def test_gpuaasd_ends(build):
    with relayed(build) as (server, relay):
        with alone(build, server, relay) as (program, _):
            server.stop()
            expect(check.victim_result(program) == 719, program.report())
        check.expect_no_orphans(build)


def test_it_is_one_of_the_clients(build):
    """Programs count for `clients`, so that nobody gets more processes by closing the
    connection."""
    config = harness.configuration(1, keys=["clients = 1"])
    with relayed(build, config) as (server, relay):
        with alone(build, server, relay) as (program, _):
            late = harness.run([build.program("vector_add")], build.remote([server]), status=None)
            expect(late.status != 0 and "100" in late.out.text, late.report())
            program.kill(signal.SIGTERM)
            expect(check.victim_result(program) == 0, program.report())
        wait_until(lambda: not server.backends(), 20, "it has ended")
        harness.run_passing([build.program("vector_add")], build.remote([server]))


if __name__ == "__main__":
    harness.main(globals())
