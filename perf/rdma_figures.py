# SPDX-License-Identifier: Apache-2.0
"""Bytes by RDMA, in the emulated machine with soft-RoCE that tests/rdma/vm.sh boots, next to what
perftest makes of the same card (tests/rdma/measure.py). A minute and more, of both processors, so
only who names it gets it: `./dev bench rdma`."""

import functools
import json
import os
import subprocess

import rig
from figures import Figure

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, "..", "tests", "rdma")
HOST = "10.77.0.1"  # there
EMULATOR = "/usr/bin/qemu-system-x86_64"
BOOT_SECONDS, TURN_SECONDS = 120, 60
TURNS_MAX = 9


def lacks(build):
    """Why it cannot be measured here; None: it can."""
    if not os.path.exists(EMULATOR):
        return f"no {EMULATOR} is here (./dev setup installs it)"
    if not os.path.exists(build.path("tests", "rdma_measure")):
        return "this build is without RDMA"
    if not os.path.exists(build.program("copy_rate")):
        return f"{build.program('copy_rate')} is missing (./dev build release makes it)"
    return None


@functools.cache
def measured(bench):
    """The measurements in such a machine: {figure: turns}"""
    build, root = bench.rig.build, os.path.realpath(os.path.join(HERE, ".."))
    turns = min(bench.turns, TURNS_MAX)
    command = [os.path.join(FOLDER, "vm.sh"), "-t", str(BOOT_SECONDS + turns * TURN_SECONDS),
               "-e", f"GPUAAS_TEST_RDMA={HOST}", "-e", "GPUAAS_TEST_TRANSPORT=rdma",
               "-e", "PYTHONDONTWRITEBYTECODE=1", root, "python3",
               os.path.join(root, "tests", "rdma", "measure.py"), "--turns", str(turns),
               "--build", build.folder, "--kernels", build.kernels, "--sanitize", build.sanitize,
               "--cuda", build.cuda]
    with rig.starting(real_time=rig.SHARING if bench.rig.real_time else False):
        run = subprocess.run(command, capture_output=True, text=True, check=False)
    found = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
    if run.returncode != 0 or len(found) != turns:
        raise rig.Failure(f"{command[0]}: {run.returncode}\n{run.stdout}{run.stderr}")
    return {name: [turn[name] for turn in found] for name in found[0]}


class Emulated(Figure):
    """All of its turns are taken at once, with those of the others, when the first is due."""

    def turn(self, bench):
        self.turns = measured(bench)[self.measure]


def all_figures():
    return [Emulated("rdma_latency", "rdma: 64 bytes one way, asleep", "us", True, "latency", 1.3),
            Emulated("rdma_stream", "rdma: stream", "MB/s", False, "stream", 0.85),
            Emulated("rdma_in", "rdma: in, 16 MiB, pinned", "MB/s", False, "in", 0.85),
            Emulated("rdma_out", "rdma: out, 16 MiB, pinned", "MB/s", False, "out", 0.85)]
