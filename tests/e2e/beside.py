#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""beside.py [NAME...]: programs of tests/kernels beside a busy program of another tenant, under
policies that let one of them work at a time, or several; each passes, and the busy one goes on and
misses nothing. Without names some programs, each under one policy; with GPUAAS_TEST_FULL all
programs. semantics S170"""

import argparse
import contextlib
import os
import sys
import tempfile

from lib import harness
from lib.admin import Raw
from lib.harness import expect
from lib.programs import ARGUMENTS, PARTS, TWO_DEVICES, capabilities
from lib.turn_taker import TurnTaker

FULL = bool(os.environ.get("GPUAAS_TEST_FULL"))
POLICIES = ("tfs", "las", "ps")
# Streams that wait for the host and for a word, and that end with work in flight; memory that moves
# by itself; a graph; faults, and two GPUs
SOME = ["destroyed_streams", "host_functions", "managed", "stream_values", "graph_nodes",
        "lasting_errors"]
SECONDS = 240


def configuration(folder, name):
    gpu_keys = [f"capability = {capabilities(name)[-1]}", f"policy = {POLICIES[0]}"]
    if name in PARTS:
        gpu_keys.append(f"sms = {PARTS[name]}")
    return harness.configuration(2, keys=[f"admin_socket = {folder}/admin.sock"], gpu_keys=gpu_keys)


def test_program(build, name, policies):
    arguments = ARGUMENTS.get(name, []) if build.sanitize != "none" else []
    modes = [["queue"], ["both", 1, 0]] if name in TWO_DEVICES else [["queue"]]
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="gpuaas-beside-"))
        server = stack.enter_context(harness.serving(build, config=configuration(folder, name)))
        admin = stack.enter_context(Raw(f"{folder}/admin.sock"))
        busy = []
        for mode in modes:
            busy.append(TurnTaker(build, server, *mode))
            stack.callback(busy[-1].end)
        for policy in policies:
            for gpu in range(2):
                reply = admin.ask(id=gpu, verb="policy.set",
                                  arguments={"gpu": gpu, "policy": policy})
                expect("error" not in reply, f"{reply}")
            for player in busy:
                player.goes_on(1)
            process = harness.run_passing([build.program(name), *arguments],
                                          build.remote([server]), SECONDS)
            print(f"{name} under {policy}: {process.seconds:.1f} s")
        for player in busy:
            player.goes_on(1)
            player.finish()


def chosen(build, names):
    """Programs, with the policies for each."""
    if not names and not FULL:
        return [(name, [POLICIES[i % len(POLICIES)]]) for i, name in enumerate(SOME)]
    with open(os.path.join(build.kernels, "programs.txt"), encoding="ascii") as file:
        return [(name, POLICIES) for name in names or file.read().split()]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    build, arguments = harness.parse_arguments(parser)
    sys.exit(harness.run_tests(
        [(name, lambda name=name, policies=policies: test_program(build, name, policies))
         for name, policies in chosen(build, arguments.names)]))


if __name__ == "__main__":
    main()
