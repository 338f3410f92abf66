#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whatever a program makes a GPU hold is charged to it (docs/quotas.md): each call that its stanza
says is charged with memory of the GPU, and each content of a module that takes some, is tried. The
charge is compared with what another program of the node sees to be free then. (In builds with
sanitizers gpuaasd looks itself after each call of every test: server/objects/call_check.h.)"""

import glob
import os

from lib import harness
from lib.chargers import MIB, chargers
from lib.harness import expect, wait_until
from lib.limited import MEMORY, another_driver, expect_note, limited

API = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "api", "cuda")
SLACK = 2 * MIB  # the rest of a chunk that small allocations share
PRINTF_FIFO, MALLOC_HEAP, STACK, LAUNCHES = 1, 2, 0, 4  # enum CUlimit

# Actions, by the call that does them at the server. True: the GPU holds so much for it; else it is
# charged, and this GPU has it elsewhere or not at all.
ACTIONS = {
    "cuCtxSetLimit": [(f"load(MALLOCS) or limit({MALLOC_HEAP}, {50 * MIB})", True)],
    "ga_context_create": [("several(4, context)", True)],
    "ga_context_create_part": [("several(4, part_of_context)", True)],
    "ga_green_create": [("several(4, green)", False)],
    "ga_module_load": [
        ("variables(6000, '.b8 small{}')", True),
        (f"variables(3, '.b8 large{{}}[{3 * MIB + 1}]')", True),
        (f"variables(20, '.b8 middle{{}}[{MIB - 100}]')", True),
        (f"variables(2, '.attribute(.managed) .b8 managed{{}}[{4 * MIB}]')", False),
        (f"library('.visible .global .b8 large[{12 * MIB}];')", True),
        ("load('.visible .const .b8 constant[60000];')", True),
        ("load(MALLOCS)", True),
        ("load(MALLOCS, 'start')", True),
        ("several(3, load, LAUNCHES)", True)],
    "ga_module_load_named": [(f"several(4, load, '.visible .global .b8 v[{5 * MIB}];' + "
                              "'// so long that it has a name\\n' * 20000)", True)],
    "ga_module_function": [("functions(200)", True)],
    "ga_memory_map": [(f"several(3, memory, {5 * MIB})", True),
                      (f"memory({6 * MIB}, 'cuMemAllocManaged', 1)", True)],
    "ga_memory_allocate": [(f"several(5, memory, {2 * MIB + 1})", True),
                           ("several(6000, memory, 1)", True)],
    "ga_space_map": [(f"pooled({40 * MIB})", True)],
    "ga_physical_create": [(f"several(3, physical, {4 * MIB})", True)],
    "ga_array_create": [("several(6000, array, 1)", True), ("array(1, 60000)", True),
                        ("array(33, 33, 33)", True), (f"array(2000, {MIB // 1000 + 1})", True)],
    "ga_mipmap_create": [("several(500, mipmap, 17, 17, 5)", True)],
    "ga_graph_condition": [("conditions(6000)", True)],
}
KEYS = {"ga_memory_allocate": "virtual_memory = no\n"}

# Calls that are charged with host memory or objects alone: what makes many of them, or where that
# is tried.
OBJECTS = {
    "cuStreamCreate": "objects(500, 'cuStreamCreate', 'cuStreamDestroy_v2', 0)",
    "cuStreamCreateWithPriority":
        "objects(500, 'cuStreamCreateWithPriority', 'cuStreamDestroy_v2', 1, -1)",
    "cuEventCreate": "objects(5000, 'cuEventCreate', 'cuEventDestroy_v2', 0)",
    "ga_graph_end": "executables(300)",
    "ga_graph_node": "tests/faults/spends.py", "ga_graph_set": "tests/faults/spends.py",
    "ga_graph_enable": "tests/kernels/graph_nodes.cu",
    "ga_graph_conditional": "tests/kernels/graph_conditional.cu",
    "ga_graph_body": "tests/kernels/graph_conditional.cu",
    "ga_ipc_share": "tests/faults/spends.py", "ga_ipc_share_event": "server/tests/test_exports.c",
    "ga_ipc_open_event": "server/tests/test_ipc.c",
    "ga_copy_in": "server/tests/test_ledger.c", "ga_copy_in_2d": "server/tests/test_ledger.c",
    "ga_copy_out": "server/tests/test_ledger.c", "ga_copy_out_2d": "server/tests/test_ledger.c",
    "ga_copy_in_array": "server/tests/test_ledger.c",
    "ga_copy_out_array": "server/tests/test_ledger.c",
    "ga_shared_buffer_open": "server/tests/test_shared_buffers.c",
    "ga_shared_buffer_reach": "server/tests/test_shared_buffers.c",
    "ga_shared_buffer_in": "server/tests/test_shared_buffers.c",
    "ga_shared_buffer_out": "server/tests/test_shared_buffers.c",
    "ga_host_function": "server/tests/test_host_calls.c",
    "ga_array_level": "tests/kernels/surfaces.cu",
    "ga_texture_create": "tests/kernels/texture_objects.cu",
    "ga_surface_create": "tests/kernels/surfaces.cu",
    "ga_physical_share": "server/tests/test_ipc.c", "ga_physical_open": "server/tests/test_ipc.c",
    "ga_green_stream": "tests/kernels/green_contexts.cu",
}


def charges():
    """The stanza in api/cuda of each call that travels."""
    found, name = {}, None
    for path in glob.glob(os.path.join(API, "*.api")):
        with open(path, encoding="utf-8") as f:
            for line in f:
                words = line.split()
                if line[:1].strip() and len(words) > 1:
                    name = words[1]
                elif words[:1] == ["charge"]:
                    found[name] = set(words[1:])
    return found


def test_no_call_is_forgotten(_):
    found = {name: charge for name, charge in charges().items() if charge != {"none"}}
    expect(len(found) > 30, f"{found}")
    device = {name for name, charge in found.items() if "device" in charge}
    expect(device == set(ACTIONS), "calls that are charged with memory of the GPU, and have no "
           f"action here, or the other way round: {device ^ set(ACTIONS)}")
    rest = set(found) - device
    expect(rest == set(OBJECTS), f"others that are charged: {rest ^ set(OBJECTS)}")


def charged(server, program):
    """Bytes of the GPU and of the node."""
    session, = [session for session in server.sessions()
                if session["program"].endswith(f"(pid {program.pid})")]
    return session["gpu_mem_bytes"], session["host_mem_bytes"]


def try_one(server, program, observer, action, held):
    free, before = int(observer.ask("free()")), charged(server, program)[0]
    expect(program.ask(action) == "0", f"{action}\n{program.report()}")
    taken, more = free - int(observer.ask("free()")), charged(server, program)[0] - before
    print(f"  {action[:76]}: {taken} bytes less are free, {more} more are charged")
    expect(taken <= more + SLACK, f"{action}: {taken} bytes less are free, {more} are charged")
    expect(not held or more <= 2 * taken + SLACK, f"{action}: {more} are charged for {taken}")
    expect(held or more > 0 or "green" in action, f"{action}: nothing is charged")
    expect(program.ask("end()") == "ended", program.report())


def test_what_the_gpu_holds(build):
    for keys in ("", *set(KEYS.values())):
        with limited(build, "objects=100000", keys="context_memory = 4MiB\n" + keys) as server, \
                chargers(build, server, 2) as (program, observer):
            program.ask("load(EMPTY.format(name='first'), 'first') or memory(1)")
            program.ask("end()")
            first = charged(server, program)[0]
            for call, actions in ACTIONS.items():
                for action, held in actions if KEYS.get(call, "") == keys else ():
                    print(call)
                    try_one(server, program, observer, action, held)
            # But what the client caches, and the heap that a kernel has used
            left = charged(server, program)[0] - first
            expect(left <= 130 * MIB, f"{left} bytes are still charged")


def resident(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS")) << 10


def test_what_the_node_holds(build):
    """The backend process does not grow by more than is charged. (With sanitizers, memory has red
    zones.)"""
    factor = 1 if build.sanitize == "none" else 6
    lean = {"ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0:quarantine_size_mb=0:"
                            "thread_local_quarantine_size_kb=0"}
    actions = [action for action in OBJECTS.values() if "(" in action] + [
        "conditions(9000)", "functions(200)", "several(500, array, 1)", "several(50, green)"]
    with limited(build, "objects=100000", extra=lean) as server:
        for action in actions:
            with chargers(build, server) as (program,):
                program.ask("load(EMPTY.format(name='first'), 'first') or memory(1)")
                wait_until(lambda: len(server.backends()) == 1, 10, "the last one has ended")
                pid, = server.backends()
                before, size = charged(server, program)[1], resident(pid)
                expect(program.ask(action) == "0", f"{action}\n{program.report()}")
                more, grown = charged(server, program)[1] - before, resident(pid) - size
                print(f"  {action}: it grows by {grown} bytes, {more} are charged")
                expect(grown <= factor * more + 8 * MIB, f"{action}: {grown} grown, {more} charged")


def test_what_the_gpu_keeps_on_the_node(build):
    """Code of a software GPU, and managed variables, are shown as memory of the node."""
    with limited(build, "objects=100000") as server, chargers(build, server) as (program,):
        before = charged(server, program)[1]
        expect(program.ask(f"variables(1, '.attribute(.managed) .b8 managed{{}}[{30 * MIB}]')") ==
               "0", program.report())
        wait_until(lambda: charged(server, program)[1] >= before + 30 * MIB, 10, "they are shown")
        expect(program.ask("end()") == "ended", program.report())
        wait_until(lambda: charged(server, program)[1] < before + 30 * MIB, 10, "they are gone")


# ---- above the limit

def refused(program, action, limit_used):
    expect(program.ask(action) == "2", f"{action}\n{program.report()}")
    expect_note(program, "gpu-mem", limit_used)


def test_heap_beyond_the_limit(build):
    """Whichever comes first, the limit of the heap or the module that needs it."""
    with limited(build, "gpu-mem=64MiB") as server, chargers(build, server) as (program,):
        expect(program.ask(f"limit({MALLOC_HEAP}, {1000 * MIB})") == "0", "there is no heap yet")
        refused(program, "load(MALLOCS)", "64MiB allowed, .* used, 1000MiB more asked for")
        expect(charged(server, program)[0] < 8 * MIB, "what was refused is not there")
        expect(program.ask(f"limit({MALLOC_HEAP}, {20 * MIB})") == "0", program.report())
        expect(program.ask("load(MALLOCS)") == "0", program.report())
        expect(20 * MIB <= charged(server, program)[0] < 24 * MIB, "it is charged")
        expect(program.ask(f"limit({MALLOC_HEAP}, {1000 * MIB})") == "2", program.report())
        expect(program.ask(f"memory({50 * MIB})") == "2", "the heap counts with other memory")
        expect(program.ask("load(MALLOCS, 'start')") == "0", program.report())
        expect(program.ask("end()") == "ended", program.report())
        expect(charged(server, program)[0] >= 20 * MIB, "a heap that was used stays")


def test_heap_that_was_not_used_goes(build):
    with limited(build, "gpu-mem=64MiB") as server, chargers(build, server) as (program,):
        before = charged(server, program)[0]
        for _ in range(3):
            expect(program.ask("load(MALLOCS)") == "0", program.report())
            expect(charged(server, program)[0] >= before + 8 * MIB, program.report())
            expect(program.ask("end()") == "ended", program.report())
            wait_until(lambda: charged(server, program)[0] < before + 8 * MIB, 10, "it is gone")


def test_other_programs_have_what_is_left(build):
    """A heap of one counts for the other, and comes back when the program ends."""
    with limited(build, "gpu-mem=64MiB") as server, chargers(build, server, 2) as (one, other):
        expect(one.ask(f"limit({MALLOC_HEAP}, {40 * MIB})") == "0", one.report())
        expect(one.ask("load(MALLOCS, 'start')") == "0", one.report())
        expect(other.ask(f"memory({30 * MIB})") == "2", other.report())
        one.kill()
        wait_until(lambda: other.ask(f"memory({30 * MIB})") == "0", 10, "it is free")


def test_cached_memory_gives_way(build):
    """That of the program itself, and that of others of its tenant."""
    with limited(build, "gpu-mem=64MiB") as server, chargers(build, server, 2) as (one, other):
        for program in (one, other, one):
            expect(program.ask(f"memory({50 * MIB})") == "0", program.report())
            expect(program.ask("end()") == "ended", program.report())
        expect(one.ask(f"variables(1, '.b8 large{{}}[{50 * MIB}]')") == "0", one.report())
        expect(one.ask("end()") == "ended", one.report())
        expect(other.ask(f"memory({50 * MIB})") == "0", other.report())
        expect(other.ask("end()") == "ended", other.report())
        expect(one.ask("load(MALLOCS)") == "0", one.report())
        expect(one.ask(f"limit({MALLOC_HEAP}, {50 * MIB})") == "0", one.report())


def test_what_is_refused_is_gone(build):
    """Also while work waits for ever: what an image does not tell is known when it is loaded. (That
    nothing stays is seen by another tenant's program, or by gpuaasd itself: call_check.h.)"""
    images = ("LAUNCHES", f"'.visible .global .b8 large[{bin(8 * MIB)}];'", "MALLOCS + LAUNCHES")
    with limited(build) as server, chargers(build, server) as (program,):
        server.limit("gpu-mem=16MiB")
        expect(program.ask("waits()") == "0", program.report())
        expect(program.ask(f"memory({9 * MIB})") == "0", program.report())
        before = charged(server, program)[0]
        for image in images * 5:
            refused(program, f"load({image})", "16MiB allowed, .* used, .* more asked for")
        expect(charged(server, program)[0] == before, program.report())
        server.limit("gpu-mem=-")
        free = int(program.ask("free()"))
        expect(free >= (MEMORY - 18) * MIB, f"{free} bytes are free")


def test_managed_variables(build):
    with limited(build, "gpu-mem=16MiB") as server, chargers(build, server) as (program,):
        refused(program, f"variables(1, '.attribute(.managed) .b8 managed{{}}[{40 * MIB}]')",
                "16MiB allowed, .* used, 40MiB more")


def test_free_is_within_the_total(build):
    """Which stays what it was: also with cached memory, and a limit that is raised."""
    with limited(build, "gpu-mem=16MiB") as server, chargers(build, server) as (program,):
        expect(program.ask("memory(1)") == "0" and program.ask("end()") == "ended", "it caches")
        for limit in ("16MiB", "17MiB", "-"):
            server.limit("gpu-mem=" + limit)
            expect(int(program.ask("free()")) == 16 * MIB, f"{limit}\n{program.report()}")


# ---- a driver that does not count what it takes

def test_limits_with_another_driver(build):
    """Memory that greater limits and more local memory of kernels let the driver take is
    estimated."""
    if not build.has_failpoints():
        return
    with another_driver(build, "variables are told", "gpu-mem=64MiB") as server, \
            chargers(build, server) as (program,):
        before = charged(server, program)[0]
        expect(8 * MIB <= before < 16 * MIB, f"the heap is there from the beginning: {before}")
        for which, value in ((MALLOC_HEAP, 1000 * MIB), (STACK, 300000), (PRINTF_FIFO, 100 * MIB),
                             (LAUNCHES, 100000)):
            expect(program.ask(f"limit({which}, {value})") == "2", f"{which}\n{program.report()}")
            expect(charged(server, program)[0] <= before, f"{which}: nothing is charged")
        before = charged(server, program)[0]  # it caches nothing any more
        expect_note(program, "gpu-mem", "64MiB allowed")
        expect(program.ask(f"limit({MALLOC_HEAP}, {28 * MIB})") == "0", program.report())
        expect(charged(server, program)[0] == before + 20 * MIB, program.report())
        expect(program.ask(f"limit({MALLOC_HEAP}, {8 * MIB})") == "0", program.report())
        expect(charged(server, program)[0] == before, program.report())
        expect(program.ask("load(WIDE.format(bytes=2048), 'start')") == "0", program.report())
        wide = charged(server, program)[0] - before
        expect(2 * 1024 * 1024 <= wide, f"1 KiB more for each thread of two SMs: {wide}")
        expect(program.ask("load(WIDE.format(bytes=100000), 'start')") == "2", program.report())


def test_image_that_does_not_tell(build):
    """The decrease of the GPU's free memory is measured."""
    if not build.has_failpoints():
        return
    text = f".visible .global .b8 large[{bin(40 * MIB)}];"  # which only a compiler reads
    with another_driver(build, "variables are told", "gpu-mem=64MiB") as server, \
            chargers(build, server) as (program,):
        before = charged(server, program)[0]
        expect(program.ask(f"load('{text}')") == "0", program.report())
        expect(charged(server, program)[0] >= before + 40 * MIB, program.report())
        refused(program, f"load('{text}')", "64MiB allowed, .* used, 40MiB more")


if __name__ == "__main__":
    harness.main(globals())
