#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Frames that are cut, come twice, out of turn, or say more bytes than there may be: in each kind
of connection and both directions. The end that reads them ends the connection; the program is told
719, or all it computed is right. The server holds nothing of it any more, and a neighbour that
computes meanwhile does not notice.

Uses the transport that breaks others (transport/fault/fault.h), which only builds with a sanitizer
have. Whatever carries the frames (GPUAAS_TEST_TRANSPORT), they are the same. With
GPUAAS_TEST_FULL=1 at many frames, else at some."""

import contextlib
import os
import sys

import check
from check import Checker, expect
from lib import harness

SKIPPED = 77
FULL = os.environ.get("GPUAAS_TEST_FULL") == "1"
DATA, SIDE = 2, 3  # kinds of connections, to transport/fault/fault.h

# The program steps has equal rounds, each with more frames than are left out here. The first one is
# the greeting, and the second one that it sends a context, which may come twice.
ROUNDS = 4 if FULL else 2
PLACES = ({"out": range(3, 60), "in": range(2, 40)} if FULL else
          {"out": (31,), "in": (6,)} if harness.TRANSPORT == "rdma" else
          {"out": (3, 9, 31), "in": (2, 6, 9, 16)})
GREETING = {0, 46, 100, 719}  # what may become of a program whose connections begin wrongly
# Faults that the reader must notice, whatever frame it is. Answers out of turn do no harm: each
# says what it belongs to; but to a copy its pieces belong in their order, and before its answer.
ALWAYS = {"out": ("cut", "twice", "swap", "long"), "in": ("cut", "long")}


@contextlib.contextmanager
def neighbour(build, server):
    """A program that computes all the while and compares."""
    program = check.start_bystander(build, server)
    try:
        program.wait_for_line("started", 60)
        yield
        program.kill(15)
        expect(check.victim_result(program) == 0, program.report())
    finally:
        program.end()


def result_of(build, server, faults):
    """0: all was right; or the error that the program was told, with one line why."""
    program = check.start_steps(build, [server], ROUNDS, GPUAAS_TEST_FAULT=faults)
    try:
        error = check.victim_result(program)
        lines = harness.logged(program, "error")
        expect(len(lines) <= 1 if error == 0 else len(lines) == 1,
               f"{faults}: one line why is due\n{program.report()}")
        return error
    finally:
        program.end()


def broken_frames(build, way):
    with harness.serving(build) as server:
        with neighbour(build, server):
            checker = Checker(build, server, clients=1)
            for kind in ("cut", "twice", "swap", "long"):
                results = [result_of(build, server, f"on={DATA}&{kind}_{way}={at}")
                           for at in PLACES[way]]
                print(f"{kind}_{way}: {results}")
                expect(set(results) <= {0, 719}, f"{kind}_{way}: {results}, 0 or 719 are due")
                expect(kind not in ALWAYS[way] or set(results) == {719},
                       f"{kind}_{way}: {results}, 719 is due")
                checker.check_clean()
        Checker(build, server).check()


def test_frames_to_the_server(build):
    broken_frames(build, "out")


def test_frames_to_the_client(build):
    broken_frames(build, "in")


def test_greeting(build):
    """The first frame of either connection, of a backend process that nobody greets rightly."""
    config = harness.configuration(2)
    if "handshake_timeout_s" not in config:
        config = config.replace("[server]", "[server]\nhandshake_timeout_s = 2")
    with harness.serving(build, config=config) as server:
        with neighbour(build, server):
            checker = Checker(build, server, clients=1)
            for on in (DATA, SIDE):
                for fault in ("cut_out", "long_in") + (("long_out", "cut_in") if FULL else ()):
                    error = result_of(build, server, f"on={on}&{fault}=1")
                    print(f"connection {on}, {fault}: {error}")
                    expect(error in GREETING, f"{fault}: {error}")
                    checker.check_clean()
        Checker(build, server).check()


if __name__ == "__main__":
    if sys.argv[sys.argv.index("--sanitize") + 1] == "none":
        print("skipped: this build has no transport that breaks others")
        sys.exit(SKIPPED)
    harness.main(globals())
