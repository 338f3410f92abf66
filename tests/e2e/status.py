#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`gpuaas status`: what each server gives to a program, or why it does not; the exit status says
whether all can be used."""

import contextlib
import json
import os
import re
import socket
import tempfile

from lib import harness
from lib.addresses import refusing_address, silent_address
from lib.harness import expect
from lib.player import Player

MIB = 1 << 20
SCHEME = "tls://" if harness.TRANSPORT == "tls" else ""


def status(build, servers, *words, code=0, **env):
    env.setdefault("GPUAAS_TRANSPORT", harness.TRANSPORT)
    command = [build.path("bin", "gpuaas"), "status", "--servers", ",".join(servers), *words]
    return harness.run(command, build.environment(extra=env), 60, code)


def status_json(build, servers, *words, code=0, **env):
    process = status(build, servers, "--json", *words, code=code, **env)
    expect(not process.err.text, process.report())
    return json.loads(process.out.text)["servers"]


def test_servers_and_devices(build):
    with harness.serving(build, gpus=2) as one, harness.serving(build, gpus=1) as other:
        process = status(build, [one.address, other.address])
        rows = process.out.lines
        expect(len(rows) == 5 and rows[0].startswith(one.address + ": node ") and
               rows[3].startswith(other.address + ": node ") and not process.err.text,
               process.report())
        for number, row in ((0, rows[1]), (1, rows[2]), (2, rows[4])):
            expect(re.match(rf"  GPU {number}: Soft .*, \d+ of \d+ MiB free, over \w+, round trip "
                            r"[\d.]+ (us|ms)$", row), process.report())


def test_json(build):
    with harness.serving(build, gpus=2) as server:
        traces = harness.Traces(server)
        shown, = status_json(build, [server.address])
        expect(shown["address"] == server.address and shown["usable"] is True and
               shown["reason"] is None and shown["node"], f"{shown}")
        expect(re.match(r"\d+\.\d+\.\d+$", shown["version"]) and
               re.match(r"\d+\.\d+$", shown["driver_version"]), f"{shown}")
        names = [device["name"] for device in shown["devices"]]
        expect(names == [f"Soft {harness.HOST} {number}" for number in range(2)], f"{names}")
        for device in shown["devices"]:
            expect(device["usable"] is True and device["reason"] is None and
                   device["transport"] == harness.TRANSPORT.replace("auto", "shm") and
                   0 < device["memory_free_bytes"] <= device["memory_bytes"] and
                   0 < device["round_trip_ns"] < 60 * 10 ** 9, f"{device}")
        command = [build.path("bin", "gpuaas"), "devices", "--servers", server.address, "--json"]
        devices = json.loads(harness.run(command, build.environment()).out.text)["devices"]
        for listed, used in zip(devices, shown["devices"], strict=True):
            expect(listed.items() <= used.items(), f"the same members: {listed}, {used}")
        traces.expect_none()


def test_memory_of_others_is_not_free(build):
    with harness.serving(build, gpus=1) as server:
        before = status_json(build, [server.address])[0]["devices"][0]["memory_free_bytes"]
        with contextlib.closing(Player(build, build.remote([server]))) as player:
            expect(player.ask("take 128") == "took", player.report())
            now = status_json(build, [server.address])[0]["devices"][0]["memory_free_bytes"]
        expect(before - now >= 128 * MIB, f"{before} bytes were free, and now {now}")


def test_some_cannot_be_used(build):
    refusing = SCHEME + refusing_address()
    with harness.serving(build, gpus=1) as server, silent_address() as silent:
        silent = SCHEME + silent
        servers = [refusing, server.address, silent, "127.0.0.1:99999"]
        process = status(build, servers, code=1)
        rows = {address: row for address in servers for row in process.out.lines
                if row.startswith(address + ": ")}
        for address, reason in ((refusing, "refused"), (silent, "no answer within"),
                                ("127.0.0.1:99999", "the port is not")):
            expect("cannot be used: " in rows[address] and reason in rows[address],
                   process.report())
        expect(": node " in rows[server.address] and not process.err.text, process.report())
        shown = status_json(build, servers, code=1)
        expect([one["usable"] for one in shown] == [False, True, False, False], f"{shown}")
        expect("refused" in shown[0]["reason"] and shown[0]["devices"] == [] and
               shown[0]["node"] is None and len(shown[1]["devices"]) == 1, f"{shown}")


def test_none_can_be_used(build):
    first, second = refusing_address(), refusing_address()
    process = status(build, [first, second], code=2)
    expect(len(process.out.lines) == 2 and not process.err.text, process.report())
    expect(not any(one["usable"] for one in status_json(build, [first], code=2)), "none")


def test_no_device_is_left(build):
    with harness.serving(build, gpus=1) as server:
        process = status(build, [server.address], "--devices", "7", code=1)
        expect("GPUAAS_DEVICES=7 chooses none" in process.err.text and
               len(process.out.lines) == 1, process.report())
        process = status(build, [server.address], code=1, CUDA_VISIBLE_DEVICES="")
        expect("CUDA_VISIBLE_DEVICES is set and empty" in process.err.text, process.report())


def test_ports_that_are_used_up(build):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    config = harness.configuration(1).replace("data_ports = 0", f"data_ports = {port}")
    with harness.serving(build, config=config) as server, \
            contextlib.closing(Player(build, build.remote([server]))) as player:
        player.free()
        process = status(build, [server.address], code=1)
        expect(f"data_ports {port}-{port}" in process.out.lines[1] and
               "each running program takes one" in process.out.lines[1], process.report())


def test_device_that_is_refused(build):
    """The server answers, and its device cannot be had: shown with the server's reason."""
    if not build.has_failpoints():
        return  # without them no server is in that state for long enough
    with tempfile.TemporaryDirectory() as folder:
        point = os.path.join(folder, "failpoint")
        with open(point, "w", encoding="ascii") as file:
            file.write("0 fail gpuaasd: before a ticket\n")
        with harness.serving(build, gpus=1, extra={"GPUAAS_FAILPOINT": point}) as server:
            process = status(build, [server.address], code=1)
            expect(len(process.out.lines) == 2 and not process.err.text and
                   re.search("GPU 0: .* cannot be used: .", process.out.lines[1]),
                   process.report())
            device, = status_json(build, [server.address], code=1)[0]["devices"]
            expect(device["usable"] is False and device["reason"] and
                   "memory_free_bytes" not in device, f"{device}")


if __name__ == "__main__":
    harness.main(globals())
