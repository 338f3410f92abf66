# SPDX-License-Identifier: Apache-2.0
"""The admin socket without gpuaasctl: bytes as they are."""

import contextlib
import json
import socket

from lib.harness import expect

CONNS_MAX = 32


class Raw:
    """A connection, by lines."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(60)
        self.socket.connect(path)
        self.file = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.socket.close()

    def send(self, data):
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.socket.sendall(data)

    def reply(self):
        """None: it is closed."""
        try:
            line = self.file.readline()
        except ConnectionResetError:
            return None
        return json.loads(line) if line else None

    def ask(self, **request):
        self.send(json.dumps({"apiVersion": 1, **request}).encode() + b"\n")
        return self.reply()

    def wrong(self, data, code, *texts):
        self.send(data)
        error = self.reply()["error"]
        expect(error["code"] == code and all(text in error["message"] for text in texts),
               f"{data[:80]}: {error}")
