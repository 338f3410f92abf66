#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./dev bench sched: each request of a mix is done under each policy, and a run beside programs
that use all processors does not count. How well it agrees is not asked of a busy machine."""

import json
import os
import subprocess
import sys
import tempfile

from lib import harness
from lib.harness import expect

PERF = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "perf", "sched")
sys.path.insert(0, PERF)
import alone  # noqa: E402
import given  # noqa: E402
import real  # noqa: E402
import tenant_shares  # noqa: E402


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
              "1", "--requests", "2", "--scale", "0.01", "--runs", "1")
        with real.Spinners(2 * os.cpu_count()):
            told = bench(build, "--against", prediction, "--out", results, "--runs", "1",
                         "--tries", "1")
        with open(results, encoding="utf-8") as file:
            rows = json.load(file)["rows"]
        expect([row["policy"] for row in rows] == ["rr", "tfs"], told)
        for row in rows:
            expect(set(row["completion_s"]) == set(row["measured_s"]) == {"MM", "MC"}, told)
            expect(all(seconds > 0 for seconds in row["completion_s"].values()), told)
            expect("processors were idle for" in row["void"], told)
            expect(abs(sum(row["shares"].values()) - 1) < 0.01, told)
            expect(row["shares"]["gpu"] > 0, told)
        expect("2 of 2 runs are done, 0 count" in told, told)
        expect("two programs that take turns" in told, told)


def test_long_kernels_are_waited_for(build):
    """Nobody begins beside a kernel that runs when its turn is over, and nobody's copies are
    charged with the wait for it."""
    kernel_ms = 400
    requests = [("X", 0, 3, f"kernel {kernel_ms * 1000000} 1 1 0\n"), ("U", 1, 1, "cpu 1\n"),
                ("Y", 2, 10, "h2d 0 4096 pinned\nkernel 1000000 1 1 0\n")]
    run = real.replay(build, alone.trace(requests), "rr", 0.04, 3)
    phases = sorted((at, at + ns) for gpu, at, ns in run.phases if gpu == 0)
    expect(len(phases) >= 23, run.phases)
    beside_ms = (real.length(phases) - real.length(real.union(phases))) / 1e6
    expect(beside_ms < kernel_ms / 4, f"sessions were beside each other for {beside_ms} ms")


def test_shares(build):
    """Beside what gpuaasd gives stands what the simulator predicts, which is what is due."""
    with tempfile.TemporaryDirectory(prefix="gpuaas-sched-") as folder:
        results = os.path.join(folder, "results")
        told = bench(build, "--shares", "--cases", "a hostile one whose", "--holds", "50ms",
                     "--seconds", "2", "--tries", "1", "--out", results)
        with open(results, encoding="utf-8") as file:
            row, = json.load(file)
        for name in ("a", "hostile"):
            expect(abs(row["predicted"][name] - row["entitled"][name]) < 0.02, told)
        for parts in (row["given"], row["worked"]):
            expect(abs(sum(parts.values()) - 1) < 1e-6 and parts["hostile"] > 0, told)
        expect("of 1 looks count" in told and f"entitled to {0.5:.3f}" in told, told)


def test_what_is_due(build):
    """To within the bound, and a kernel of the tenant."""
    del build
    for got, due, kernel_ms, work_s, is_due in (
            (0.476, 0.5, 1, 10, True), (0.474, 0.5, 1, 10, False), (0.526, 0.5, 1, 10, False),
            (0.3, 0.5, 1900, 10, True), (0.2, 0.5, 1900, 10, False)):
        tenant = tenant_shares.Tenant(1, kernel_ms)
        expect(tenant_shares.is_due(tenant, due, got, 0.05, work_s) == is_due,
               (got, due, kernel_ms))


def test_what_is_given(build):
    """A has a turn of 50 ms, of which it uses 20, and returns it late; B has one of 50 ms, and a
    kernel that takes 90. Both want the GPU all the time but for the last 10 ms, of B. An hour is
    not of the look."""
    del build
    a, b, ms = "1.2.3.4:5", "1.2.3.4:6", 1000000

    def turn(who, begin, until, returned):
        return (f"{who}: turn on GPU 0: from {begin * ms}, until {until * ms} at most, "
                f"returned at {returned * ms}\n")

    def wait(who, begin, end):
        return (f"{who}: turn on GPU 0: wanted at {begin * ms}, granted at {end * ms}, "
                f"begun at {end * ms}\n")

    def kernel(who, begin, length):
        return f"{who}: phase on GPU 0: kernel at {begin * ms} for {length * ms} ns, 0 bytes\n"

    log = (f"{a}: decoys (pid 7): connected\n{b}: decoys (pid 8): connected\n" +
           turn(a, 0, 50, 80) + kernel(a, 30, 20) + wait(a, 40, 200) +
           wait(b, 0, 100) + turn(b, 90, 140, 195) + kernel(b, 100, 90) + kernel(b, 3600000, 90))
    seconds, parts = given.parts(log, {7: "a", 8: "b"}, 0, 200 * ms)
    expect(abs(seconds - 0.19) < 1e-9, seconds)
    expect(abs(parts["a"] - 50 / 150) < 1e-9 and abs(parts["b"] - 100 / 150) < 1e-9, parts)


def test_what_is_seen_of_a_run(build):
    """A GPU works for 8 of 10 us; two sessions want it, and one of them has its turn 1 us late."""
    del build
    log = "".join(f"phase on GPU 0: kernel at {at} for {ns} ns, 0 bytes, share 1\n"
                  for at, ns in ((0, 4000), (6000, 4000)))
    log += "turn on GPU 0: wanted at 1000, granted at 5000, begun at 6000\n"
    log += "turn on GPU 0: wanted at 7000, granted at 6500, begun at 7100\n"
    line = {"stream": "X", "arrival": 0, "begin": 0, "ready": 1000, "end": 20000, "cpu": 3000,
            "phases": 4, "late_p99": 100}
    run = real.Run([line], log, 20000, 0.5)
    expect(run.conserved() == 0.8, run.conserved())
    expect(run.late_turns_p99_ns() == 1000, run.late_turns_p99_ns())
    expect(run.shares() == {"start": 0.05, "cpu": 0.15, "gate": 0.255, "gpu": 0.4,
                            "network": 0.145}, run.shares())
    expect(run.completions() == {"X": 2e-05} and run.verdict(20000) == "", run.verdict(20000))
    expect("turns began late by 10.0%" in run.verdict(10000), run.verdict(10000))
    run.log = ("gpuaas[7] warn: softgpu: timing: model x: 9 items of 1 ms on 1 devices in 1 ms; "
               "9 were executed later than the model says, by 0.001 ms (1 %), one by 1 ms; "
               "2 found no room beside others")
    expect("late by 10.0% of the run, and 2 items" in run.verdict(20000), run.verdict(20000))


if __name__ == "__main__":
    harness.main(globals())
