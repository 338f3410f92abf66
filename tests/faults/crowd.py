# SPDX-License-Identifier: Apache-2.0
"""Very many clients at once, without the processes: control connections that say who they are and
then nothing more, as those of programs that compute."""

import contextlib
import os
import resource
import selectors
import socket
import struct

MAGIC, MAJOR, MINOR = 0x41555047, 1, 1  # api/wire.h
HELLO, WELCOME, OPEN = 1, 2, 4
HEADER = struct.Struct("<IHHQ")


def text(words):
    return struct.pack("<I", len(words)) + words.encode() + b"\0"


def aligned(body):
    return body + bytes(-len(body) % 4)


def hello(number):
    """api/handshake.c: handshake_hello_write"""
    body = struct.pack("<IIII", MAGIC, MAJOR, MINOR, number) + os.urandom(16)
    for words in ("crowd", f"member {number}", ""):
        body = aligned(body) + text(words)
    body += bytes(-len(body) % 16)
    return HEADER.pack(len(body), HELLO, 0, 0) + body


def open_first():
    """api/handshake.c: handshake_open_write, for device 0"""
    return HEADER.pack(16, OPEN, 0, 1) + bytes(16)


def allow_descriptors(count):
    """As many as are wanted, or what this machine allows; how many that is."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return min(count, most - 500)


class Crowd:
    """`count` connections, begun all at once; `greet` says hello on all and counts the welcomes.
    `opens`: each asks for a device at once."""

    def __init__(self, address, count, opens=False):
        host, port = address.rsplit(":", 1)
        self.more = open_first() if opens else b""
        self.sockets = []
        for _ in range(count):
            connection = socket.socket()
            connection.setblocking(False)
            connection.connect_ex((host, int(port)))
            self.sockets.append(connection)

    def greet(self, seconds):
        welcomed = 0
        with selectors.EpollSelector() as waiting:
            for number, connection in enumerate(self.sockets):
                waiting.register(connection, selectors.EVENT_WRITE, number)
            while waiting.get_map():
                ready = waiting.select(seconds)
                if not ready:
                    return welcomed
                for key, events in ready:
                    welcomed += self.turn(waiting, key, events)
        return welcomed

    def turn(self, waiting, key, events):
        """Says hello, or hears the answer; 1: it is a welcome."""
        if events & selectors.EVENT_WRITE:
            with contextlib.suppress(OSError):
                key.fileobj.send(hello(key.data) + self.more)
            waiting.modify(key.fileobj, selectors.EVENT_READ, key.data)
            return 0
        waiting.unregister(key.fileobj)
        try:
            answer = key.fileobj.recv(1 << 16)
        except OSError:
            answer = b""
        return int(len(answer) >= HEADER.size and HEADER.unpack_from(answer)[1] == WELCOME)

    def close(self):
        for connection in self.sockets:
            connection.close()
