#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Client and server of different builds: within a protocol major both orders work, and a call that
only one of them knows answers 801 when it is made; another major is error 803, which says what to
upgrade. The older build is this one with the tables of an earlier release
(tests/tools/released)."""

import contextlib
import re
import socket
import struct
import threading

from lib import harness
from lib.harness import expect

PROGRAMS = ("vector_add", "streams_events", "symbols", "async_d2h", "device_reset")
HELLO, WELCOME, REFUSED = 1, 2, 3
MAJOR = 1


def released(build, *parts):
    return build.path("tests", "released", *parts)


class OldServer(harness.Server):
    """A gpuaasd that knows only the calls of the earlier release."""

    def __init__(self, build, gpus=1, host="127.0.0.1"):
        driver = build.path("lib", "softgpu", "libcuda.so.1")
        super().__init__(build, gpus, host, gpu_keys=[f"driver_path = {driver}"],
                         program=released(build, "bin", "gpuaasd"))


def test_old_client_and_new_server(build):
    with harness.serving(build) as server:
        env = build.environment(released(build, "lib", "gpuaas"),
                                {"GPUAAS_SERVERS": server.address})
        for program in PROGRAMS:
            process = harness.run_passing([build.program(program)], env)
            expect(not process.err.lines, f"nothing to complain about\n{process.report()}")


def test_new_client_and_old_server(build):
    with harness.serving(build, kind=OldServer) as server:
        for program in PROGRAMS:
            harness.run_passing([build.program(program)], build.remote([server]))


@contextlib.contextmanager
def without_tail(server):
    """The address of a proxy before the server which cuts what HELLO has grown by: it sees what an
    older server would see."""
    def pump(source, sink, first):
        with contextlib.suppress(OSError):
            data = source.recv(1 << 16)
            if first and data:
                length, = struct.unpack_from("<I", data)
                size = length - 16
                data = struct.pack("<I", size) + data[4:16 + size] + data[16 + length:]
            while data:
                sink.sendall(data)
                data = source.recv(1 << 16)
            sink.shutdown(socket.SHUT_WR)

    def accept(listener):
        with contextlib.suppress(OSError):
            while True:
                conn, _ = listener.accept()
                host, port = server.address.split("://")[-1].rsplit(":", 1)
                there = socket.create_connection((host, int(port)))
                for ends in ((conn, there, True), (there, conn, False)):
                    threading.Thread(target=pump, args=ends, daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, args=(listener,), daemon=True).start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)


def test_an_older_server_has_observers_for_programs(build):
    """`gpuaas status` says that it only looks, and comes to use the devices all the same."""
    with harness.serving(build) as server, without_tail(server) as address:
        env = {**build.remote([server]), "GPUAAS_SERVERS": address}
        for word in ("devices", "status"):
            process = harness.run([build.path("bin", "gpuaas"), word], env)
            expect("GPU 0" in process.out.text and not process.err.lines, process.report())
        harness.run_passing([build.path("bin", "gpuaas"), "run", build.program("vector_add")], env)


def test_an_image_that_could_be_named(build):
    """The older end knows no names of images: the bytes are sent, each time."""
    with harness.serving(build) as server:
        env = build.environment(released(build, "lib", "gpuaas"),
                                {"GPUAAS_SERVERS": server.address})
        process = harness.run_passing([build.program("load_image"), "1", "2"], env)
        expect(not process.err.lines, f"nothing to complain about\n{process.report()}")
    with harness.serving(build, kind=OldServer) as server:
        process = harness.run_passing([build.program("load_image"), "1", "2"],
                                      build.remote([server]))
        expect(not process.err.lines, f"nothing to complain about\n{process.report()}")


def test_new_call_and_old_server(build):
    """cuLaunchHostFunc is younger than the release: 801, its name, and everything else works."""
    with harness.serving(build, kind=OldServer) as server:
        process = harness.run([build.program("younger_call")], build.remote([server]))
        expect("error 801" in process.out.text, process.report())
        lines = [line for line in process.err.lines if "not supported by the gpuaasd" in line]
        expect(len(lines) == 1 and server.address in lines[0], f"one line\n{process.report()}")
        expect(process.out.lines[-1] == "PASSED", process.report())
    with harness.serving(build) as server:
        process = harness.run_passing([build.program("younger_call")], build.remote([server]))
        expect("error 0" in process.out.text, process.report())


# ---- another major


def text(string):
    data = string.encode()
    return struct.pack("<I", len(data)) + data + b"\0"


def aligned(data, to):
    return data + b"\0" * (-len(data) % to)


def frame(opcode, values):
    values = aligned(values, 16)
    return struct.pack("<IHHQ", len(values), opcode, 0, 0) + values


@contextlib.contextmanager
def answering(answer):
    """A server that answers each first frame with `answer`."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(60)

    def serve():
        with contextlib.suppress(OSError):
            while True:
                conn, _ = listener.accept()
                with conn:
                    length, opcode = struct.unpack("<IH10x", conn.recv(16, socket.MSG_WAITALL))
                    conn.recv(length, socket.MSG_WAITALL)
                    conn.sendall(answer if opcode == HELLO else b"")
                    conn.recv(1)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield "127.0.0.1:%d" % listener.getsockname()[1]
    finally:
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)  # wakes who accepts
        thread.join(5)
        listener.close()


