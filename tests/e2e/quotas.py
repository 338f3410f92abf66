#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Limits of a tenant: each is met by a program that gets the documented error from the very call,
and a line that names the limit; others notice nothing (docs/quotas.md). The programs are those of
tests/kernels."""

import json
import re
import sys
import time

from lib import harness
from lib.harness import expect, wait_until
from lib.limited import another_driver, expect_note, limited, notes, players, use_up


def take_all(player):
    took = 0
    while (answer := player.ask("take 8")) == "took":
        took += 8
    expect(answer == "cudaErrorMemoryAllocation", answer)
    return took


def test_memory_of_two_programs(build):
    """The programs have the limit together, to the last byte of it; memory that one frees the other
    gets."""
    with limited(build, "gpu-mem=100MiB") as server, players(build, server, 2) as (one, other):
        expect(one.free() >= 95 and other.free() >= 95, "what the limit allows is free")
        took = take_all(one)
        expect(took >= 88, f"{took} MiB of 100")
        expect_note(one, "gpu-mem", "100 ?MiB allowed, .* used, .* asked for")
        expect(not notes(other, "gpu-mem"), other.report())
        expect(other.ask("take 16") == "cudaErrorMemoryAllocation", other.report())
        expect(one.ask("give") == "gave", one.report())
        expect(take_all(other) >= took - 8, other.report())
        expect(other.ask("give") == "gave", other.report())


def test_unused_grains_come_back(build):
    """A program that has freed nearly all keeps no part of what the limit allows the other."""
    with limited(build, "gpu-mem=128MiB") as server, players(build, server, 2) as (one, other):
        for _ in range(3):
            expect(one.ask("take 60") == "took", one.report())
            expect(one.ask("give") == "gave", one.report())
            expect(other.ask("take 110") == "took", other.report())
            expect(other.ask("give") == "gave", other.report())
            one, other = other, one


def test_one_that_dies_gives_back(build):
    with limited(build, "gpu-mem=100MiB") as server, players(build, server, 2) as (one, other):
        expect(one.ask("take 80") == "took", one.report())
        expect(other.ask("take 40") == "cudaErrorMemoryAllocation", other.report())
        one.kill()
        wait_until(lambda: other.ask("take 80") == "took", 10, "what the dead one had is free")


def test_memory_of_each_gpu(build):
    with limited(build, "gpu-mem-per-gpu=64MiB", gpus=2) as server:
        with players(build, server, 1) as (player,):
            expect(62 <= player.free() <= 64, player.report())
            took = take_all(player)
            expect(48 <= took <= 64, f"{took} MiB of 64")
            expect_note(player, "gpu-mem-per-gpu", "64 ?MiB allowed.*on one GPU")


def test_who_meets_it_takes_nothing_from_others(build):
    """The server's other tenants are not asked to give memory back: the GPU has enough."""
    with limited(build, "gpu-mem=64MiB") as server, players(build, server, 1) as (player,):
        take_all(player)
        expect("lacks memory of a GPU" not in server.err.text, server.report())


def test_what_is_shown(build):
    """cudaMemGetInfo and the size of the device are those of the limit."""
    with limited(build, "gpu-mem=192MiB", "gpu-mem-per-gpu=160MiB") as server:
        env = build.remote([server])
        shown = harness.run([build.path("bin", "gpuaas"), "status"], env)
        expect(re.search("160 of 160 MiB free", shown.out.text), shown.report())


PROBE = """
import ctypes, json
cuda = ctypes.CDLL("libcuda.so.1")
def call(name, *arguments):
    return getattr(cuda, name)(*arguments)
def must(name, *arguments):
    assert call(name, *arguments) == 0, name
context, total, free, all = (ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_size_t(),
                             ctypes.c_size_t())
must("cuInit", 0)
must("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
must("cuCtxSetCurrent", context)
must("cuDeviceTotalMem_v2", ctypes.byref(total), 0)
says = {"total": total.value, "free": [], "log": ""}
def look():
    must("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(all))
    assert all.value == total.value
    says["free"].append(free.value)
look()
rc, held, step = 0, [], 16 << 20
while step >= 1 << 20:
    address = ctypes.c_uint64()
    rc = call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(step))
    if rc == 0:
        held.append(address)
        look()
    else:
        step //= 2
says["result"] = rc
text, bytes = ctypes.create_string_buffer(25600), ctypes.c_size_t(25600)
if hasattr(cuda, "cuLogsDumpToMemory"):
    must("cuLogsDumpToMemory", None, text, ctypes.byref(bytes), 0)
    says["log"] = text.value.decode()
for address in held:
    must("cuMemFree_v2", address)
look()
print(json.dumps(says))
"""


