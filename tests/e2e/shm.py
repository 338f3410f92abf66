#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs on the server's machine: their data goes through shared memory without any
configuration, unless that is turned off."""

import collections
import os
import re
import sys

from lib import harness
from lib.harness import expect


def traced(build, server, **extra):
    """The transport that vector_add says it has used, and what it said besides."""
    env = build.remote([server], GPUAAS_TRACE="summary", **extra)
    process = harness.run_passing([build.program("vector_add")], env)
    lines = [line for line in process.err.lines if "trace: device" in line]
    expect(len(lines) == 1, f"one device is due in the trace: {process.err.text}")
    return lines[0].rsplit("over ", 1)[1], process.err.text


def test_shared_memory_by_itself(build):
    with harness.serving(build) as server:
        traces = harness.Traces(server)
        for words in ({"GPUAAS_TRANSPORT": "auto"}, {"GPUAAS_TRANSPORT": ""}):
            transport, _ = traced(build, server, **words)
            expect(transport == "shm", f"with {words}: over {transport}")
        traces.expect_none()


def test_tcp_when_the_user_says_so(build):
    with harness.serving(build) as server:
        transport, _ = traced(build, server, GPUAAS_TRANSPORT="tcp")
        expect(transport == "tcp", f"over {transport}")
        transport, text = traced(build, server, GPUAAS_TRANSPORT="pigeons")
        expect(transport == "shm" and "GPUAAS_TRANSPORT=pigeons: it can be" in text, text)


def test_tcp_when_rdma_cannot_be(build):
    """No network card has the server's address here: who wants RDMA hears so, and goes on."""
    with harness.serving(build) as server:
        transport, text = traced(build, server, GPUAAS_TRANSPORT="rdma")
        expect(transport == "tcp" and re.search("(?i)warn: no rdma to ", text), text)


def test_tcp_when_the_operator_says_so(build):
    with harness.serving(build, gpus=1, keys=["shm = no"]) as server:
        transport, _ = traced(build, server, GPUAAS_TRANSPORT="auto")
        expect(transport == "tcp", f"over {transport}")


def made(build, server, transport):
    """The copies of shared memory that pinned_copies reports."""
    env = build.remote([server], GPUAAS_TRANSPORT=transport, GPUAAS_TRACE="summary")
    process = harness.run_passing([build.program("pinned_copies")], env)
    return re.findall(r"trace: +\d+ ga_shared_buffer_(?:in|out)$", process.err.text, re.M)


def test_pinned_memory_is_shared(build):
    """semantics S121: as much as the operator allows, and never over TCP."""
    for line, shared in (("", True), ("shared_memory = 0", False), ("shared_memory = 2MiB", True)):
        with harness.serving(build, gpus=1, keys=[line]) as server:
            counts = made(build, server, "auto")
            expect(bool(counts) == shared, f"with {line or 'nothing'}: {counts}")
            expect(line or not made(build, server, "tcp"), "over TCP memory is not shared")


COPIES = """
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
def must(name, *words):
    code = getattr(cuda, name)(*words)
    assert code == 0, f"{name}: {code}"
context, device = ctypes.c_void_p(), ctypes.c_uint64()
must("cuInit", 0)
must("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
must("cuCtxSetCurrent", context)
must("cuMemAlloc_v2", ctypes.byref(device), ctypes.c_size_t(1 << 20))
for size in 65536, int(sys.argv[1]):
    print("copies", size, file=sys.stderr, flush=True)
    data = bytes(at * 7 % 251 for at in range(size))
    back = ctypes.create_string_buffer(size)
    must("cuMemcpyHtoD_v2", device, data, ctypes.c_size_t(size))
    must("cuMemcpyDtoH_v2", back, device, ctypes.c_size_t(size))
    assert back.raw == data, size
print("PASSED")
"""


def test_other_memory_goes_through_slots(build):
    """Copies of 64 KiB or more do, by 128 KiB, but for the first part of what comes back, which is
    half as large: no call too many. Those before slots are there do not count."""
    with harness.serving(build) as server:
        for size, due in ((65535, {"ga_copy_in": 1, "ga_copy_out": 1}),
                          (65536, {"ga_shared_buffer_in": 1, "ga_shared_buffer_out": 1}),
                          (3 << 17, {"ga_shared_buffer_in": 3, "ga_shared_buffer_out": 4})):
            env = build.remote([server], GPUAAS_TRANSPORT="auto", GPUAAS_TRACE="calls")
            process = harness.run_passing([sys.executable, "-c", COPIES, str(size)], env)
            text = process.err.text.rsplit("copies ", 1)[1]
            calls = re.findall(r"call: .*\b(ga_(?:shared_buffer|copy)_(?:in|out))\b", text)
            found = dict(collections.Counter(calls))
            expect(found == due, f"{size} bytes: {found}, not {due}")


def test_a_server_found_by_name(build):
    """GPUAAS_SERVERS=shm:NAME, where gpuaasd listens on that name, too."""
    config = harness.configuration(1)
    lines = config.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("listen"))
    name = f"e2e-{os.getpid()}"
    lines.insert(at + 1, f"listen = shm:{name}")
    with harness.serving(build, config="\n".join(lines) + "\n") as server:
        env = build.remote([server], GPUAAS_TRANSPORT="auto", GPUAAS_TRACE="summary")
        env["GPUAAS_SERVERS"] = f"shm:{name}"
        process = harness.run_passing([build.program("vector_add")], env)
        expect("over shm" in process.err.text, process.err.text)
        env["GPUAAS_SERVERS"] = f"shm:{name}-nobody"
        process = harness.run([build.program("vector_add")], env, status=None)
        expect(process.status != 0 and "refused" in process.err.text, process.err.text)
        env["GPUAAS_SERVERS"] = "shm:a/b"
        process = harness.run([build.program("vector_add")], env, status=None)
        expect(process.status != 0 and "other characters" in process.err.text,
               process.err.text)


if __name__ == "__main__":
    harness.main(globals())
