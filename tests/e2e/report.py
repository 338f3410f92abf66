#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What gpuaasd logs of itself at SIGUSR1: the applications, their control connections and backend
processes, and what is the server's own."""

import contextlib
import re
import signal

import harness
from harness import expect, wait_until
from node import Player

APPLICATION = re.compile(r"report: application ([0-9a-f]{8}), (\S+ \(pid \d+\)): "
                         r"(\d+) control connections, (\d+) backend processes")
CLIENT = re.compile(r"report: (\S+ \(pid \d+\)): connected, 0 devices waited for")
PROCESS = re.compile(r"report: backend process (\d+) of (\S+ \(pid \d+\)): ready, (\d+) tickets")
NODE = re.compile(r"report: (\d+) clients, (\d+) backend processes, (\d+) spare")


def report(server):
    """The lines of one report, which the node's line ends."""
    begin = len(server.err.lines)
    server.kill(signal.SIGUSR1)
    wait_until(lambda: any(NODE.search(line) for line in server.err.lines[begin:]), 20,
               "gpuaasd reports")
    return [line for line in server.err.lines[begin:] if "report: " in line]


def found(pattern, lines):
    return [match for line in lines if (match := pattern.search(line))]


def test_nobody(build):
    with harness.serving(build, gpus=1) as server:
        server.wait_spares()
        lines = report(server)
        expect(not found(APPLICATION, lines) and not found(CLIENT, lines) and
               not found(PROCESS, lines), f"{lines}")
        expect(found(NODE, lines)[0].groups()[:2] == ("0", "0"), f"{lines}")


def test_each_application(build):
    """Each by its own name; one that has opened no device has no process."""
    with harness.serving(build, gpus=2) as server, \
            contextlib.closing(Player(build, build.remote([server]))) as one, \
            contextlib.closing(Player(build, build.remote([server]))) as other:
        one.free(), other.free()
        lines = report(server)
        names = {f"shares (pid {player.popen.pid})" for player in (one, other)}
        applications = found(APPLICATION, lines)
        expect({match.group(2) for match in applications} == names and
               len({match.group(1) for match in applications}) == 2 and
               all(match.groups()[2:] == ("1", "1") for match in applications), f"{lines}")
        expect({match.group(1) for match in found(CLIENT, lines)} == names, f"{lines}")
        expect({match.group(2) for match in found(PROCESS, lines)} == names, f"{lines}")
        one.close()
        wait_until(lambda: len(found(APPLICATION, report(server))) == 1, 20, "one has gone")


if __name__ == "__main__":
    harness.main(globals())
