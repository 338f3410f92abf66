#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The time of our stream over RDMA next to perftest, and of a copy of pinned memory, on the same
card (of vm.sh, in which nothing is as fast as in hardware: only the ratios mean something).

Each turn measures all, theirs and ours by turns, and is a line of JSON: microseconds, and 10^6
bytes per second. `./dev bench rdma` reads them; without --turns it is one turn with little, only to
see that everything arrives."""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time

import programs
from lib.harness import HOST, expect, run_passing

PIECE = 65536  # of the stream
CHUNK = 262144  # pieces that the server's card moves
COPIES = 3  # in each turn, of which the median counts
# Either end has a processor of its own, as if they were two machines.
CLIENT, SERVER = (["taskset", "-c", str(number)] for number in range(2))


def perftest(*command):
    """The last line of figures of the client's end."""
    server = subprocess.Popen([*SERVER, *command], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while True:  # until the server listens
            run = subprocess.run([*CLIENT, *command, HOST], capture_output=True, text=True,
                                 timeout=120, check=False)
            if run.returncode == 0 or time.monotonic() > deadline:
                break
            time.sleep(0.2)
        server.wait(30)
    finally:
        if server.poll() is None:
            server.kill()
            server.wait()
    rows = [line.split() for line in run.stdout.splitlines() if re.match(r"\s*\d+\s+\d+\s", line)]
    if not rows:
        sys.exit(f"{' '.join(command)}: {run.stdout}{run.stderr}")
    return [float(word) for word in rows[-1]]


def latency(rounds):
    return perftest("ib_send_lat", "-F", "-e", "-s", "64", "-n", str(rounds))[4]


def bandwidth(tool, size, megabytes):
    row = perftest(tool, "-F", "-s", str(size), "-n", str(megabytes * 2**20 // size))
    return row[3] * 1.048576  # its MB are 2^20 bytes


def our_stream(build, rounds, megabytes):
    run = subprocess.run([build.path("tests/rdma_measure"), HOST, str(rounds), str(megabytes)],
                         capture_output=True, text=True, timeout=300, check=False)
    if run.returncode != 0:
        sys.exit(run.stderr)
    return json.loads(run.stdout)


def our_copies(build, server, megabytes):
    program = run_passing([*CLIENT, build.program("copy_rate"), str(megabytes), str(COPIES)],
                          build.remote([server], GPUAAS_TRACE="summary"))
    expect("over rdma" in program.err.text, program.report())
    answer = json.loads(next(line for line in program.out.lines if line.startswith("{")))
    for way in ("in", "out"):
        expect(len(answer[way]) == COPIES, f"{way}: {answer}")
    return {way: statistics.median(answer[way]) for way in ("in", "out")}


def turn(build, server, rounds, megabytes):
    floor = {"latency": latency(rounds), "stream": bandwidth("ib_write_bw", PIECE, megabytes)}
    stream = our_stream(build, rounds, megabytes)
    floor["in"] = bandwidth("ib_read_bw", CHUNK, megabytes)
    copies = our_copies(build, server, megabytes)
    floor["out"] = bandwidth("ib_write_bw", CHUNK, megabytes)
    ours = {"latency": stream["latency_us"], "stream": stream["bandwidth_mb_s"], **copies}
    return {name: {"ours": ours[name], "floor": floor[name]} for name in floor}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=0)
    build, arguments = programs.harness.parse_arguments(parser)
    rounds, megabytes = (500, 16) if arguments.turns else (100, 4)
    with programs.serving(build, prefix=SERVER) as server:
        for _ in range(max(1, arguments.turns)):
            print(json.dumps(turn(build, server, rounds, megabytes)), flush=True)


if __name__ == "__main__":
    main()
