#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./dev bench sched: each request of a mix is done under each policy, and a run beside programs
that use all processors does not count. How well it agrees is not asked of a busy machine."""

import json
import os
import subprocess
import sys
import tempfile

import harness
from harness import expect

PERF = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "perf", "sched")
sys.path.insert(0, PERF)
import real  # noqa: E402


def bench(build, *words):
    command = [sys.executable, PERF, "--build", build.folder, "--kernels", build.kernels,
               "--sanitize", build.sanitize, "--cuda", build.cuda, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False)
    expect(done.returncode in (0, 1) and "Traceback" not in done.stderr,
           f"{words}: {done.stdout}{done.stderr}")
    return done.stdout


def test_a_mix_under_two_policies(build):
    with tempfile.TemporaryDirectory(prefix="gpuaas-sched-") as folder:
        prediction, results = os.path.join(folder, "prediction"), os.path.join(folder, "results")
        bench(build, "--predict", prediction, "--mixes", "N", "--policies", "rr,tfs", "--seeds",
              "1", "--requests", "2", "--scale", "0.01")
        with real.Spinners(2 * os.cpu_count()):
            told = bench(build, "--against", prediction, "--out", results)
        with open(results, encoding="utf-8") as file:
            rows = json.load(file)["rows"]
        expect([row["policy"] for row in rows] == ["rr", "tfs"], told)
        for row in rows:
            expect(set(row["completion_s"]) == set(row["measured_s"]) == {"MM", "MC"}, told)
            expect(all(seconds > 0 for seconds in row["completion_s"].values()), told)
            expect("processors were idle for" in row["void"], told)
        expect("0 of 2 runs count" in told, told)


if __name__ == "__main__":
    harness.main(globals())