def test_to_the_byte(build):
    """The size of the device is the limit, and what is free is exact; the log of CUDA has the
    note, too. A limit that changes meanwhile does not change the size."""
    limit = 100 << 20
    with limited(build, f"gpu-mem={limit}") as server:
        process = harness.run([sys.executable, "-c", PROBE], build.remote([server]))
        says = json.loads(process.out.text)
        expect(says["total"] == limit, process.report())
        free = says["free"]
        expect(free[0] == limit == free[-1], f"all of it is free at first and in the end: {free}")
        steps = [before - after for before, after in zip(free[:-2], free[1:-1])]
        expect(all(step in (1 << n for n in range(20, 25)) for step in steps), f"{steps}")
        expect(free[-2] < 4 << 20, f"the limit is used up: {free}")
        expect(says["result"] == 2, process.report())
        expect("limit gpu-mem of tenant default: 100MiB allowed" in says["log"] or
               not says["log"], process.report())


LOOKS_AT_MEMORY = """
import ctypes, json
cuda = ctypes.CDLL("libcuda.so.1")
def must(name, *arguments):
    assert getattr(cuda, name)(*arguments) == 0, name
says = {"free": []}
def look():
    free, all = ctypes.c_size_t(), ctypes.c_size_t()
    must("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(all))
    says["free"].append(free.value)
"""

CONTEXTS = LOOKS_AT_MEMORY + """
must("cuInit", 0)
primary = ctypes.c_void_p()
must("cuDevicePrimaryCtxRetain", ctypes.byref(primary), 0)
must("cuCtxSetCurrent", primary)
look()
made = []
while True:
    context = ctypes.c_void_p()
    says["result"] = cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0)
    if says["result"] != 0:
        break
    made.append(context)
    look()
for context in made:
    must("cuCtxDestroy_v2", context)
must("cuCtxSetCurrent", primary)
look()
print(json.dumps(says))
"""


def test_contexts(build):
    """Each takes what the server has measured that it takes, the primary one and others."""
    each, limit = 10 << 20, 100 << 20
    with limited(build, f"gpu-mem={limit}", keys="context_memory = 10MiB\n") as server:
        for _ in range(2):  # all of it comes back
            process = harness.run([sys.executable, "-c", CONTEXTS], build.remote([server]))
            says = json.loads(process.out.text)
            expect(says["free"] == [limit - (made + 1) * each for made in range(10)] +
                   [limit - each], process.report())
            expect(says["result"] == 2, process.report())
            expect_note(process, "gpu-mem", "100MiB allowed, .* used, 10MiB more asked for")
        server.limit("gpu-mem=9MiB")
        process = harness.run([build.program("vector_add")], build.remote([server]), status=None)
        expect(process.status != 0 and "(2, " in process.out.text, process.report())


OWN_CONTEXT = LOOKS_AT_MEMORY + """
context, address, primary = ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_void_p()
word = ctypes.create_string_buffer(4)
must("cuInit", 0)
must("cuCtxCreate_v2", ctypes.byref(context), 0, 0)
must("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(4))
look()
must("cuMemcpyDtoH_v2", word, address, ctypes.c_size_t(4))
look()
must("cuDevicePrimaryCtxRetain", ctypes.byref(primary), 0)
must("cuCtxSetCurrent", primary)
look()
must("cuCtxSetCurrent", context)
must("cuDevicePrimaryCtxRelease_v2", 0)
look()
must("cuMemcpyDtoH_v2", word, address, ctypes.c_size_t(4))
look()
print(json.dumps(says))
"""


def test_the_servers_own_context(build):
    """A program that makes only contexts of its own has, from its first copy on, the primary one,
    too; if it uses that itself, it costs nothing more."""
    each = 10 << 20
    with limited(build, "gpu-mem=100MiB", keys="context_memory = 10MiB\n") as server:
        for _ in range(2):  # all of it comes back
            process = harness.run([sys.executable, "-c", OWN_CONTEXT], build.remote([server]))
            first, *later = json.loads(process.out.text)["free"]
            expect(first > 80 << 20 and later == [first - each] * 4, process.report())
        server.limit("gpu-mem=19MiB")
        process = harness.run([sys.executable, "-c", OWN_CONTEXT], build.remote([server]),
                              status=None)
        expect("AssertionError: cuMemcpyDtoH_v2" in process.err.text, process.report())
        expect_note(process, "gpu-mem", "19MiB allowed, .* used, 10MiB more asked for")


