# SPDX-License-Identifier: Apache-2.0
"""A client without a library, which may do what none does: say its greetings one by one, late, or
with ids of its choice. Over TCP only."""

import contextlib
import os
import socket
import struct

MAGIC, MAJOR, MINOR = 0x41555047, 1, 1  # api/wire.h
HELLO, WELCOME, REFUSED, OPEN, TICKET, ADMIN, DATA_HELLO, DATA_WELCOME = 1, 2, 3, 4, 5, 6, 8, 9
DATA, SIDE = 0, 1  # enum handshake_kind
HEADER = struct.Struct("<IHHQ")
SECONDS = 30


def aligned(body, to):
    return body + bytes(-len(body) % to)


def text(words):
    return struct.pack("<I", len(words)) + words.encode() + b"\0"


def listens(place):
    """Whether anybody takes connections there."""
    host, port = place.rsplit(":", 1)
    try:
        socket.create_connection((host, int(port)), SECONDS).close()
    except ConnectionRefusedError:
        return False
    return True


def greeting(application, token=""):
    """The values of HELLO and of ADMIN."""
    hello = struct.pack("<IIII", MAGIC, MAJOR, MINOR, os.getpid()) + application
    for words in ("raw", "raw", token):
        hello = aligned(hello, 4) + text(words)
    return hello


class Raw:
    """Greets gpuaasd."""

    def __init__(self, address, application=None, token=""):
        self.application = os.urandom(16) if application is None else application
        self.stack = contextlib.ExitStack()
        self.control = self.connect(address)
        self.opens = 0
        self.say(self.control, HELLO, greeting(self.application, token))
        opcode, _ = self.hear(self.control)
        assert opcode == WELCOME, opcode

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stack.close()

    def connect(self, address):
        host, port = address.rsplit(":", 1)
        return self.stack.enter_context(socket.create_connection((host, int(port)), SECONDS))

    @staticmethod
    def say(to, opcode, values, sequence=0):
        values = aligned(values, 16)
        to.sendall(HEADER.pack(len(values), opcode, 0, sequence) + values)

    @staticmethod
    def hear(of):
        """Opcode and values; None: it has closed the connection."""
        header = of.recv(HEADER.size, socket.MSG_WAITALL)
        if len(header) < HEADER.size:
            return None
        length, opcode, _, _ = HEADER.unpack(header)
        return opcode, of.recv(length, socket.MSG_WAITALL) if length else b""

    def ask_open(self, device=0):
        """The answer."""
        self.opens += 1
        self.say(self.control, OPEN, struct.pack("<I", device), self.opens)
        return self.hear(self.control)

    def open(self, device=0):
        """A ticket: where to connect, and what to show there."""
        opcode, values = self.ask_open(device)
        assert opcode == TICKET, (opcode, values)
        (size,) = struct.unpack_from("<I", values, 56)
        return values[60:60 + size].decode().split("://")[1], values[8:24], values[24:56]

    def show(self, to, ticket, kind, device=0):
        """Says who it is; the answer."""
        body = struct.pack("<IIIII", MAGIC, MAJOR, MINOR, kind, device)
        body += self.application + ticket[1] + ticket[2]
        self.say(to, DATA_HELLO, aligned(body, 8) + struct.pack("<QQ", 0, 0))
        return self.hear(to)
