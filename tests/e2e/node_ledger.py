#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A software GPU never gives out more memory than it has: memory that programs share, in whatever
way, counts once for as long as one of them has it, whichever of them frees it, ends or is killed
first. This holds for programs that use softgpu directly, and for applications of one server."""

import contextlib
import itertools
import os
import random
import subprocess
import sys
import tempfile

from lib import harness
from lib.harness import expect, wait_until
from lib.passing import OUT_OF_MEMORY, PROGRAM, Program

MEMORY, PIECE = 96, 40  # MiB
STEP = 8  # a program may have 2 MiB that it has not asked for
GONE = (1, 201, 400)  # errors of opening what is not there (any more)
CONFIG = f"""[server]
listen = tcp://127.0.0.1:0
data_ports = 0
client_cache = 0
[gpu.0]
driver = soft
memory = {MEMORY}MiB
sms = 2
"""
# More words for the programs of passed_on.py. A descriptor travels as a message to the socket of
# who imports it.
WORDS = """
import socket
inbox = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
inbox.bind(sys.argv[1])
pools = []

def free():
    now, total = c_size_t(), c_size_t()
    must(cuda.cuMemGetInfo_v2(byref(now), byref(total)))
    return now.value >> 20

def post(fd, path):
    rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, fd.to_bytes(4, sys.byteorder))
    inbox.sendmsg([b"x"], [rights], 0, path)
    os.close(fd)

def received():
    return socket.recv_fds(inbox, 1, 1)[1][0]

def export_to(path):
    post(export()[1], path)

def import_next():
    fd, physical = received(), c_uint64()
    code = cuda.cuMemImportFromShareableHandle(byref(physical), c_void_p(fd), 1)
    os.close(fd)
    if code == 0:
        physicals.append(physical)
    return code

def opens(text):
    address = c_uint64()
    handle = Handle.from_buffer_copy(bytes.fromhex(text))
    code = cuda.cuIpcOpenMemHandle_v2(byref(address), handle, 1)
    if code == 0:
        opened.append(address)
    return code

class PoolProperties(ctypes.Structure):
    _fields_ = [("type", c_int), ("handles", c_int), ("location", Location),
                ("win32", c_void_p), ("rest", ctypes.c_ubyte * 64)]

def pool_take(mib):
    pool, address = c_void_p(), c_uint64()
    must(cuda.cuMemPoolCreate(byref(pool), byref(PoolProperties(1, 1, Location(1, 0), None))))
    must(cuda.cuMemAllocFromPoolAsync(byref(address), c_size_t(mib << 20), pool, None))
    must(cuda.cuCtxSynchronize())
    pools.append((pool, address))
    return 0

def pool_export_to(path):
    fd, pointer = c_int(), Handle()
    must(cuda.cuMemPoolExportToShareableHandle(byref(fd), pools[-1][0], 1, c_uint64(0)))
    must(cuda.cuMemPoolExportPointer(byref(pointer), pools[-1][1]))
    post(fd.value, path)
    return bytes(pointer).hex()

def pool_import(text):
    fd, pool, address = received(), c_void_p(), c_uint64()
    must(cuda.cuMemPoolImportFromShareableHandle(byref(pool), c_void_p(fd), 1, c_uint64(0)))
    os.close(fd)
    pointer = Handle.from_buffer_copy(bytes.fromhex(text))
    code = cuda.cuMemPoolImportPointer(byref(address), pool, byref(pointer))
    if code == 0:
        pools.append((pool, address))
    return code

def pool_end():
    pool, address = pools.pop()
    must(cuda.cuMemFreeAsync(address, None))
    must(cuda.cuCtxSynchronize())
    must(cuda.cuMemPoolDestroy(pool))
    must(cuda.cuCtxSynchronize())
