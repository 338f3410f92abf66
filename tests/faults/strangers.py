#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Strangers do not keep programs out: connections that never say who they are, or say very little,
at the port of gpuaasd and at the data ports, from the programs' own address and from others. With
GPUAAS_TEST_FULL=1 and without a sanitizer there are 10,000 at gpuaasd, 10,000 at the data ports and
128 programs, otherwise fewer."""

import concurrent.futures
import contextlib
import os
import re
import selectors
import socket
import ssl
import sys
import tempfile
import time

import check
import crowd
from check import Checker, expect, wait_until
from lib import harness
from stranger import Strangers

# A sanitizer makes the server several times slower, which this is not about.
FULL = os.environ.get("GPUAAS_TEST_FULL") == "1" and "none" in sys.argv
STRANGERS = 10000 if FULL else 500 if harness.TRANSPORT == "tls" else 2000
PROGRAMS = 128 if FULL else 12
# Here programs and server share few processors.
AT_ONCE = 4 if harness.TRANSPORT == "tls" else 16
DATA_PORTS = (27100, 27399)
ADDED_SECONDS = 3  # of noise, beside twice the time
# The first byte of a message, and of a TLS handshake: a connection that sends something else is
# refused at once.
BEGINNING = b"\x16" if harness.TRANSPORT == "tls" else b"\x40"
HANDSHAKES = 200  # each takes some milliseconds


def configuration(host, more):
    return f"""[server]
listen = tcp://{host}:0
data_ports = {DATA_PORTS[0]}-{DATA_PORTS[1]}
{more}
[gpu.0]
driver = soft
memory = 2GiB
"""


def port_of(server):
    return int(server.place.rsplit(":", 1)[1])


def start_program(build, server):
    process = harness.run([build.program("vector_add")], build.remote([server]), status=0)
    expect(process.out.lines[-1:] == ["PASSED"], process.report())


def start_programs(build, server, count):
    """Starts so many, AT_ONCE at once; how long it takes until all have ended well."""
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for done in [pool.submit(start_program, build, server) for _ in range(count)]:
            done.result()
    return time.monotonic() - begin


def pending(server):
    """How many connections have not said who they are: to gpuaasd, to all backend processes."""
    begin = len(server.err.lines)
    server.kill(check.signal.SIGUSR1)
    wait_until(lambda: any("spare" in line for line in server.err.lines[begin:]), 20, "a report")
    lines = server.err.lines[begin:]
    own = [int(match.group(1)) for line in lines
           if (match := re.search(r"report: (\d+) pending connections of", line))]
    theirs = [int(match.group(1)) for line in lines
              if (match := re.search(r"tickets, (\d+) pending connections", line))]
    return own[0], sum(theirs)


def expect_programs_start(build, words, more="", at_data=None, each_second=5000, bounded=True):
    """While there are strangers that say `words`, at the data ports perhaps something else, and of
    whom so many come again each second."""
    host = check.own_host()
    with harness.serving(build, config=configuration(host, more)) as server:
        start_programs(build, server, 2)  # files are read for the first time
        server.wait_spares()
        checker = Checker(build, server)
        without = start_programs(build, server, PROGRAMS)
        server.wait_spares()
        with Strangers(host, port_of(server), STRANGERS, words, each_second) as at_control, \
                Strangers(host, DATA_PORTS, STRANGERS,
                          words=words if at_data is None else at_data) as data:
            at_control.wait_connected()
            with_strangers = start_programs(build, server, PROGRAMS)
            own, _ = pending(server)
            dropped = at_control.end(), data.end()
        print(f"{PROGRAMS} programs start in {without:.1f} s; while {STRANGERS} strangers are at "
              f"gpuaasd (which has {own}) and as many at data ports, in {with_strangers:.1f} s; "
              f"{dropped[0]} and {dropped[1]} were dropped")
        expect(not bounded or with_strangers < 2 * without + ADDED_SECONDS,
               f"{with_strangers:.1f} s, {without:.1f} s without strangers")
        checker.check()


def test_who_says_nothing(build):
    expect_programs_start(build, b"")


def test_who_says_one_byte(build):
    expect_programs_start(build, BEGINNING)


def client_hello():
    """How a TLS handshake begins."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    out = ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), out).do_handshake()
    return out.read()


def greet(address):
    """Seconds from connecting to a welcome."""
    begin = time.monotonic()
    with socket.create_connection(address, 60) as client:
        client.sendall(crowd.hello(1))
        answer = client.recv(1 << 16)
    expect(crowd.HEADER.unpack_from(answer)[1] == crowd.WELCOME, "a welcome")
    return time.monotonic() - begin


def begin_handshakes(address, count):
    """As many at once; gives the sockets, on which the server's part will arrive."""
    sockets = [socket.create_connection(address, 60) for _ in range(count)]
    hello = client_hello()
    for connection in sockets:
        connection.sendall(hello)
    return sockets


def test_handshakes_delay_nobody(build):
    """gpuaasd answers others while it is busy with very many, whose key takes long."""
    if harness.TRANSPORT == "tls":
        return  # it listens with and without
    with tempfile.TemporaryDirectory() as folder:
        harness.certificates.openssl(folder, "req", "-x509", "-newkey", "rsa:4096", "-nodes",
                                     "-days", "2", "-subj", "/CN=slow", "-keyout", "slow.key",
                                     "-out", "slow.pem")
        more = (f"listen = tls://127.0.0.1:0\ntls_cert = {folder}/slow.pem\n"
                f"tls_key = {folder}/slow.key\n")
        config = configuration("127.0.0.1", more)
        with harness.serving(build, config=config) as server, contextlib.ExitStack() as stack, \
                selectors.EpollSelector() as waiting:
            match = server.wait_for_line(r"ready tls://127.0.0.1:(\d+)", 20, server.err)
            plain, tls = ("127.0.0.1", port_of(server)), ("127.0.0.1", int(match.group(1)))
            greet(plain)
            begin = time.monotonic()
            for connection in begin_handshakes(tls, HANDSHAKES):
                waiting.register(stack.enter_context(connection), selectors.EVENT_READ)
            waits = []
            while waiting.get_map():
                waits.append(greet(plain))
                for key, _ in waiting.select(0.001):
                    waiting.unregister(key.fileobj)
            seconds = time.monotonic() - begin
        print(f"{HANDSHAKES} handshakes in {seconds:.2f} s; {len(waits)} greetings meanwhile, the "
              f"slowest in {max(waits):.3f} s")
        expect(max(waits) < seconds / 4, "a greeting waits for the handshakes of others")


def test_handshakes_that_stop(build):
    if harness.TRANSPORT == "tls":
        expect_programs_start(build, client_hello(), at_data=BEGINNING)


def test_more_than_may_wait(build):
    """Strangers take turns at being dropped, which keeps the server busy; a program that greets
    comes through."""
    expect_programs_start(build, b"", f"pending_connections = {STRANGERS // 2}", each_second=1000,
                          bounded=False)


if __name__ == "__main__":
    harness.main(globals())
