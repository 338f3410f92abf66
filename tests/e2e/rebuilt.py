#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rebuilt.py [NAME...]: programs of tests/kernels while all their objects are torn down and made
again (server/rebuild/rebuild.h), at twenty random boundaries of frames or more: they say what they
say without. With GPUAAS_TEST_FULL all programs. Those that cannot be rebuilt are listed, with the
object that is in the way."""

import argparse
import os
import re
import sys
import tempfile
import zlib

from lib import harness
from lib.harness import expect
from lib.programs import ARGUMENTS, PARTS, capabilities

FULL = bool(os.environ.get("GPUAAS_TEST_FULL"))
# Each kind of object
SOME = ["hello", "clusters", "device_heap", "device_launch", "device_printf", "function_facts",
        "function_pointers", "graph_conditional", "graph_nodes", "lasting_errors", "surfaces",
        "symbols", "textures", "two_devices", "virtual_memory"]
TIMES = 32
ENOUGH = 20
FEW = 50  # boundaries
SEEDS = 3  # that are tried: on a busy machine the work may be under way wherever it is looked
SECONDS = 240
# Programs that cannot be made again, and why
REFUSED = {}


# Programs that say how often something happened, or when
VARYING = {"events_across", "stream_attributes"}


def configuration(name):
    keys = [f"capability = {capabilities(name)[-1]}"]
    return harness.configuration(2, gpu_keys=[*keys, f"sms = {PARTS[name]}"] if name in PARTS
                                 else keys)


class Plan:
    """The file that says at which boundaries to rebuild."""

    def __init__(self):
        self.file = tempfile.NamedTemporaryFile("w", suffix=".rebuild")
        os.chmod(self.file.name, 0o644)  # backend processes are another user's
        self.write(0, 0, 0)

    def write(self, seed, boundaries, times):
        self.file.seek(0)
        self.file.truncate()
        self.file.write(f"{seed} {boundaries} {times}\n")
        self.file.flush()


def run(build, server, name):
    """The output of the program, and the server's report of its applications (it may be several
    processes): how often each was rebuilt, at how many boundaries, how many were busy, and why the
    last one was refused."""
    arguments = ARGUMENTS.get(name, []) if build.sanitize != "none" else []
    said = len(server.err.lines)
    process = harness.run_passing([build.program(name), *arguments], build.remote([server]),
                                  SECONDS)
    harness.wait_until(lambda: not server.backends(), 20, f"the end of {name}")
    pattern = r"rebuilt (\d+) times at (\d+) boundaries, (\d+) busy(?:; refused: (.*))?"

    def reports_read():
        found = [re.search(pattern, line) for line in list(server.err.lines)[said:]]
        return [(int(match.group(1)), int(match.group(2)), int(match.group(3)), match.group(4))
                for match in found if match]
    harness.wait_until(reports_read, 20, f"a report about {name}")
    reports = reports_read()
    text = process.out.text
    return process.seconds, re.sub(r"\d+", "#", text) if name in VARYING else text, reports


def test_program(build, name):
    plan = Plan()
    with harness.serving(build, config=configuration(name),
                         extra={"GPUAAS_TEST_REBUILD": plan.file.name}) as server:
        before, text, counted = run(build, server, name)
        boundaries = max(report[1] for report in counted)
        # A program that has ended is told nothing more: few calls are left out.
        span = boundaries * 4 // 5 if boundaries >= FEW else max(1, boundaries // 2)
        for seed in range(SEEDS):
            plan.write(zlib.crc32(name.encode()) + seed, span, TIMES)
            after, again, reports = run(build, server, name)
            expect(again == text, f"{name} says\n{again}\nnot\n{text}")
            times = sum(report[0] for report in reports)
            if times >= ENOUGH:
                break
    busy = sum(report[2] for report in reports)
    refused = next((report[3] for report in reports if report[3]), None)
    print(f"{name}: rebuilt {times} times, {boundaries} boundaries, {busy} busy, {before:.1f} and "
          f"{after:.1f} s{'; refused: ' + refused if refused else ''}")
    if name in REFUSED:
        expect(refused == REFUSED[name], f"{name}: refused: {refused}, not: {REFUSED[name]}")
    else:
        expect(times >= ENOUGH, f"{name}: rebuilt {times} times; refused: {refused}")


def chosen(build, names):
    if names or not FULL:
        return names or SOME
    with open(os.path.join(build.kernels, "programs.txt"), encoding="ascii") as f:
        return f.read().split()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    build, arguments = harness.parse_arguments(parser)
    if build.sanitize == "none":
        print("only builds for tests can do that")
        sys.exit(0)
    sys.exit(harness.run_tests([(name, lambda name=name: test_program(build, name))
                                for name in chosen(build, arguments.names)]))


if __name__ == "__main__":
    main()