"""
TEXT = PROGRAM.replace("for line in", WORDS + "\nfor line in")


class Way:
    """How memory is shared. `exports` gives what is put into `opens`."""

    def __init__(self, makes, exports, opens, closes, frees):
        self.makes, self.exports, self.opens = makes, exports, opens
        self.closes, self.frees = closes, frees


WAYS = {
    "handle": Way(f"take({PIECE})", "share()", "opens({handle!r})", "close_shared()", "give()"),
    "descriptor": Way(f"create({PIECE})", "export_to({to!r})", "import_next()", "release()",
                      "release()"),
    "pool": Way(f"pool_take({PIECE})", "pool_export_to({to!r})", "pool_import({handle!r})",
                "pool_end()", "pool_end()"),
}


class Member(Program):
    numbers = itertools.count()

    def __init__(self, env, folder):
        self.socket = os.path.join(folder, f"inbox-{next(self.numbers)}")
        harness.Process.__init__(self, [sys.executable, "-c", TEXT, self.socket], env,
                                 stdin=subprocess.PIPE)
        self.answers = 0
        self.get("start()")

    def ends(self):
        self.popen.stdin.close()
        self.wait(60)


class Node:
    def __init__(self, env, folder):
        self.env, self.folder, self.members = env, folder, []
        self.observer = self.member()

    def member(self):
        self.members.append(Member(self.env, self.folder))
        return self.members[-1]

    def expect_taken(self, mib, when):
        """In whole steps. No more is free, and no more can be had."""
        wait_until(lambda: (MEMORY - self.observer.get("free()")) // STEP * STEP == mib, 20,
                   f"{when}: {mib} MiB are taken, not {MEMORY - self.observer.get('free()')}")
        expect(self.observer.get(f"take({MEMORY - mib + 2})") == OUT_OF_MEMORY, when)
        if mib + STEP < MEMORY:
            expect(self.observer.get(f"take({MEMORY - mib - STEP})") == 0, when)
            self.observer.get("give()")

    def shared(self, way, *openers):
        """A program that has made memory which these have opened."""
        maker = self.member()
        expect(maker.get(way.makes) == 0, maker.report())
        for opener in openers:
            expect(self.opens(way, maker, opener) == 0, opener.report())
        return maker

    @staticmethod
    def remake(way, maker):
        expect(maker.get(way.makes) == 0, maker.report())
        return way

    @staticmethod
    def exports(way, maker, opener):
        """The words with which it is opened."""
        return way.opens.format(handle=maker.get(way.exports.format(to=opener.socket)))

    def opens(self, way, maker, opener):
        return opener.get(self.exports(way, maker, opener))


@contextlib.contextmanager
def direct(build):
    # A node of their own
    yield {**build.local(f"memory={MEMORY}MiB,sms=2"), "SOFTGPU_NODE": f"ledger-{os.getpid()}"}


@contextlib.contextmanager
def served(build):
    with harness.serving(build, config=CONFIG) as server:
        yield build.remote([server])


@contextlib.contextmanager
def nodes(build, kind):
    with tempfile.TemporaryDirectory(prefix="gpuaas-ledger-") as folder, kind(build) as env:
        here = Node(env, folder)
        try:
            yield here
        finally:
            for member in here.members:
                member.end()


ALL = [(kind, name) for kind in (direct, served) for name in WAYS]
SOME = [(direct, "handle"), (direct, "descriptor"), (served, "pool")]


def in_each(tries):
    """A kind has one node for all its ways."""
    def decorated(test):
        def tried(build):
            for kind in (direct, served):
                with nodes(build, kind) as here:
                    for name in (name for its, name in tries if its is kind):
                        test(here, WAYS[name], f"{kind.__name__}, {name}")
                        here.expect_taken(0, f"{kind.__name__}, {name}: all have ended")
        return tried
    return decorated


@in_each(ALL)
def test_its_maker_goes_first(here, way, name):
    """The maker is killed, ends, or frees the memory, stays, and ends thereafter."""
    keeper = here.member()
    for how in ("kill", "end", "free"):
        when = f"{name}: {how}"
        maker = here.shared(way, keeper)
        here.expect_taken(PIECE, when + ", both have it")
        if how == "kill":
            maker.kill()
        elif how == "end":
            maker.ends()
        else:
            maker.get(way.frees)
        here.expect_taken(PIECE, when)
        if how == "free":
            keeper.get(way.closes)
            here.expect_taken(0, when + ", it is closed")
            expect(here.opens(here.remake(way, maker), maker, keeper) == 0, when)
            maker.get(way.frees)
            maker.ends()
            here.expect_taken(PIECE, when + ", and it has ended")
        keeper.get(way.closes)
        here.expect_taken(0, when + ", it is closed")
        maker.end()
    keeper.end()


@in_each(SOME)
def test_again_and_again(here, way, name):
    """One program keeps what others have made: that is all that there is, at last."""
    keeper = here.member()
    for done in range(MEMORY // PIECE):
        here.shared(way, keeper).kill()
        here.expect_taken(PIECE * (done + 1), f"{name}: {done + 1} of them are gone")
    maker = here.member()
    try:
        code = maker.get(way.makes)
    except harness.Failure:
        code = OUT_OF_MEMORY  # `must` ends it
    expect(code == OUT_OF_MEMORY, f"{name}: it has more than there is\n{maker.report()}")
    keeper.kill()


@in_each(SOME)
def test_who_opens_it_goes_first(here, way, name):
    """One of two that have it is killed, the other one goes on. A second opening counts for
    nothing, and keeps it."""
    first, last = here.member(), here.member()
    maker = here.shared(way, first, last)
    here.expect_taken(PIECE, f"{name}: three have it")
    first.kill()
    here.expect_taken(PIECE, f"{name}: two have it")
    expect(here.opens(way, maker, last) == 0, last.report())
    maker.kill()
    here.expect_taken(PIECE, f"{name}: one has it twice")
    last.get(way.closes)
    here.expect_taken(PIECE, f"{name}: one has it")
    last.kill()


@in_each(SOME)
def test_its_maker_is_killed_while_it_is_opened(here, way, name):
    """The opener has the memory and it counts, or has an error and it does not."""
    for i in range(3):
        opener = here.member()
        maker = here.shared(way)
        opener.say(here.exports(way, maker, opener))
        if i > 0:
            with contextlib.suppress(subprocess.TimeoutExpired):
                maker.popen.wait(random.random() / 100)
        maker.kill()
        try:
            code = int(opener.hear())
        except harness.Failure:
            code = GONE[0]  # a pool that is not there
        expect(code in (0, OUT_OF_MEMORY, *GONE), f"{name}: error {code}\n{opener.report()}")
        here.expect_taken(PIECE if code == 0 else 0, f"{name}: opening it gave {code}")
        opener.kill()


def test_a_descriptor_alone_holds_nothing(build):
    """Whose maker is dead: others get the memory, or who imports it does."""
    way = WAYS["descriptor"]
    with nodes(build, direct) as here:
        opener, other = here.member(), here.member()
        for room in (False, True):
            maker = here.shared(way)
            words = here.exports(way, maker, opener)
            maker.kill()
            here.expect_taken(0, "it is on its way")
            expect(other.get(f"take({MEMORY - PIECE + (0 if room else 2)})") == 0, other.report())
            expect(opener.get(words) == (0 if room else OUT_OF_MEMORY), opener.report())
            expect(here.observer.get("take(2)") == (OUT_OF_MEMORY if room else 0), "all is taken")
            here.observer.get("give()")
            other.get("give()")


def test_all_are_killed(build):
    """The memory that programs have had is free for those that come then."""
    with tempfile.TemporaryDirectory(prefix="gpuaas-ledger-") as folder, served(build) as env:
        here = Node(env, folder)
        for way in WAYS.values():
            openers = [here.member(), here.member()]
            here.shared(way, *openers)
            for member in here.members:
                member.kill()
            here = Node(env, folder)
            here.expect_taken(0, "all are gone")
        here.observer.end()


if __name__ == "__main__":
    harness.main(globals())
