# SPDX-License-Identifier: Apache-2.0
"""10,000 GPUs and 100,000 applications in one run: memory, and events in a second of processor."""

import os
import re
import resource
import subprocess
import sys
import time

SCENARIO = os.path.join(os.path.dirname(os.path.dirname(__file__)), "scenarios", "scale.ini")
MEMORY_MAX = 4 << 30
EVENTS_PER_S_MIN = 1e6


def arguments(parser):
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE")


def main(options):
    settings = [word for setting in options.set for word in ("--set", setting)]
    begun = time.monotonic()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([options.sim, "run", SCENARIO, *settings], stdout=subprocess.PIPE,
                          text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    wall = time.monotonic() - begun
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    events = int(re.search(r"(\d+) events", done.stdout).group(1))
    memory = after.ru_maxrss * 1024
    print(done.stdout)
    print(f"{events / seconds / 1e6:.2f} million events in a second of processor "
          f"({events / 1e6:.1f} million in {seconds:.1f} s, {wall:.1f} s by the clock), "
          f"{memory / (1 << 20):.0f} MiB; load of the machine {os.getloadavg()[0]:.1f}")
    good = events / seconds >= EVENTS_PER_S_MIN and memory < MEMORY_MAX
    if not good:
        print("at least 1 million and at most 4096 MiB are asked for", file=sys.stderr)
    return 0 if good else 1
