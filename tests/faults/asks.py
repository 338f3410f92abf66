#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clients ask gpuaasd for a device that there is not, as fast as they can, read no answer, and come
again when they are given up. Programs start beside them."""

import contextlib
import os
import socket
import struct
import threading

import check
from check import Checker, expect
from lib import harness

ASKERS, STARTS = 3, 5
OPEN, NO_DEVICE = 4, 77  # api/wire.h
BLOCK = struct.pack("<IIQII8x", 16, OPEN, 0, NO_DEVICE, 0) * 20000


def learn_hello(build):
    """A real greeting; its application id is replaced each time."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        env = build.environment(build.path("lib", "gpuaas"),
                                {"GPUAAS_SERVERS": "%s:%d" % listener.getsockname()})
        with harness.running([build.program("devices")], env), listener.accept()[0] as one:
            got = b""
            while len(got) < 16 or len(got) < 16 + struct.unpack_from("<I", got)[0]:
                got += one.recv(4096)
    return got[:16 + struct.unpack_from("<I", got)[0]]


def ask(hello, place, counts, stop):
    host, port = place.rsplit(":", 1)
    while not stop.is_set():
        with contextlib.suppress(ConnectionError), \
                socket.create_connection((host, int(port)), 20) as one:
            one.sendall(hello[:28] + os.urandom(16) + hello[44:])
            while not stop.is_set():
                one.sendall(BLOCK)
                counts.append(len(BLOCK))


def test_who_asks_all_the_time(build):
    hello = learn_hello(build)
    with harness.serving(build, host=check.own_host()) as server:
        checker = Checker(build, server)
        env, counts, stop = build.remote([server]), [], threading.Event()
        threads = [threading.Thread(target=ask, args=(hello, server.place, counts, stop))
                   for _ in range(ASKERS)]
        for thread in threads:
            thread.start()
        try:
            harness.wait_until(lambda: len(counts) > ASKERS, 20, "they ask")
            took = [harness.run_passing([build.program("hello")], env).seconds
                    for _ in range(STARTS)]
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        expect("there is no such device" in server.err.text, server.report())
        print(f"  {sum(counts) >> 20} MiB of requests; slowest of {STARTS} starts: "
              f"{max(took):.2f} s")
        checker.check()


if __name__ == "__main__":
    harness.main(globals())
