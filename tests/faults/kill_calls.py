#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 of the client, of the backend process and of gpuaasd in the N-th system call of each kind
(strace's injection): between the failpoints too, and in what libraries do. The client and the
backend process stop at their first failpoint, so that the calls of the loader are not counted.
--all: each N until the program passes, else a sample."""

import contextlib
import os
import re
import signal
import subprocess

import check
from check import Checker, expect, wait_until
from lib import harness
from points import Fuse

COUNTS = range(1, 10000) if check.ALL else (1, 6)
CALLS = ("sendmsg", "sendto", "recvfrom", "recvmsg", "read", "write", "accept4", "connect", "mmap",
         "munmap", "close", "clone,clone3,fork,vfork", "poll,ppoll,epoll_wait,epoll_pwait", "futex",
         "eventfd2", "socketpair", "socket", "wait4,waitid")


def status_of(pid, key):
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as f:
        return next(line.split()[1] for line in f if line.startswith(key + ":"))


@contextlib.contextmanager
def killing(pid, calls, count, threads=True):
    """The process is traced, and goes on; it dies in a thread's count-th of these calls. Without
    `threads` what it forks is not traced."""
    command = ["strace", *(["-f"] if threads else []), "-qq", "-e", f"trace={calls}", "-e",
               f"inject={calls}:signal=SIGKILL:when={count}", "-o", "/dev/null", "-p", str(pid)]
    tracer = subprocess.Popen(command)
    try:
        wait_until(lambda: not harness.alive(pid) or
                   int(status_of(pid, "TracerPid")) == tracer.pid, 30, "strace attaches")
        os.kill(pid, signal.SIGCONT)
        yield
    finally:
        tracer.terminate()
        tracer.wait(30)


def stopped_at(fuse, name, start, who):
    """Starts a program; (the program, the process that has stopped at the failpoint)."""
    fuse.arm(name, "stop")
    victim = start()

    def one_stopped():
        expect(victim.running(), f"it has ended\n{victim.report()}")
        return next((pid for pid in who(victim) if status_of(pid, "State") == "T"), None)
    return victim, wait_until(one_stopped, 60, f"stopped at {name!r}")


def enumerate_calls(attempt, least):
    """attempt(calls, count) answers whether it has killed."""
    kills = 0
    for calls in CALLS:
        for count in COUNTS:
            with check.explained(f"kill in the {count}. {calls}"):
                killed = attempt(calls, count)
            kills += killed
            if not killed:
                break
    print(f"{kills} kills")
    expect(kills >= least, f"{least} kills are due at least")


def test_client(build):
    with Fuse() as fuse, harness.serving(build) as server:
        checker = Checker(build, server)

        def attempt(calls, count):
            victim, pid = stopped_at(fuse, "client: connected",
                                     lambda: check.start_steps(build, [server], **fuse.env),
                                     lambda victim: [victim.pid])
            with killing(pid, calls, count):
                result, = checker.check(victims=[victim], serve=False)
            return result is None
        enumerate_calls(attempt, 8)
        checker.check()


def test_backend(build):
    config = check.without_spares()
    with Fuse() as fuse, harness.serving(build, config=config, extra=fuse.env) as server:
        checker = Checker(build, server)

        def attempt(calls, count):
            victim, pid = stopped_at(fuse, "backend: setup read",
                                     lambda: check.start_steps(build, [server]),
                                     lambda victim: harness.children(server.pid))
            with killing(pid, calls, count):
                checker.check(victims=[victim], killed=check.ANY, serve=False)
            # The program may have gone on with another process: what counts is that this one died.
            words = rf"backend process {pid} of .* killed by signal 9"
            return any(re.search(words, line) for line in server.err.lines)
        enumerate_calls(attempt, 6)
        checker.check(killed=check.ANY)


def test_gpuaasd(build):
    def attempt(calls, count):
        with harness.serving(build, host=check.own_host()) as server:
            server.wait_spares()
            with killing(server.pid, calls, count, threads=False):
                result = check.victim_result(check.start_steps(build, [server]))
                # Calm before strace lets it go, which may lose the signal of a child's death.
                wait_until(lambda: not server.running() or not server.backends(), 30, "calm")
            if server.running():
                expect(result == 0, f"result {result}")
                return False
            check.expect_no_orphans(build)
            with harness.serving(build, config=check.same_address(server)) as again:
                check.run_steps(build, [again])
            return True
    enumerate_calls(attempt, 4)


if __name__ == "__main__":
    harness.main(globals())