def test_the_servers_own_context_takes_what_others_cache(build):
    """A program keeps 8 MiB that it has freed; the other one lacks 2 for its first copy."""
    with limited(build, "gpu-mem=400MiB", keys="context_memory = 10MiB\n") as server:
        with players(build, server, 1) as (player,):
            expect(player.ask("take 8") == "took" and player.ask("give") == "gave",
                   player.report())
            server.limit("gpu-mem=38MiB")
            process = harness.run([sys.executable, "-c", OWN_CONTEXT], build.remote([server]))
            expect(json.loads(process.out.text)["free"][0] < 9 << 20, process.report())


def test_other_limits_while_it_runs(build):
    """Changed limits hold at once, for new allocations alone; the size of the device stays."""
    with limited(build, "gpu-mem=100MiB") as server, players(build, server, 1) as (player,):
        expect(player.ask("take 50") == "took", player.report())
        server.limit("gpu-mem=40MiB")
        wait_until(lambda: player.ask("take 8") == "cudaErrorMemoryAllocation", 10,
                   "its process, which has been lent more, hears of that")
        expect_note(player, "gpu-mem", "40MiB allowed, [56].*MiB used, 8MiB more")
        expect(player.ask("work 3") == "worked", player.report())
        server.limit("gpu-mem=200MiB")
        expect(player.ask("take 60") == "took", player.report())
        server.limit("gpu-mem=-")
        expect(player.ask("take 200") == "took", player.report())
        server.limit("gpu-mem=300MiB")
        expect(player.ask("take 30") == "cudaErrorMemoryAllocation", player.report())


def test_gpu_time(build):
    """Used up, new programs are refused; and those that run are ended, if that is agreed on."""
    with limited(build, "gpu-seconds=100s/day") as server, players(build, server, 2) as made:
        one = made[0]
        one.free()
        use_up(server, 101)
        late = harness.run([build.program("vector_add")], build.remote([server]), status=None)
        expect(late.status != 0 and "limit gpu-seconds-day of tenant default: 100s allowed" in
               late.err.text, late.report())
        expect(one.ask("work 3") == "worked", one.report())
        server.limit("on-exhausted=suspend")
        wait_until(lambda: "limit gpu-seconds-day of tenant default" in one.err.text, 20,
                   "it ends")


def test_gpus(build):
    with limited(build, "gpus=1", gpus=2) as server:
        env = build.remote([server])
        process = harness.run([build.program("two_devices")], env, status=None)
        expect(process.status != 0 and "limit gpus of tenant default: 1 allowed" in
               process.err.text, process.report())
        harness.run_passing([build.program("vector_add")], env)


def test_sessions(build):
    with limited(build, "sessions=1") as server, players(build, server, 1) as (player,):
        player.free()
        late = harness.run([build.program("vector_add")], build.remote([server]), status=None)
        expect(late.status != 0 and "limit sessions of tenant default: 1 allowed, 1 used" in
               late.err.text, late.report())
        expect(player.ask("take 8") == "took", player.report())


def test_types_of_gpu(build):
    with limited(build, "gpu-types=B1", gpus=2) as server:
        env = build.remote([server])
        shown = harness.run([build.path("bin", "gpuaas"), "devices"], env)
        expect("Soft B1" in shown.out.text and "Soft A0" not in shown.out.text, shown.report())
        harness.run_passing([build.program("vector_add")], env)


def test_module_bytes(build):
    with limited(build, "module-bytes=100") as server:
        process = harness.run([build.program("vector_add")], build.remote([server]), status=None)
        expect(process.status != 0, process.report())
        expect_note(process, "module-bytes", "100 ?B? allowed")


def variables_are_charged(build, server):
    command = [build.program("big_variable")]
    process = harness.run(command, build.remote([server]), status=1)
    expect("cudaGetLastError(): cudaErrorMemoryAllocation" in process.out.text, process.report())
    expect_note(process, "gpu-mem", "64 ?MiB allowed, .* (80 ?MiB|8192\\dKiB) more asked for")
    server.limit("gpu-mem=100MiB")
    harness.run_passing(command, build.remote([server]))


