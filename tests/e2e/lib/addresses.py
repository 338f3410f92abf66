# SPDX-License-Identifier: Apache-2.0
"""Addresses at which no server answers."""

import contextlib
import socket


@contextlib.contextmanager
def silent_address():
    """An address that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=16) as listener:
        yield "127.0.0.1:%d" % listener.getsockname()[1]


def refusing_address():
    """An address where nobody listens: the port was free a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return "127.0.0.1:%d" % listener.getsockname()[1]
