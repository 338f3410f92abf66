#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a trace for gpuaas-sim (docs/simulator.md) of the log of a gpuaasd that had `record_phases
= yes`: each backend process becomes a stream with one request, each batch a phase of it, and the
time between two phases one of the CPU.

    scripts/sim/recorded.py [--gpu MODEL] LOG > TRACE

What ran side by side stands one after the other, in the order of its begin. Nobody has measured the
issue slots and the memory's bandwidth that kernels take: the first is given as their share of
places, the second as 0."""

import argparse
import re
import sys

PHASE = re.compile(r"\[(\d+)\] info: (?:\S+ )?phase on GPU \d+: (kernel|h2d|d2h) at (\d+) for "
                   r"(\d+) ns, (\d+) bytes, share (\d+)")
WHOLE = 1_000_000


def read(lines):
    """Process -> its phases, by begin: (begin, ns, kind, bytes, share)."""
    found = {}
    for line in lines:
        if match := PHASE.search(line):
            pid, kind, *numbers = match.groups()
            begin, ns, size, share = map(int, numbers)
            found.setdefault(int(pid), []).append((begin, ns, kind, size, share))
    return {pid: sorted(phases) for pid, phases in sorted(found.items())}


def write(processes, gpu, out):
    begin = min(phases[0][0] for phases in processes.values())
    print("gpuaas-trace 1", f"gpu {gpu}", sep="\n", file=out)
    for pid, phases in processes.items():
        print(f"request p{pid} {phases[0][0] - begin} 1", file=out)
        until = phases[0][0]
        for at, ns, kind, size, share in phases:
            if at > until:
                print(f"cpu {at - until}", file=out)
            if kind == "kernel":
                part = max(share, 1) / WHOLE
                print(f"kernel {ns} {part:.6f} {part:.6f} 0", file=out)
            else:
                print(f"{kind} {ns} {size} pinned", file=out)
            until = max(until, at + ns)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--gpu", default="c2050", help="the model that the kernels ran on")
    parser.add_argument("log")
    options = parser.parse_args()
    with open(options.log, encoding="utf-8", errors="replace") as file:
        processes = read(file)
    if not processes:
        sys.exit(f"{options.log}: no phases: [server] record_phases = yes writes them")
    write(processes, options.gpu, sys.stdout)


if __name__ == "__main__":
    main()