def test_variables_of_modules(build):
    """Variables are charged when the module is loaded, which is refused like any allocation."""
    with limited(build, "gpu-mem=64MiB") as server:
        variables_are_charged(build, server)


def test_variables_with_another_driver(build):
    """One that does not tell them: the image does, before it is loaded."""
    if build.has_failpoints():
        with another_driver(build, "variables are told", "gpu-mem=64MiB") as server:
            variables_are_charged(build, server)


def test_objects(build):
    with limited(build, "objects=6") as server:
        process = harness.run([build.program("streams_events")], build.remote([server]),
                              status=None)
        expect(process.status != 0, process.report())
        expect_note(process, "objects", "6 allowed, 6 used, 1 more")


def test_pinned_memory(build):
    with limited(build, "host-pinned=64KiB") as server:
        process = harness.run([build.program("large_copies")], build.remote([server]), status=None)
        expect(process.status != 0 and "(2, out of memory)" in process.out.text, process.report())
        expect_note(process, "host-pinned", "64KiB allowed, 0 used, 8MiB more")


def test_call_rate(build):
    with limited(build, "call-rate=200") as server, players(build, server, 1) as (player,):
        player.free()
        start = time.monotonic()
        expect(player.ask("work 200") == "worked", player.report())
        expect(time.monotonic() - start >= 1, "three calls for each kernel are 600 calls")


def test_bandwidth(build):
    for limit in ("bandwidth-in", "bandwidth-out"):
        with limited(build, f"{limit}=50MiB/s") as server:
            start = time.monotonic()
            harness.run_passing([build.program("large_copies")], build.remote([server]))
            took = time.monotonic() - start
            expect(took >= 2.5, f"{limit}: it moves more than 140 MiB each way, in {took:.1f} s")


def test_bandwidth_of_two_programs(build):
    """The programs have the rate together, also if each of their copies is counted at once, as with
    shared memory, and one waits while the other goes on."""
    for limit in ("bandwidth-in", "bandwidth-out"):
        with limited(build, f"{limit}=2MiB/s") as server, \
                players(build, server, 2, GPUAAS_TRANSPORT="auto") as both:
            start = time.monotonic()
            for player in both:
                player.say("pinned 6")
            for player in both:
                expect(player.hear() == "copied", player.report())
            took = time.monotonic() - start
            expect(took >= 5, f"{limit}: 12 MiB at 2 MiB/s in {took:.1f} s")


def test_bandwidth_holds_only_what_goes_out(build):
    """While a copy to the host waits for the limit, the program's copies to the device and kernels
    in another stream are carried out; when the limit goes, so does the copy."""
    mib, kernels = 24, 200
    with limited(build, "bandwidth-out=64KiB/s") as server, players(build, server, 1) as (player,):
        expect(player.ask(f"fetch {mib}") == "begun", player.report())
        expect(player.ask(f"beside {kernels}") == "launched", player.report())

        def ran():
            session, = server.sessions()
            expect(session["out_bytes"] < mib << 20, f"the copy is over: {session}")
            return sum(use["launches"] for use in session["use"]) >= kernels
        wait_until(ran, 60, f"{kernels} kernels\n{player.report()}")
        server.limit("bandwidth-out=-")
        expect(player.ask("fetched") == "fetched", player.report())


def test_idle_timeout(build):
    with limited(build, "idle-timeout=1s") as server, players(build, server, 1) as (player,):
        for _ in range(8):  # it calls
            player.free()
            time.sleep(0.25)
        with harness.running([build.program("endless"), "kernel"], build.remote([server])) as busy:
            busy.wait_for_line("started", 60)
            wait_until(lambda: "limit idle-timeout of tenant default: 1s" in player.err.text, 10,
                       "it ends")
            time.sleep(1)
            expect(busy.running(), f"who waits for the GPU is not idle\n{busy.report()}")


def test_wall_time(build):
    with limited(build, "wall-time=2s") as server, players(build, server, 1) as (player,):
        player.free()
        told = "limit wall-time of tenant default: 2s"
        wait_until(lambda: told in player.err.text, 10, "it ends")


if __name__ == "__main__":
    harness.main(globals())
