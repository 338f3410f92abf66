#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A flood: connections that begin as every kind of client does, say it in pieces of any size, and
end anywhere and anyhow. A process of its own: `Flood(...)` starts it.

usage: flooder.py PLACES SOURCES COUNT FULL SEED SECONDS
  PLACES   where they connect to, separated by commas: HOST:PORT, or unix:PATH (unix:@NAME without a
           file)
  SOURCES  they come from so many addresses of 127.0.0.0/8
  COUNT    so many at once at each place
  FULL     so many may wait at each place
  SEED     of all that is random
  SECONDS  it ends after so long

At each place so many as may wait say a byte first, each from an address of its own, and all of
them come a second time; what follows is random. It prints how many connections there were at each
place."""

import contextlib
import os
import random
import resource
import selectors
import socket
import ssl
import struct
import subprocess
import sys
import time

import crowd

DATA_HELLO = 8  # api/wire.h
RESET = struct.pack("ii", 1, 0)  # SO_LINGER
TURN_SECONDS = 0.005
EACH_TURN = 300  # that begin, say something or end


class Flood:
    """To the end of the `with` block, or for `seconds`."""

    def __init__(self, places, sources, count, full, seed, seconds):
        self.popen = subprocess.Popen(
            [sys.executable, __file__, ",".join(places), str(sources), str(count), str(full),
             str(seed), str(seconds)], stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        return self

    def wait(self, seconds):
        """How many connections there were at each place."""
        text, _ = self.popen.communicate(timeout=seconds)
        assert self.popen.returncode == 0, "it has ended well"
        return [int(word) for word in text.split()]

    def __exit__(self, *_):
        if self.popen.poll() is None:
            self.popen.kill()
            self.popen.wait()


def client_hello():
    """How a TLS handshake begins."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    out = ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), out).do_handshake()
    return out.read()


TLS_HELLO = client_hello()


def words(chance):
    """The bytes of one of them, if it comes so far."""
    kind = chance.random()
    if kind < 0.3:
        return crowd.hello(1) + crowd.open_first()
    if kind < 0.4:  # of a data connection, with a ticket that nobody has
        return (crowd.HEADER.pack(160, DATA_HELLO, 0, 0) +
                struct.pack("<IIIII", crowd.MAGIC, crowd.MAJOR, crowd.MINOR, chance.randrange(3), 0)
                + chance.randbytes(140))
    if kind < 0.7:
        return TLS_HELLO
    if kind < 0.8:
        return b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n"
    if kind < 0.9:
        return b'{"verb":"status"}\n' * 3
    return chance.randbytes(chance.randrange(1, 8000))


class Place:
    """One door, and those before it."""

    def __init__(self, poll, name, sources, count, chance):
        self.poll, self.name, self.sources, self.count = poll, name, sources, count
        self.chance = chance
        self.all, self.number = [], {}  # sockets; where each is in the list
        self.texts = {}  # what each still says
        self.begun = 0

    def begin(self, text):
        if self.name.startswith("unix:"):
            one, to = socket.socket(socket.AF_UNIX), self.name[5:].replace("@", "\0", 1)
        else:
            host, port = self.name.rsplit(":", 1)
            one, to = socket.socket(), (host, int(port))
            number = self.begun % self.sources
            with contextlib.suppress(OSError):  # it has no port left
                one.bind((f"127.{64 + number // 62500}.{number // 250 % 250 + 1}."
                          f"{number % 250 + 1}", 0))
        self.begun += 1
        one.setblocking(False)
        with contextlib.suppress(OSError):  # such as: nobody listens there any more
            one.connect(to)
        self.number[one] = len(self.all)
        self.all.append(one)
        self.texts[one] = text
        self.poll.register(one, selectors.EVENT_READ, self)

    def end(self, one):
        self.poll.unregister(one)
        del self.texts[one]
        last, number = self.all.pop(), self.number.pop(one)
        if last is not one:
            self.all[number] = last
            self.number[last] = number
        one.close()

    def heard(self, one):
        try:
            if one.recv(65536):
                return
        except BlockingIOError:
            return
        except OSError:
            pass
        self.end(one)

    def say(self, one, count):
        try:
            said = one.send(self.texts[one][:count])
            self.texts[one] = self.texts[one][said:]
        except BlockingIOError:
            pass
        except OSError:
            self.end(one)

    def act(self, one):
        what = self.chance.random()
        if what < 0.7 and self.texts[one]:
            self.say(one, self.chance.choice((1, 1, 7, 16, 100, len(self.texts[one]))))
        elif what < 0.75:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_WR)
        elif what < 0.9:
            if self.chance.random() < 0.5 and one.family == socket.AF_INET:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            self.end(one)

    def turn(self):
        for _ in range(min(EACH_TURN, self.count - len(self.all))):
            self.begin(words(self.chance))
        for _ in range(min(EACH_TURN, len(self.all))):
            if self.all:
                self.act(self.chance.choice(self.all))

    def begin_all(self, full, most, until):
        """From as many addresses as may wait."""
        self.begun = 0
        while self.begun < full and len(self.all) < most and time.monotonic() < until:
            self.begin(b"\x16")

    def say_all(self):
        for one in list(self.all):
            self.say(one, 1)


def fill(places, full, most, seconds):
    """Strangers connect and send a byte, and the servers have time to read it."""
    for place in places:
        place.begin_all(full, most, time.monotonic() + seconds / len(places))
    time.sleep(0.1)
    for place in places:
        place.say_all()
    time.sleep(0.1)


def main():
    names, sources, count, full, seed, seconds = sys.argv[1:]
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    names = names.split(",")
    most = (most - 100) // len(names)
    count = min(int(count), most)
    chance, until = random.Random(int(seed)), time.monotonic() + float(seconds)
    with selectors.EpollSelector() as poll:
        places = [Place(poll, name, int(sources), count, chance) for name in names]
        for _ in range(2):
            fill(places, int(full), most, float(seconds) / 4)
        while time.monotonic() < until:
            for place in places:
                place.turn()
            for key, _ in poll.select(TURN_SECONDS):
                if key.fileobj in key.data.number:
                    key.data.heard(key.fileobj)
    print(*(place.begun for place in places), flush=True)
    os._exit(0)  # the kernel closes them faster


if __name__ == "__main__":
    main()
