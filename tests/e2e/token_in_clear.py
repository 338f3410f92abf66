#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The token of a program: servers get it over TLS and on this machine, and never in clear over a
network, for which the test needs network namespaces; that part is skipped where there are none."""

import contextlib
import os
import socket
import ssl
import sys
import threading

from lib import harness
from lib.harness import expect

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "faults"))
import cut  # noqa: E402

TOKEN = "gpuaas_abcdefghijkl_a-token-that-is-secret"


class Listener:
    """Takes one greeting, and hangs up."""

    def __init__(self, host, context=None):
        self.socket = socket.create_server((host, 0))
        self.context = context
        self.got = b""
        self.thread = threading.Thread(target=self.listen, daemon=True)
        self.thread.start()
        self.place = f"{host}:{self.socket.getsockname()[1]}"

    def listen(self):
        with contextlib.suppress(OSError):
            connection, _ = self.socket.accept()
            connection.settimeout(20)
            if self.context is not None:
                connection = self.context.wrap_socket(connection, server_side=True)
            with connection:
                self.got = connection.recv(4096)

    def greeting(self):
        self.thread.join(30)
        self.socket.close()
        expect(self.got[:1], "it has said nothing")
        return self.got


def greet(build, server, **env):
    """The bytes that a program sends to it, and the lines about the token."""
    env.setdefault("GPUAAS_TOKEN", TOKEN)
    scheme = "tls://" if server.context is not None else ""
    process = harness.run([build.program("devices")],
                          build.environment(build.path("lib", "gpuaas"),
                                            {"GPUAAS_SERVERS": scheme + server.place, **env}),
                          status=None)
    return server.greeting(), [line for line in process.err.lines if "token" in line]


def tls_context():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*harness.certificate("127.0.0.1"))
    return context


def test_this_machine(build):
    """semantics S147: Nobody else is there to listen."""
    said, lines = greet(build, Listener("127.0.0.1"))
    expect(TOKEN.encode() in said and not lines, f"{said} {lines}")


def test_file_that_every_user_may_read(build):
    for mode, given in ((0o640, True), (0o644, False), (0o602, False)):
        said, lines = greet(build, Listener("127.0.0.1"), GPUAAS_TOKEN="",
                            GPUAAS_TOKEN_FILE=token_file(mode))
        expect((TOKEN.encode() in said) == given, f"{mode:o}: {said}")
        expect(given or len(lines) == 1 and f"chmod o= {token_file(mode)}" in lines[0], f"{lines}")


def test_a_token_from_a_pipe(build):
    """GPUAAS_TOKEN_FILE=<(a command that tells it)"""
    read, write = os.pipe()
    os.write(write, TOKEN.encode() + b"\n")
    os.close(write)
    os.fchmod(read, 0o600)
    said, lines = greet(build, Listener("127.0.0.1"), GPUAAS_TOKEN="",
                        GPUAAS_TOKEN_FILE=f"/proc/{os.getpid()}/fd/{read}")
    os.close(read)
    expect(TOKEN.encode() in said and not lines, f"{said} {lines}")


def test_tls(build):
    """semantics S147"""
    said, lines = greet(build, Listener("127.0.0.1", tls_context()),
                        GPUAAS_CA=harness.authority().ca)
    expect(TOKEN.encode() in said and not lines, f"{said} {lines}")


def test_another_machine(build):
    """semantics S147: In clear nothing goes; one line says so."""
    net = cut.Net()
    try:
        net.__enter__()
    except OSError as error:
        print(f"skipped: no network namespaces ({error})")
        return
    try:
        for env in ({}, {"GPUAAS_TOKEN": "", "GPUAAS_TOKEN_FILE": token_file()}):
            with net.inside("server"):
                server = Listener(net.ENDS["server"])
            with net.inside("client"):
                said, lines = greet(build, server, **env)
            expect(TOKEN.encode() not in said and len(lines) == 1 and "tls://" in lines[0],
                   f"{said} {lines}")
    finally:
        net.__exit__()


def test_clear_if_the_user_insists(build):
    net = cut.Net()
    try:
        net.__enter__()
    except OSError as error:
        print(f"skipped: no network namespaces ({error})")
        return
    try:
        with net.inside("server"):
            server = Listener(net.ENDS["server"])
        with net.inside("client"):
            said, lines = greet(build, server, GPUAAS_TOKEN_IN_CLEAR="yes")
        expect(TOKEN.encode() in said and len(lines) == 1 and "can use it" in lines[0],
               f"{said} {lines}")
    finally:
        net.__exit__()


def test_a_token_for_each_server(build):
    """Each gets its own, and nobody else's."""
    server = Listener("127.0.0.1")
    text = f"# mine\n127.0.0.9 not-for-it\n{server.place} {TOKEN}\nfor-the-others\n"
    said, lines = greet(build, server, GPUAAS_TOKEN="", GPUAAS_TOKEN_FILE=token_file(text=text))
    expect(TOKEN.encode() in said and b"for-" not in said and not lines, f"{said} {lines}")
    server = Listener("127.0.0.1")
    text = f"common\n127.0.0.9,{server.place},gpu1 {TOKEN}\n127.0.0.8,127.0.0.1 for-the-pool\n"
    said, lines = greet(build, server, GPUAAS_TOKEN="", GPUAAS_TOKEN_FILE=token_file(text=text))
    expect(TOKEN.encode() in said and b"for-" not in said and not lines, f"{said} {lines}")
    wrong = token_file(text="127.0.0.9 gpuaas_not-for-it\n127.0.0.1, gpu1 token\na b c\n")
    said, lines = greet(build, Listener("127.0.0.1"), GPUAAS_TOKEN="", GPUAAS_TOKEN_FILE=wrong)
    expect(b"not-for-it" not in said and len(lines) == 1 and
           f"line 2 of {wrong} is left out, as are 1 more: it has more than two words" in lines[0],
           f"{said} {lines}")


def test_both_in_one_list(build):
    """semantics S147: Of two servers the one by tls:// alone gets it."""
    net = cut.Net()
    try:
        net.__enter__()
    except OSError as error:
        print(f"skipped: no network namespaces ({error})")
        return
    try:
        with net.inside("server"):
            clear = Listener(net.ENDS["server"])
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*harness.certificate(net.ENDS["server"]))
            encrypted = Listener(net.ENDS["server"], context)
        with net.inside("client"):
            process = harness.run([build.program("devices")], build.environment(
                build.path("lib", "gpuaas"),
                {"GPUAAS_SERVERS": f"tls://{encrypted.place},{clear.place}",
                 "GPUAAS_TOKEN": TOKEN, "GPUAAS_CA": harness.authority().ca}), status=None)
        expect(TOKEN.encode() in encrypted.greeting(), "by tls:// it goes")
        expect(TOKEN.encode() not in clear.greeting(), "in clear it does not go")
        lines = [line for line in process.err.lines if "token" in line]
        expect(len(lines) == 1 and clear.place in lines[0] and "not encrypted" in lines[0], lines)
    finally:
        net.__exit__()


def token_file(mode=0o600, text=TOKEN + "\n"):
    path = os.path.join(harness.authority().folder, "token")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path, mode)
    return path


if __name__ == "__main__":
    harness.main(globals())
