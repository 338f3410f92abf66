"""A link that is slow: what is sent through it arrives a given time later, in both directions. With
the time a program needs at two delays the round trips that it waits for can be told, whatever it
counts itself. TCP's own greetings are not delayed: the near end answers them."""

import contextlib
import queue
import random
import socket
import threading
import time

NEAR, FAR = "127.0.0.3", "127.0.0.1"  # whom the client meets, where the server is
DATA_PORTS = 8
CHUNK = 1 << 20


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


class SlowLink:
    """Forwards NEAR:port to FAR:port; `delay_s` is that of a whole round trip."""

    def __init__(self, ports):
        self.delay_s = 0.0
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
        waiting = queue.Queue()

        def read():
            data = b"?"
            while data:
                try:
                    data = source.recv(CHUNK)
                except OSError:
                    data = b""
                waiting.put((time.monotonic() + self.delay_s / 2, data))

        def write():
            with contextlib.suppress(OSError):
                while True:
                    due, data = waiting.get()
                    time.sleep(max(0.0, due - time.monotonic()))
                    if not data:
                        break
                    sink.sendall(data)
            with contextlib.suppress(OSError):
                sink.shutdown(socket.SHUT_WR)
        threading.Thread(target=read, daemon=True).start()
        threading.Thread(target=write, daemon=True).start()

    def close(self):
        for listener in self.listeners:
            listener.close()