def expect_803(build, address, *parts):
    env = build.environment(build.path("lib", "gpuaas"), {"GPUAAS_SERVERS": address})
    process = harness.run([build.program("devices")], env, seconds=60, status=1)
    # 803: cudaErrorSystemDriverMismatch
    expect(re.search(r"\(803,", process.out.text), f"error 803 is due\n{process.report()}")
    lines = [line for line in process.err.lines if address in line]
    expect(len(lines) == 1, f"one line about {address}\n{process.report()}")
    for part in parts:
        expect(part in lines[0], f"{part!r} in the line\n{process.report()}")


def test_server_of_another_major_welcomes(build):
    facts = struct.pack("<IIiI", MAJOR + 1, 0, 99000, 0)
    with answering(frame(WELCOME, facts + text("77.0") + b"\xff" * 40)) as address:
        expect_803(build, address, "protocol 2", "77.0", "upgrade this library")
    facts = struct.pack("<IIiI", MAJOR - 1, 9, 99000, 0)
    with answering(frame(WELCOME, facts + text("0.0.9") + b"\xff" * 40)) as address:
        expect_803(build, address, "protocol 0", "0.0.9", "upgrade gpuaasd")


def test_server_of_another_major_refuses(build):
    reason = "protocol 1 does not go with protocol 2: upgrade the client"
    with answering(frame(REFUSED, struct.pack("<i", 803) + text(reason))) as address:
        expect_803(build, address, reason)


def test_client_of_another_major(build):
    with harness.serving(build) as server:
        for major, upgrade in ((MAJOR + 1, "server"), (MAJOR - 1, "client")):
            hello = struct.pack("<IIII16s", 0x41555047, major, 0, 4711, b"a" * 16)
            host, port = server.address.rsplit(":", 1)
            with socket.create_connection((host, int(port)), 20) as conn:
                conn.sendall(frame(HELLO, hello + text("77.0") + b"\xff" * 12))
                length, opcode = struct.unpack("<IH10x", conn.recv(16, socket.MSG_WAITALL))
                values = conn.recv(length, socket.MSG_WAITALL)
                result, size = struct.unpack_from("<iI", values)
                words = values[8:8 + size].decode()
                expect(opcode == REFUSED and result == 803, f"refused with 803: {opcode} {result}")
                expect(f"{major}" in words and "77.0" in words and upgrade in words, words)
        harness.run_passing([build.program("vector_add")], build.remote([server]))


if __name__ == "__main__":
    harness.main(globals())
