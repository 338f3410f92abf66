#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Somebody writes random bytes all over the memory that backend processes of all tenants share, the
state of the software GPUs of their node, while programs compute: they may be slowed, or refused
memory or a GPU; they never crash, and never compute wrongly."""

import contextlib
import pathlib
import subprocess
import sys
import time

import check
from check import expect
from lib import harness

# Programs that compare what they have computed. Two processes of ipc_events compute together, put
# into order by nothing but events that they share.
PROGRAMS = ["vector_add", "matrix_mul", "histogram", "streams_events", "reuse", "black_scholes",
            "managed", "ipc_events"]
REFUSALS = ["(2, ", "(46, ", "(100, "]  # as the programs print them
SECONDS = 20
# On a busy machine a round may take longer than that: one of them must serve ipc_events.
SECONDS_MOST = 120


def node_name(pid):
    """The node of a backend process."""
    for line in pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
        if line.startswith(b"SOFTGPU_NODE="):
            return line.split(b"=")[1].decode()
    return None


@contextlib.contextmanager
def scribbling(build, server):
    server.wait_spares()
    scribbler = harness.Process([f"{build.folder}/tests/scribble", node_name(server.spares()[0])],
                                build.environment(), stdin=subprocess.PIPE)
    try:
        scribbler.wait_for_line("started", 20)
        yield scribbler
        scribbler.popen.stdin.close()
        expect(scribbler.wait(20) == 0, scribbler.report())
    finally:
        scribbler.end()


def refused(program):
    return any(refusal in program.out.text + program.err.text for refusal in REFUSALS)


def test_neighbours_compute_right_or_are_refused(build):
    outcomes = {"passed": 0, "refused": 0}
    served = set()
    with harness.serving(build, config=harness.configuration(2)) as server, \
            scribbling(build, server) as scribbler:
        began = time.monotonic()
        while (seconds := time.monotonic() - began) < SECONDS or (
                "ipc_events" not in served and seconds < SECONDS_MOST):
            for name in PROGRAMS:
                program = harness.run([build.program(name)], build.remote([server]), status=None)
                passed = program.status == 0 and program.out.lines[-1] == "PASSED"
                expect(passed or refused(program), program.report())
                outcomes["passed" if passed else "refused"] += 1
                served |= {name} if passed else set()
        print(outcomes)
        expect("killed by signal" not in server.err.text, server.report())
        expect("ipc_events" in served and len(served) > 1, f"only {served} are served")
    print(scribbler.out.lines[-1])
    check.expect_no_orphans(build)


if __name__ == "__main__":
    if sys.argv[sys.argv.index("--sanitize") + 1] == "thread":
        # Two threads may then have the lock at once, which only costs speed and memory.
        print("skipped: ThreadSanitizer complains of what a lock that is scribbled on lets in")
        sys.exit(77)
    harness.main(globals())
