#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The life of gpuaasd in the foreground: ready, serving several programs and pools, SIGTERM."""

import os
import signal

from lib import harness
from lib.harness import expect


def test_sigterm_idle(build):
    with harness.serving(build) as server:
        server.stop()


def test_sigterm_with_a_program(build):
    with harness.serving(build) as server:
        command = [build.program("endless"), "kernel"]
        with harness.running(command, build.remote([server])) as program:
            program.wait_for_line("started", 60)
            server.stop()
            program.wait_for_line(r"error 719\b", 20)


def test_address_in_use(build):
    with harness.serving(build) as server:
        second = harness.Server(build, config=f"[server]\nlisten = tcp://{server.place}\n"
                                              "[gpu.0]\ndriver = soft\n")
        try:
            status = second.wait(30)
            expect(status > 0, f"exit status {status}")
            expect(server.place in second.err.text and "in use" in second.err.text,
                   second.report())
        finally:
            second.end()
            second.folder.cleanup()


def test_two_pools(build):
    with harness.serving(build, gpus=2) as one, \
            harness.serving(build, gpus=2, host="127.0.0.2") as two:
        process = harness.run([build.program("devices")], build.remote([one, two]))
        names = [line.split(": ")[1].split(",")[0] for line in process.out.lines]
        expect(names == ["Soft 127.0.0.1 0", "Soft 127.0.0.1 1", "Soft 127.0.0.2 0",
                         "Soft 127.0.0.2 1"], f"the devices of both, in order\n{process.report()}")
        # A server that is named twice is one pool.
        process = harness.run([build.program("devices")], build.remote([one, one]))
        expect(len(process.out.lines) == 2, f"two devices\n{process.report()}")


def test_no_events_across_servers(build):
    """semantics S19: Not supported yet: the call says so, with one line on stderr."""
    with harness.serving(build, gpus=1) as one, harness.serving(build, gpus=1) as two:
        process = harness.run([build.program("two_devices")], build.remote([one, two]), status=1)
        expect("cudaErrorNotSupported" in process.out.text, process.report())
        expect(len([line for line in process.err.lines if "different nodes" in line]) == 1,
               process.report())


def test_mappings_across_servers(build):
    """semantics S96: Memory of two servers in one reservation; each is for its own devices."""
    with harness.serving(build, gpus=1) as one, harness.serving(build, gpus=1) as two:
        process = harness.run_passing([build.program("virtual_memory"), "apart"],
                                      build.remote([one, two]))
        expect(len([line for line in process.err.lines if "different nodes" in line]) == 1,
               process.report())


def test_many_programs_at_once(build):
    with harness.serving(build) as server:
        traces = harness.Traces(server)
        names = ["vector_add", "wrong_out_of_bounds", "scan", "streams_events"]
        programs = [harness.Process([build.program(name)], build.remote([server]))
                    for name in names]
        try:
            for program in programs:
                status = program.wait(harness.PROGRAM_SECONDS)
                expect(status == 0 and program.out.lines[-1] == "PASSED",
                       f"exit status {status}\n{program.report()}")
        finally:
            for program in programs:
                program.end()
        traces.expect_none()


def test_client_without_cuda_call(build):
    """A program that loads the library and never calls it opens no connection."""
    with harness.serving(build) as server:
        env = build.remote([server])
        preload = [env["LD_PRELOAD"]] if "LD_PRELOAD" in env else []
        env["LD_PRELOAD"] = ":".join([*preload, build.path("lib", "gpuaas", "libcuda.so.1")])
        before = len(server.descriptors())
        with harness.running(["sleep", "30"], env) as program:
            harness.wait_until(lambda: "libcuda.so.1" in maps(program.pid), 10, "it is loaded")
            expect(len(os.listdir(f"/proc/{program.pid}/task")) == 1, "it has started a thread")
            expect(len(server.descriptors()) == before, "it has connected")
            program.kill(signal.SIGTERM)


def maps(pid):
    with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
        return f.read()


if __name__ == "__main__":
    harness.main(globals())
