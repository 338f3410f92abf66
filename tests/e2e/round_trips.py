#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The number of times that a program waits for the server, counted, so it is the same on every
network. A program reaches a context in four (six with tls, whose handshake adds one on each
connection), and a program that copies, launches and copies back needs four more."""

import re
import sys

from lib import harness
from lib.harness import expect, wait_until

TO_CONNECT = 6 if harness.TRANSPORT == "tls" else 4
OF_A_PROGRAM = 4
WARM = 10  # turns in which a loop may have to ask for more


def counted(build, server, command, **env):
    """(to connect, afterwards)"""
    process = harness.run(command, build.remote([server], GPUAAS_TRACE="summary", **env))
    told = re.search(r"round trips (\d+) \(and (\d+) to connect\)", process.err.text)
    expect(told, f"the trace is due\n{process.report()}")
    return int(told.group(2)), int(told.group(1))


def round_trips(build, server, name, **env):
    return counted(build, server, [build.program(name)], **env)


def test_small_program(build):
    """semantics S7"""
    with harness.serving(build) as server:
        for name in ("vector_add", "hello"):
            connect, run = round_trips(build, server, name)
            expect(connect <= TO_CONNECT, f"{name} waits {connect} times to connect")
            expect(run <= OF_A_PROGRAM, f"{name} waits {run} times")


def test_who_is_not_asked_says_nothing(build):
    with harness.serving(build) as server:
        for words, due in (("none", ""), ("", ""), ("loud", "none, summary or calls")):
            process = harness.run([build.program("hello")],
                                  build.remote([server], GPUAAS_TRACE=words))
            expect(due in process.err.text and bool(due) == bool(process.err.text),
                   f"GPUAAS_TRACE={words}\n{process.report()}")


def test_chosen_device(build):
    """The ticket cannot be asked for before the device is known."""
    with harness.serving(build) as server:
        connect, _ = round_trips(build, server, "vector_add", GPUAAS_DEVICES="1")
        expect(connect == TO_CONNECT + 1, f"{connect} round trips to connect")


def test_without_spares(build):
    with harness.serving(build, gpus=1, keys=["spare_backends = 0"]) as server:
        connect, run = round_trips(build, server, "vector_add")
        expect((connect, run) <= (TO_CONNECT, OF_A_PROGRAM), f"{connect} and {run} round trips")


def test_ticket_that_was_asked_for_too_early(build):
    """A program that asks for devices long before it uses one gets another ticket."""
    with harness.serving(build, gpus=1, keys=["ticket_s = 1"]) as server:
        process = harness.run([sys.executable, "-c", LATE_USE],
                              build.remote([server], GPUAAS_TRACE="summary"))
        expect(process.out.text == "0 0", f"the device is usable\n{process.report()}")
        expect("to connect" in process.err.text, f"the trace is due\n{process.report()}")
        wait_until(lambda: not server.backends(), 10, "no backend process is left")


def loop_costs(build, server, what, turns):
    """Round trips of so many turns of a loop of tests/kernels/reuse.cu, all else left out."""
    few, many = (counted(build, server, [build.program("reuse"), what, str(count)])[1]
                 for count in (WARM, WARM + turns))
    return many - few


def test_allocating_loops(build):
    """semantics S115: what each turn allocates and frees costs nothing but the wait of the turn,
    and that only as long as its end is not known (on a slow machine it may be)."""
    with harness.serving(build) as server:
        for what in ("free_first", "wait_first"):
            cost = loop_costs(build, server, what, 40)
            expect(36 <= cost <= 40, f"40 turns of {what} wait {cost} times")


def test_blocking_copies_to_the_device(build):
    """semantics S125: they do not wait for what is known to be done, in whatever stream."""
    with harness.serving(build) as server:
        for what in ("copies_in", "copies_both"):
            cost = loop_costs(build, server, what, 40)
            expect(cost <= 40, f"40 turns of {what} wait {cost} times")


def test_questions(build):
    """semantics S113: about work whose end is known nothing is asked."""
    with harness.serving(build) as server:
        cost = loop_costs(build, server, "queries", 40)
        expect(20 <= cost <= 40, f"40 turns of questions wait {cost} times")


def test_facts(build):
    """Attributes and occupancy are known here."""
    with harness.serving(build) as server:
        cost = loop_costs(build, server, "facts", 40)
        expect(cost == 0, f"40 turns of asking for facts wait {cost} times")


# A module of so many kernels and variables, of which each is used.
TABLE = """
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
def must(name, *arguments):
    assert getattr(cuda, name)(*arguments) == 0, name
count, primary, module = int(sys.argv[1]), ctypes.c_void_p(), ctypes.c_void_p()
text = ".version 6.4\\n.target sm_75\\n.address_size 64\\n"
for i in range(count):
    text += f".visible .global .b8 variable{i}[{4 * i + 4}];\\n.visible .entry kernel{i}"
    text += "(.param .u32 number)\\n{\\nret;\\n}\\n"
must("cuInit", 0)
must("cuDevicePrimaryCtxRetain", ctypes.byref(primary), 0)
must("cuCtxSetCurrent", primary)
must("cuModuleLoadData", ctypes.byref(module), text.encode())
values = (ctypes.c_void_p * 1)(ctypes.addressof(ctypes.c_uint32(7)))
for i in range(count):
    function, address, size = ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_size_t()
    must("cuModuleGetFunction", ctypes.byref(function), module, f"kernel{i}".encode())
    must("cuLaunchKernel", function, 1, 1, 1, 1, 1, 1, 0, None, values, None)
    must("cuModuleGetGlobal_v2", ctypes.byref(address), ctypes.byref(size), module,
         f"variable{i}".encode())
    assert size.value == 4 * i + 4
    must("cuMemcpyHtoDAsync_v2", address, bytes(size.value), size, None)
assert cuda.cuModuleGetFunction(ctypes.byref(function), module, b"kernel") == 500
assert cuda.cuModuleGetGlobal_v2(ctypes.byref(address), ctypes.byref(size), module,
                                 b"kernel0") == 500
must("cuCtxSynchronize")
"""


def test_functions_and_variables(build):
    """semantics S185"""
    with harness.serving(build) as server:
        few, many, most = (counted(build, server, [sys.executable, "-c", TABLE, str(count)])[1]
                           for count in (1, 100, 522))
        expect(many <= few + 1, f"100 kernels and variables wait {many} times, one {few} times")
        expect(most <= few + 2 * 10 + 1, f"522 of both wait {most} times")


LATE_USE = """
import ctypes, time
cuda = ctypes.CDLL("libcuda.so.1")
found = cuda.cuInit(0)
time.sleep(2.5)
context = ctypes.c_void_p()
print(found, cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
"""


if __name__ == "__main__":
    harness.main(globals())
