#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stderr is full, closed, or not read: gpuaasd and its backend processes go on serving, and stop
when they are told to."""

import os
import select
import signal
import subprocess
import tempfile

import check
from check import expect, wait_until
from lib import harness


class Quiet:
    """A gpuaasd whose stderr is `stderr`: it cannot say its address, so it has one of its own."""

    def __init__(self, build, stderr):
        host = check.own_host()
        self.address = f"{host}:9955"
        self.folder = tempfile.TemporaryDirectory(prefix="gpuaas-fault-")
        file = os.path.join(self.folder.name, "gpuaasd.conf")
        with open(file, "w", encoding="utf-8") as f:
            f.write(harness.configuration(1, host).replace(
                f"tcp://{host}:0", f"tcp://{self.address}\nlog_level = debug"))
        env = build.environment(preload=False)
        del env["LD_LIBRARY_PATH"]
        self.popen = subprocess.Popen([build.path("bin", "gpuaasd"), "--config", file], env=env,
                                      stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                      stderr=stderr)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.popen.kill()
        self.popen.wait(10)
        self.folder.cleanup()

    def stop(self):
        self.popen.send_signal(signal.SIGTERM)
        status = self.popen.wait(harness.STOP_SECONDS)
        expect(status == 0, f"exit status {status}")


def serve(build, server, rounds):
    def passes():
        expect(server.popen.poll() is None, f"gpuaasd has ended: {server.popen.returncode}")
        program = check.start_steps(build, [server], rounds=rounds)
        error = check.victim_result(program)
        return error == 0 or expect(error == 100, program.report())  # 100: not ready yet
    wait_until(passes, 60, "it serves")


def test_full(build):
    with open("/dev/full", "w", encoding="utf-8") as full, Quiet(build, full) as server:
        serve(build, server, 1)
        serve(build, server, 1)
        server.stop()


def test_closed(build):
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb") as pipe, Quiet(build, pipe) as server:
        serve(build, server, 1)
        serve(build, server, 1)
        server.stop()


def is_full(pipe):
    """Asked of the kernel: how many bytes a full pipe holds depends on the lengths of the lines."""
    return not select.select([], [pipe], [], 0)[1]


def test_nobody_reads(build):
    """Each call of a program is a line, so the pipe is soon full."""
    reader, writer = os.pipe()
    with open(reader, "rb") as unread, open(writer, "wb") as pipe, Quiet(build, pipe) as server:
        serve(build, server, 1)
        program = check.start_steps(build, [server], rounds=0)
        try:
            wait_until(lambda: is_full(pipe), 60, "the pipe is full")
            serve(build, server, 5)  # with all its calls, while nobody reads
            os.set_blocking(reader, False)
            wait_until(lambda: b"lines are missing here" in drain(unread), 60, "the gap is told")
            program.kill(signal.SIGTERM)
            expect(check.victim_result(program) == 0, program.report())
        finally:
            program.end()
        server.stop()


def drain(pipe):
    text = b""
    while True:
        piece = pipe.read(65536)
        if not piece:
            return text
        text += piece


if __name__ == "__main__":
    harness.main(globals())
