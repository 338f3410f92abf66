#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Very many wrong logins, with auth = on: what they cost gpuaasd, and what a program notices of
them. The figures are printed; how long something takes is asserted only where it is far off.

With GPUAAS_TEST_FULL they are 10000 in 60 s."""

import contextlib
import os
import socket
import ssl
import struct
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from lib import harness, tokens  # noqa: E402
from lib.harness import expect, wait_until  # noqa: E402

FULL = bool(os.environ.get("GPUAAS_TEST_FULL"))
ALL, ALL_SECONDS = 10000, 60
LOGINS, SECONDS = (ALL, ALL_SECONDS) if FULL else (600, 4)
SOURCES = 256
# TLS handshakes with addresses that fail: server/access/authentication.c
SLOW_BURST, SLOW_EACH_SECOND = 64, 40
STARTS = 7
TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
TLS.check_hostname, TLS.verify_mode = False, ssl.CERT_NONE
WRONG = b"gpuaas_abcdefghijkl_" + b"A" * 43


def learn_hello(build):
    """The bytes of a real greeting with such a token; its application id is replaced each time."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        place = "%s:%d" % listener.getsockname()
        env = build.environment(build.path("lib", "gpuaas"),
                                {"GPUAAS_SERVERS": place, "GPUAAS_TOKEN": WRONG.decode()})
        with harness.running([build.program("devices")], env):
            one, _ = listener.accept()
            with one:
                got = b""
                while len(got) < 16 or len(got) < 16 + struct.unpack_from("<I", got)[0]:
                    got += one.recv(4096)
    return got[:16 + struct.unpack_from("<I", got)[0]]


def processor_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
        words = f.read().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def sources():
    """Addresses of this machine."""
    return [f"127.0.{1 + n // 200}.{1 + n % 200}" for n in range(SOURCES)]


def login(greeting, server, source, number):
    """One that is refused; whether it was answered."""
    host, port = server.place.rsplit(":", 1)
    hello = greeting[:28] + struct.pack("<QQ", number, 9) + greeting[44:]
    with socket.socket() as one:
        one.settimeout(20)
        one.bind((source, 0))
        one.connect((host, int(port)))
        if not server.address.startswith("tls://"):
            one.sendall(hello)
            return len(one.recv(4096)) > 0
        with contextlib.suppress(ConnectionError, ssl.SSLError), TLS.wrap_socket(one) as secure:
            secure.sendall(hello)
            return len(secure.recv(4096)) > 0
        return False


def storm(greeting, server, addresses, stop, count=LOGINS, seconds=SECONDS):
    """Makes so many logins in that time, evenly; or until `stop`. How many there were, and were
    answered."""
    began, answered = time.monotonic(), 0
    for number in range(count):
        if stop.is_set():
            return number, answered
        wait = began + number * seconds / count - time.monotonic()
        if wait > 0:
            time.sleep(wait)
        answered += login(greeting, server, addresses[number % len(addresses)], number + 1)
    return count, answered


def starts(build, env, count):
    """How long a program takes that computes nothing, in ms, the slowest of `count`."""
    took = []
    for _ in range(count):
        process = harness.run_passing([build.program("hello")], env)
        took.append(process.seconds * 1000)
    return max(took)


@contextlib.contextmanager
def storms(greeting, server, count):
    """Makes logins, so many at once from this address, as fast as they are answered; yields their
    sums: (logins, of which answered)."""
    stop, done = threading.Event(), []
    threads = [threading.Thread(target=lambda: done.append(
        storm(greeting, server, ["127.0.0.1"], stop, sys.maxsize, 0))) for _ in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield done
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def from_one_address(build, scheme, count):
    """Logins fail all the time; a program with a right token gets in beside them, each time. How
    many logins there were, and in how many seconds."""
    greeting = learn_hello(build)
    with tokens.guarded(build, scheme) as server:
        server.change("add", "lab")
        env = tokens.with_token(build, server, server.token("lab")[1])
        server.wait_spares()
        before, began = processor_seconds(server.pid), time.monotonic()
        with storms(greeting, server, count) as done:
            wait_until(lambda: "not admitted (penalty)" in server.err.text, 20, server.report())
            while time.monotonic() < began + SECONDS:
                harness.run_passing([build.program("hello")], env)
        seconds = time.monotonic() - began
        logins, answered = (sum(numbers) for numbers in zip(*done))
        spent = processor_seconds(server.pid) - before
        print(f"  {scheme}: {logins} wrong logins in {seconds:.1f} s from one address: "
              f"{spent:.2f} s of processor, {spent / logins * 1e6:.0f} us each")
        expect(answered == logins > count, f"{answered} of {logins} were answered")
        return logins, seconds


def test_one_address(build):
    from_one_address(build, "tcp", 2)


def test_one_address_over_tls(build):
    """Handshakes with an address that fails cost more, and wait for their turn."""
    logins, seconds = from_one_address(build, "tls", 8)
    expect(logins < SLOW_BURST + SLOW_EACH_SECOND * seconds + 8, f"{logins} in {seconds:.1f} s")


def test_a_stale_token_keeps_nobody_out(build):
    """It fails now and then, as that of a forgotten cron job, and others start at its address."""
    for scheme in ("tcp", "tls"):
        with tokens.guarded(build, scheme) as server:
            server.change("add", "lab")
            token = server.token("lab")[1]
            env = tokens.with_token(build, server, token)
            stale = token[:30] + ("A" if token[30] != "A" else "B") + token[31:]
            for number in range(STARTS):
                if number % 3 == 0:
                    tokens.expect_refused(build, tokens.with_token(build, server, stale),
                                          tokens.NOT_ACCEPTED)
                harness.run_passing([build.program("hello")], env)


def test_many_addresses(build):
    greeting = learn_hello(build)
    for scheme in ("tcp", "tls"):
        with tokens.guarded(build, scheme) as server:
            server.change("add", "lab")
            env = tokens.with_token(build, server, server.token("lab")[1])
            calm = starts(build, env, 5)
            stop = threading.Event()
            thread = threading.Thread(target=storm, args=(greeting, server, sources(), stop))
            thread.start()
            stormy = starts(build, env, 5)
            stop.set()
            thread.join()
            print(f"  {scheme}: slowest of 5 starts of a program: {calm:.0f} ms, and "
                  f"{stormy:.0f} ms ({stormy / calm:.2f} x) during wrong logins from {SOURCES} "
                  "addresses")


if __name__ == "__main__":
    harness.main(globals())
