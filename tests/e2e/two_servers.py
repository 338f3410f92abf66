#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program with devices of two servers: what crosses between them goes through the client."""

import os
import signal
import subprocess

from lib import harness
from lib.harness import expect


def run(build, servers, arguments=()):
    process = harness.run_passing([build.program("between_servers"), *arguments],
                                  build.remote(servers))
    print(f"{len(servers)} servers: {process.seconds:.2f} s")
    return process


def test_of_one_server(build):
    with harness.serving(build, config=harness.configuration(2)) as server:
        run(build, [server])


def test_of_two(build):
    with harness.serving(build, config=harness.configuration(1)) as first, \
            harness.serving(build, config=harness.configuration(1)) as second:
        traces = [harness.Traces(server) for server in (first, second)]
        process = run(build, [first, second], ["apart"])
        expect("801" in "\n".join(process.err.lines), process.report())
        for trace in traces:
            trace.expect_none()


def devices_of(build, servers):
    """Their names, and what was said of servers."""
    process = harness.run([build.program("devices")], build.remote(servers))
    return ([line.split(": ")[1].split(",")[0] for line in process.out.lines],
            [line for line in process.err.lines if " warn: " in line])


def pooled(node, gpus, host):
    keys = ["pool = one-pool", *([f"node = {node}"] if node else [])]
    return harness.configuration(gpus, host, keys)


def test_two_nodes_of_one_pool(build):
    """semantics S146: All GPUs of all nodes are seen, each once."""
    names = ["Soft 127.0.0.1 0", "Soft 127.0.0.1 1", "Soft 127.0.0.2 0"]
    with harness.serving(build, config=pooled("a", 2, "127.0.0.1")) as first, \
            harness.serving(build, config=pooled("b", 1, "127.0.0.2")) as second:
        seen, said = devices_of(build, [first, second])
        expect((seen, said) == (names, []), f"two nodes: {seen}, {said}")
        seen, said = devices_of(build, [first, second, first])
        expect(seen == names, f"one of them named twice: {seen}")
        expect(len(said) == 1 and "named twice" in said[0], f"{said}")


def test_nodes_of_one_name(build):
    """semantics S146: A configuration that was copied whole, UUIDs and all."""
    with harness.serving(build, config=pooled("a", 1, "127.0.0.1")) as first, \
            harness.serving(build, config=pooled("a", 1, "127.0.0.1")) as second:
        seen, said = devices_of(build, [first, second])
        expect(seen == 2 * ["Soft 127.0.0.1 0"], f"both: {seen}")
        expect(len(said) == 1 and second.place in said[0] and "the node a" in said[0],
               f"one line: {said}")


def test_one_that_is_silent(build):
    """semantics S148: Who uses managed memory of the other one goes on, and the first, later."""
    keys = ["dead_after_s = 120"]
    with harness.serving(build, gpus=1, keys=keys) as first, \
            harness.serving(build, gpus=1, keys=keys) as second:
        env = build.remote([first, second], GPUAAS_DEAD_AFTER="120")
        program = harness.Process([build.program("one_silent")], env, stdin=subprocess.PIPE)
        try:
            program.wait_for_line("ready", 60)
            stopped = first.backends()
            expect(len(stopped) == 1, f"one backend process is due: {stopped}")
            os.kill(stopped[0], signal.SIGSTOP)
            say(program)
            program.wait_for_line("the other goes on", 60)
            os.kill(stopped[0], signal.SIGCONT)
            say(program)
            expect(program.wait(60) == 0 and program.out.lines[-1] == "PASSED", program.report())
        finally:
            program.end()


def say(program):
    program.popen.stdin.write("on\n")
    program.popen.stdin.flush()


if __name__ == "__main__":
    harness.main(globals())
