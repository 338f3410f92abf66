#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Strangers: very many connections that do not say who they are, to any ports of 127.0.0.0/8.
Dropped connections come again. A process of its own: `Strangers(...)` starts it.

usage: stranger.py FROM HOST PORTS COUNT EACH_SECOND SECONDS WORDS
  FROM         the addresses that they have, separated by commas
  PORTS        first-last; they spread over those where somebody listens
  EACH_SECOND  so many connections begin at most
  SECONDS      it ends after so long, and when its standard input ends
  WORDS        what each says at once, in hexadecimal digits; "": nothing

It prints a line when all have begun to connect, and at its end how often one was dropped."""

import contextlib
import errno
import resource
import selectors
import socket
import subprocess
import sys
import time

TICK_SECONDS = 0.02
CLOSED_SECONDS = 0.3  # before a port is tried again


class Strangers:
    """`count` of them, at the port or in the range of ports, until the end of the `with` block."""

    def __init__(self, host, ports, count, words=b"", each_second=5000, seconds=600,
                 sources=("127.0.0.1",)):
        first, last = ports if isinstance(ports, tuple) else (ports, ports)
        self.popen = subprocess.Popen(
            [sys.executable, __file__, ",".join(sources), host, f"{first}-{last}", str(count),
             str(each_second), str(seconds), words.hex()],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        return self

    def wait_connected(self):
        line = self.popen.stdout.readline()
        assert line.startswith("connected"), line
        return self

    def end(self):
        """How often one was dropped."""
        with contextlib.suppress(OSError):
            self.popen.stdin.close()
        text = self.popen.stdout.read()
        self.popen.wait(60)
        return int(text.split()[-2]) if "dropped" in text else 0

    def __exit__(self, *_):
        if self.popen.poll() is None:
            self.popen.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.popen.wait(60)
        if self.popen.poll() is None:
            self.popen.kill()
            self.popen.wait()


class Crowd:
    def __init__(self, sources, host, ports, count, words):
        self.sources, self.host, self.ports, self.words = sources, host, ports, words
        self.count = self.missing = count
        self.dropped = self.begun = self.opened = 0
        self.closed = {}  # port: when it was found to be closed
        self.poll = selectors.EpollSelector()

    def begin(self):
        """Begins one connection; False: no port is open now."""
        now = time.monotonic()
        for _ in range(len(self.ports)):
            port = self.ports[self.begun % len(self.ports)]
            self.begun += 1
            if now - self.closed.get(port, 0) > CLOSED_SECONDS:
                break
        else:
            return False
        stranger = socket.socket()
        stranger.setblocking(False)
        stranger.bind((self.sources[self.begun % len(self.sources)], 0))
        with contextlib.suppress(BlockingIOError):
            if stranger.connect_ex((self.host, port)) == errno.ECONNREFUSED:
                self.closed[port] = now
                stranger.close()
                return True
        self.poll.register(stranger, selectors.EVENT_WRITE, port)
        self.missing -= 1
        self.opened += 1
        return True

    def turn(self, key, events):
        stranger, lost = key.fileobj, False
        try:
            if events & selectors.EVENT_WRITE:
                if self.words:
                    stranger.send(self.words)
                self.poll.modify(stranger, selectors.EVENT_READ, key.data)
            else:
                lost = stranger.recv(4096) == b""
        except OSError as error:
            lost = True
            if error.errno == errno.ECONNREFUSED:
                self.closed[key.data] = time.monotonic()
                self.dropped -= 1
        if lost:
            self.poll.unregister(stranger)
            stranger.close()
            self.missing += 1
            self.dropped += 1

    def run(self, each_second, seconds):
        until = time.monotonic() + seconds
        self.poll.register(sys.stdin, selectors.EVENT_READ)
        told = False
        while time.monotonic() < until:
            next_tick = time.monotonic() + TICK_SECONDS
            for _ in range(min(self.missing, int(each_second * TICK_SECONDS))):
                if not self.begin():
                    break
            if self.opened >= self.count and not told:
                print("connected", flush=True)
                told = True
            while (left := next_tick - time.monotonic()) > 0:
                for key, events in self.poll.select(left):
                    if key.fileobj is sys.stdin:
                        return
                    self.turn(key, events)


def main():
    sources, host, ports, count, each_second, seconds, words = sys.argv[1:]
    first, last = map(int, ports.split("-"))
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    crowd = Crowd(sources.split(","), host, list(range(first, last + 1)), int(count),
                  bytes.fromhex(words))
    crowd.run(int(each_second), float(seconds))
    print(f"dropped {crowd.dropped} times")


if __name__ == "__main__":
    main()
