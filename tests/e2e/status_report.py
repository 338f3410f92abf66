#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The report that gpuaasd logs at SIGUSR1: the applications, their control connections and backend
processes; what each has and has moved; and what is the server's own."""

import contextlib
import re
import signal

from lib import harness
from lib.harness import expect, wait_until
from lib.player import CONFIG, MEMORY, Player

MIB = 1 << 20
APPLICATION = re.compile(r"report: application ([0-9a-f]{8}), (\S+ \(pid \d+\)): "
                         r"(\d+) control connections, (\d+) backend processes")
CLIENT = re.compile(r"report: (\S+ \(pid \d+\)): connected, 0 devices waited for")
PROCESS = re.compile(r"report: backend process (\d+) of (\S+ \(pid \d+\)): ready, (\d+) tickets")
HAS = re.compile(r"report: application [0-9a-f]{8} has (.*)")
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


def figures(server):
    """The figures of the only application, by the words of the report."""
    text, = (match.group(1) for match in found(HAS, report(server)))
    return {words: int(number) for number, words in
            (figure.split(" ", 1) for figure in text.split(", "))}


def device(server):
    return figures(server).get("bytes of device memory", 0)


def test_what_it_has(build):
    """It grows by what the program allocates, not by what it cannot have, and is given back."""
    with harness.serving(build, config=CONFIG) as server:
        env = build.remote([server]) | {"GPUAAS_CLIENT_CACHE": "0"}
        with contextlib.closing(Player(build, env)) as player:
            player.free()
            begin = figures(server)
            expect(begin["contexts"] == 1, f"{begin}")
            before = device(server)
            expect(player.ask("take 64") == "took", player.report())
            expect(device(server) == before + 64 * MIB, f"{before}, {device(server)}")
            expect(player.ask(f"take {2 * MEMORY}") != "took", player.report())
            expect(device(server) == before + 64 * MIB, f"{before}, {device(server)}")
            player.ask("give")
            player.free()
            wait_until(lambda: device(server) == before, 20, f"it has {before} bytes again")


def test_what_it_has_moved(build):
    """Bytes of copies, by the ways that they take."""
    ways = ("frames", "shared buffers") if harness.TRANSPORT == "auto" else ("frames",)
    with harness.serving(build, config=CONFIG) as server, \
            contextlib.closing(Player(build, build.remote([server]))) as player:
        player.free()
        before = figures(server)
        expect(player.ask("copy 3") == "copied", player.report())
        after = figures(server)
        for direction in ("in", "out"):
            words = [f"bytes {direction} by {way}" for way in ways]
            moved = sum(after[word] - before.get(word, 0) for word in words)
            expect(all(after[word] for word in words) and 36 * MIB <= moved < 38 * MIB,
                   f"{moved} {words}")
        expect(after["bytes of host memory"] > 0, f"{after}")


if __name__ == "__main__":
    harness.main(globals())
