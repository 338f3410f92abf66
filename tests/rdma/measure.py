#!/usr/bin/env python3
"""What our stream over RDMA takes next to perftest, and what a copy of pinned memory does, on the
same card (of vm.sh, in which nothing is as fast as in hardware: only the ratios mean something)."""

import json
import os
import re
import statistics
import subprocess
import sys
import time

import programs
from harness import expect, run_passing

ROUNDS, MEGABYTES, PIECE, TURNS = 300, 8, 65536, 3
CHUNK = 262144  # pieces that the server's card moves


def perftest(host, *command):
    """The last line of figures of the client's end."""
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while True:  # until the server listens
            run = subprocess.run([*command, host], capture_output=True, text=True, timeout=120,
                                 check=False)
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


def perftest_turn(host):
    latency = perftest(host, "ib_send_lat", "-F", "-e", "-s", "64", "-n", str(ROUNDS))[4]
    return latency, bandwidth(host, "ib_write_bw", PIECE)


def bandwidth(host, tool, size):
    row = perftest(host, tool, "-F", "-s", str(size), "-n", str(MEGABYTES * 2**20 // size))
    return row[3] * 1.048576  # its MB are 2^20 bytes


def our_turn(host, program):
    run = subprocess.run([program, host, str(ROUNDS), str(MEGABYTES)], capture_output=True,
                         text=True, timeout=300, check=False)
    if run.returncode != 0:
        sys.exit(run.stderr)
    answer = json.loads(run.stdout)
    return answer["latency_us"], answer["bandwidth_mb_s"]


def test_stream(build):
    host, program = programs.HOST, build.path("tests/rdma_measure")
    turns = [(perftest_turn(host), our_turn(host, program)) for _ in range(TURNS)]
    for at, (figure, floor, unit) in enumerate((("latency, asleep", "ib_send_lat -e", "us"),
                                                ("bandwidth", "ib_write_bw", "MB/s"))):
        theirs, ours = (statistics.median(turn[who][at] for turn in turns) for who in (0, 1))
        print(f"{figure}: {ours:.1f} {unit}; {floor} {theirs:.1f} {unit}; {ours / theirs:.2f}x "
              f"(medians of {TURNS} turns)", flush=True)


def test_copies(build):
    with programs.serving(build) as server:
        env = build.remote([server], GPUAAS_TRANSPORT="rdma")
        program = run_passing([build.program("copy_rate"), str(MEGABYTES // 2), str(TURNS)], env)
    answer = json.loads(next(line for line in program.out.lines if line.startswith("{")))
    for way, tool in (("in", "ib_read_bw"), ("out", "ib_write_bw")):
        expect(len(answer[way]) == TURNS, f"{way}: {answer}")
        ours, theirs = statistics.median(answer[way]), bandwidth(programs.HOST, tool, CHUNK)
        print(f"copy {way}, pinned: {ours:.1f} MB/s; {tool} {theirs:.1f} MB/s; "
              f"{ours / theirs:.2f}x (ours the median of {TURNS} turns)", flush=True)


if __name__ == "__main__":
    programs.harness.main(globals())
