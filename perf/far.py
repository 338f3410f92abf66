# SPDX-License-Identifier: Apache-2.0
"""A server far away: two network namespaces with a long link between them (link.c), which delays
everything, including TCP's handshakes. Programs that are started inside near() or far() are there;
earlier programs, and the caller itself, stay where they are."""

import contextlib
import ctypes
import os
import subprocess

NEAR, FAR = "10.78.0.2", "10.78.0.1"
CLONE_NEWNET = 0x40000000
CONGESTION = "/proc/sys/net/ipv4/tcp_congestion_control"  # of the namespace of who opens it

_libc = ctypes.CDLL(None, use_errno=True)


def _checked(what, result):
    if result != 0:
        raise OSError(ctypes.get_errno(), what)


def _enter(namespace):
    _checked("setns", _libc.setns(namespace, CLONE_NEWNET))


def _opened(path):
    return os.open(path, os.O_RDONLY | os.O_CLOEXEC)


class Link:
    """OSError where network namespaces or their devices cannot be made. `delay_ms` is one way;
    `rate` is in bytes per second, 0: unlimited."""

    def __init__(self, program, delay_ms, rate=0):
        self.delay_ms = delay_ms
        self.rate = rate
        with contextlib.ExitStack() as stack:
            home = _opened("/proc/self/ns/net")
            stack.callback(os.close, home)
            _checked("unshare", _libc.unshare(CLONE_NEWNET))
            stack.callback(_enter, home)
            self.near_fd = _opened("/proc/thread-self/ns/net")
            self.process = subprocess.Popen([program, *self._wire().split()], text=True,
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=subprocess.PIPE)
        try:
            self._expect_ready()
            self.far_fd = _opened(f"/proc/{self.process.pid}/ns/net")
        except OSError:
            os.close(self.near_fd)
            raise
        for end in (self.near, self.far):
            # Allowed everywhere. It sends at once, where others pause.
            with end(), open(CONGESTION, "w", encoding="ascii") as f:
                f.write("reno")

    def _expect_ready(self):
        if self.process.stdout.readline() != "ready\n":
            why = self.process.communicate()[1].strip()
            raise OSError(why or "the link has ended")

    def _wire(self):
        return f"{round(self.delay_ms * 1000)} {round(self.rate)}"

    def set(self, delay_ms, rate=0):
        self.delay_ms, self.rate = delay_ms, rate
        self.process.stdin.write(self._wire() + "\n")
        self.process.stdin.flush()
        self._expect_ready()

    def round_trip_s(self):
        return 2 * self.delay_ms / 1000

    @contextlib.contextmanager
    def _inside(self, namespace):
        home = _opened("/proc/thread-self/ns/net")
        try:
            _enter(namespace)
            yield
        finally:
            _enter(home)
            os.close(home)

    def near(self):
        return self._inside(self.near_fd)

    def far(self):
        return self._inside(self.far_fd)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()
        os.close(self.near_fd)
        os.close(self.far_fd)
