#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Strangers end no server: floods from 40, 1,000 and 20,000 addresses at every door of gpuaasd and
at the data port of a backend process, of connections that say anything and end anyhow. A program
that is served meanwhile notices nothing, the next one is served, and nothing is left of the flood.

With GPUAAS_TEST_FULL=1 each flood lasts FULL_SECONDS, otherwise some seconds."""

import contextlib
import os
import random
import tempfile

import check
import flooder
from check import Checker, expect
from lib import harness
from lib.player import players

FULL = os.environ.get("GPUAAS_TEST_FULL") == "1"
FULL_SECONDS = 100
if FULL:  # who has asked for a device is served, and let go, one after the other
    check.CLEAN_SECONDS = 120
DATA_PORT = 27400  # of an address that is this test's alone
PENDING_DEFAULT = 16384


def configuration(host, folder, pending):
    return f"""[server]
listen = tcp://{host}:0
listen = shm:{os.path.basename(folder)}
http = {host}:0
admin_socket = {folder}/admin.sock
data_ports = {DATA_PORT}-{DATA_PORT + 3}
{f"pending_connections = {pending}" if pending else ""}
[gpu.0]
driver = soft
memory = 1GiB
"""


def flood(build, sources, pending, seconds):
    """From so many addresses, while so many connections may wait (0: as many as by default)."""
    seed = random.randrange(1 << 32)
    host, full = check.own_host(), pending or PENDING_DEFAULT
    print(f"  {sources} addresses, seed {seed}")
    with tempfile.TemporaryDirectory(prefix="gpuaas-flood-") as folder, \
            harness.serving(build, config=configuration(host, folder, pending)) as server:
        web = server.wait_for_line(r"monitoring at http://(\S+:\d+)", 20, server.err).group(1)
        checker = Checker(build, server)
        with players(build, build.remote([server], GPUAAS_TRANSPORT="tcp"), 1) as (player,):
            expect(player.ask("copy 1") == "copied", player.report())
            doors = [server.place, *data_doors(server, host), web,
                     f"unix:@gpuaas/{os.path.basename(folder)}", f"unix:{folder}/admin.sock"]
            # One process cannot have so many descriptors for all doors.
            groups = [[door] for door in doors] if sources > 1000 else [doors]
            with contextlib.ExitStack() as stack:
                floods = [stack.enter_context(flooder.Flood(
                    group, sources, min(sources, full) + 24, full, seed,
                    FULL_SECONDS if FULL else seconds)) for group in groups]
                while any(strangers.popen.poll() is None for strangers in floods):
                    expect(player.ask("copy 1") == "copied", player.report())
                    expect(server.running(), server.report())
                counts = [count for strangers in floods for count in strangers.wait(60)]
            expect(player.ask("copy 1") == "copied", player.report())
        print(f"  {counts} connections", flush=True)
        expect(all(count > 40 for count in counts), f"{counts}")
        checker.check()


def data_doors(server, host):
    """Where the only backend process listens: over TCP, and for shared memory."""
    links, found = set(), []
    pid, = server.backends()
    for name in os.listdir(f"/proc/{pid}/fd"):
        links.add(os.readlink(f"/proc/{pid}/fd/{name}"))
    with open("/proc/net/tcp", encoding="ascii") as table:
        for words in (line.split() for line in list(table)[1:]):
            if words[3] == "0A" and f"socket:[{words[9]}]" in links:
                found.append(f"{host}:{int(words[1].split(':')[1], 16)}")
    with open("/proc/net/unix", encoding="utf-8") as table:
        for words in (line.split() for line in list(table)[1:]):
            if len(words) == 8 and f"socket:[{words[6]}]" in links and "@gpuaas/" in words[7]:
                found.append(f"unix:{words[7]}")
    expect(len(found) == 2, f"{found}")
    return found


def test_few_addresses(build):
    flood(build, 40, 16, 3)


def test_many_addresses(build):
    flood(build, 1000, 500, 6)


def test_very_many_addresses(build):
    if FULL:
        flood(build, 20000, 0, FULL_SECONDS)


if __name__ == "__main__":
    harness.main(globals())
