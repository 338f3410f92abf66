#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cable is cut: client and server are in network namespaces of their own, joined by a bridge
that suddenly forwards nothing. No end of a connection is told; both must notice by themselves, in
every state, and no other program may be affected. Needs root and network namespaces; says so and is
skipped where they are missing.

Needs root and network namespaces; says so and is skipped where they are missing."""

import contextlib
import ctypes
import os
import subprocess
import sys
import time

import check
import silence
from check import Checker, expect, wait_until
from lib import harness
from silence import DEAD_AFTER, SLACK

SKIPPED = 77  # for ctest
CLONE_NEWNET = 0x40000000


def ip(*words, namespace=None):
    command = ["ip", *(["-n", namespace] if namespace else []), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OSError(f"{' '.join(command)}: {done.stderr.strip()}")


def set_namespace(path):
    libc = ctypes.CDLL(None, use_errno=True)
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if libc.setns(fd, CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns")
    finally:
        os.close(fd)


class Net:
    """Namespaces 'client', 'server' and 'near' (the server's neighbour) on one bridge."""

    ENDS = {"client": "10.77.0.2", "server": "10.77.0.1", "near": "10.77.0.3"}

    def __init__(self):
        self.names = {end: f"gpuaas-{os.getpid()}-{end}" for end in (*self.ENDS, "bridge")}
        self.made = []

    def __enter__(self):
        try:
            self.make()
        except BaseException:
            self.__exit__()
            raise
        return self

    def make(self):
        for name in self.names.values():
            ip("netns", "add", name)
            self.made.append(name)
        bridge = self.names["bridge"]
        ip("link", "add", "middle", "type", "bridge", namespace=bridge)
        ip("link", "set", "middle", "up", namespace=bridge)
        for end, address in self.ENDS.items():
            name = self.names[end]
            ip("link", "add", end, "type", "veth", "peer", "name", "eth0", "netns", name,
               namespace=bridge)
            ip("link", "set", end, "master", "middle", "up", namespace=bridge)
            ip("link", "set", "lo", "up", namespace=name)
            ip("link", "set", "eth0", "up", namespace=name)
            ip("address", "add", f"{address}/24", "dev", "eth0", namespace=name)

    def __exit__(self, *_):
        for name in self.made:
            with contextlib.suppress(OSError):
                ip("netns", "del", name)

    @contextlib.contextmanager
    def inside(self, end):
        """Processes that are started in the block are there."""
        set_namespace(f"/run/netns/{self.names[end]}")
        try:
            yield
        finally:
            set_namespace(HOME)

    def cut(self, end):
        """The bridge forgets this port: both sides keep their link, and nothing passes."""
        ip("link", "set", end, "nomaster", namespace=self.names["bridge"])

    def mend(self, end):
        ip("link", "set", end, "master", "middle", namespace=self.names["bridge"])


HOME = f"/proc/{os.getpid()}/fd/{os.open('/proc/self/ns/net', os.O_RDONLY)}"


def configuration(dead_after):
    return silence.configuration(dead_after).replace("127.0.0.1", Net.ENDS["server"])


def steps_near(net, build, server):
    """The checker's next program, from where the server can be reached."""
    with net.inside("near"):
        check.run_steps(build, [server])


def test_cut_in_every_state(build):
    with Net() as net, contextlib.ExitStack() as stack:
        with net.inside("server"):
            server = stack.enter_context(
                harness.serving(build, config=configuration(DEAD_AFTER)))
        checker = Checker(build, server)
        with net.inside("client"):
            programs = stack.enter_context(silence.in_every_state(
                build, server, GPUAAS_DEAD_AFTER=str(DEAD_AFTER)))
        with net.inside("near"):
            bystander = stack.enter_context(
                harness.running([build.program("steps"), "0"], build.remote([server])))
        bystander.wait_for_line("started", 60)
        net.cut("client")
        begin = time.monotonic()
        for state, (program, _) in programs.items():
            seconds = silence.expect_told(state, program, begin, "is lost: ")
            print(f"{state}: the client noticed after {seconds:.1f} s")
        wait_until(lambda: len(server.backends()) == 1, DEAD_AFTER + SLACK,
                   "the backend processes of the unreachable end")
        print(f"the server has freed everything after {time.monotonic() - begin:.1f} s")
        bystander.kill(15)
        expect(check.victim_result(bystander) == 0, bystander.report())
        # Nothing is left, of the control connections either, which nobody has closed.
        checker.check(serve=False)
        steps_near(net, build, server)
        net.mend("client")
        with net.inside("client"):
            check.run_steps(build, [server])
        checker.check(serve=False)


def test_short_cut_is_survived(build):
    """The kernel sends again what was lost."""
    with Net() as net, contextlib.ExitStack() as stack:
        with net.inside("server"):
            server = stack.enter_context(harness.serving(build, config=configuration(20)))
        checker = Checker(build, server)
        with net.inside("client"):
            programs = stack.enter_context(silence.in_every_state(
                build, server, GPUAAS_DEAD_AFTER="20"))
        net.cut("client")
        time.sleep(3)
        net.mend("client")
        steps, _ = programs["calls"]
        time.sleep(3)
        steps.kill(15)
        expect(check.victim_result(steps) == 0, steps.report())
        for state, (program, _) in programs.items():
            expect(not silence.lines_of_ours(program), f"{state}\n{program.report()}")
            program.kill()
            program.wait(10)
        checker.check(serve=False)


def main():
    try:
        with Net() as net, net.inside("client"):
            pass
    except OSError as error:
        print(f"skipped: no network namespaces can be made here: {error}")
        sys.exit(SKIPPED)
    harness.main(globals())


if __name__ == "__main__":
    main()
