# SPDX-License-Identifier: Apache-2.0
"""A slow link: bytes arrive a given time later, in both directions. The time that a program needs
at two delays shows the round trips that it waits for, whatever it counts itself. TCP's handshakes
are not delayed: the near end answers them.

Or a narrow link: each connection gets a given number of bytes a second, each way, as in networks
that limit connections, or share between them."""

import contextlib
import queue
import random
import socket
import threading
import time

NEAR, FAR = "127.0.0.3", "127.0.0.1"  # the address for clients, the server's address
DATA_PORTS = 8
CHUNK = 1 << 20
NARROW_CHUNK, NARROW_CHUNKS = 1 << 16, 4  # under way through a narrow link


def free_ports():
    """The first of some successive ports that are free on both addresses."""
    for _ in range(1000):
        first = random.randrange(20000, 32000)
        with contextlib.ExitStack() as held:
            try:
                for port in range(first, first + DATA_PORTS):
                    for host in (NEAR, FAR):
                        held.enter_context(listening(host, port))
                return first
            except OSError:
                continue
    raise OSError("no free ports")


def listening(host, port):
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(64)
    except OSError:
        listener.close()
        raise
    return listener


NARROW_SLACK_S = 0.01  # sleeping takes too long; this much is compensated


class SlowLink:
    """Forwards NEAR:port to FAR:port; `delay_s` is that of a whole round trip, `rate` the bytes per
    second of each connection (None: as many as it can)."""

    def __init__(self, ports, rate=None):
        self.delay_s = 0.0
        self.rate = rate
        self.listeners = [listening(NEAR, port) for port in ports]
        for listener in self.listeners:
            threading.Thread(target=self.accept, args=(listener,), daemon=True).start()

    def accept(self, listener):
        port = listener.getsockname()[1]
        with contextlib.suppress(OSError):
            while True:
                near, _ = listener.accept()
                far = socket.create_connection((FAR, port))
                for conn in (near, far):
                    conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.carry(near, far)
                self.carry(far, near)

    def carry(self, source, sink):
        waiting = queue.Queue(NARROW_CHUNKS if self.rate else 0)
        chunk = NARROW_CHUNK if self.rate else CHUNK

        def read():
            data = b"?"
            while data:
                try:
                    data = source.recv(chunk)
                except OSError:
                    data = b""
                waiting.put((time.monotonic() + self.delay_s / 2, data))

        def write():
            with contextlib.suppress(OSError):
                free = 0.0
                while True:
                    due, data = waiting.get()
                    time.sleep(max(0.0, max(due, free) - time.monotonic()))
                    if not data:
                        break
                    sink.sendall(data)
                    if self.rate:
                        free = max(free, time.monotonic() - NARROW_SLACK_S) + len(data) / self.rate
            with contextlib.suppress(OSError):
                sink.shutdown(socket.SHUT_WR)
        threading.Thread(target=read, daemon=True).start()
        threading.Thread(target=write, daemon=True).start()

    def close(self):
        for listener in self.listeners:
            listener.close()
