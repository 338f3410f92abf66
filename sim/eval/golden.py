# SPDX-License-Identifier: Apache-2.0
"""Numbers that are known exactly, reached through the whole simulator (the policies by themselves
are compared in sched/tests/test_golden.c)."""

from bed import Bed

ROUNDS = """[run]
isolation = packed
pinned = no
warmup_percent = 0
[gpu.0]
model = c2050
[app.X]
runtime = 120ms
gpu_share = 1
rounds = 3
h2d_part = 0.5
[stream.X]
app = X
arrivals = once
requests = 1
"""

# policy, sessions, copy each way and kernel in ms, makespan in ms
MAKESPANS = [("ps", 1, 10, 20, 120), ("ps", 2, 10, 20, 140), ("ps", 3, 10, 20, 200),
             ("rr", 2, 10, 20, 240), ("rr", 3, 10, 20, 360), ("ps", 2, 10, 10, 100),
             ("ps", 3, 10, 10, 110), ("rr", 2, 10, 10, 180), ("rr", 3, 10, 10, 270)]

# Two tenants whose kernels of 70 and 10 ms follow each other without a pause.
KERNELS = """[run]
isolation = packed
warmup_percent = 0
[gpu.0]
model = c2050
[app.A]
runtime = 70s
gpu_share = 1
rounds = 1000
[app.B]
runtime = 70s
gpu_share = 1
rounds = 7000
[stream.A]
app = A
arrivals = once
requests = 1
weight = {0}
[stream.B]
app = B
arrivals = once
requests = 1
weight = {1}
"""

# policy, weights, ratio of what A and B attain in the long run
SHARES = [("tfs", (1, 1), 1), ("fs", (1, 1), 7000 / 5000),
          ("tfs", (1, 3), 1 / 3), ("fs", (1, 3), 560 / 640)]


def arguments(parser):
    parser.set_defaults(quick=False)


def main(options):
    bed = Bed(options.sim)
    bad = 0
    runs = [(ROUNDS, {"run.policy": policy, "stream.X.count": sessions,
                      "app.X.runtime": f"{3 * (2 * copy + kernel)}ms",
                      "app.X.transfer_share": 2 * copy / (2 * copy + kernel)}, 1, None)
            for policy, sessions, copy, kernel, _ in MAKESPANS]
    for (policy, sessions, copy, kernel, known), run in zip(MAKESPANS, bed.all(runs)):
        found = run["end_s"] * 1e3
        good = abs(found - known) < 0.1  # launches take 3 us each
        bad += not good
        print(f"{policy} {sessions} sessions, copies {copy} ms, kernels {kernel} ms: makespan "
              f"{found:.3f} ms, {known} known{'' if good else '  WRONG'}")
    runs = [(KERNELS.format(*weights), {"run.policy": policy}, 1, None)
            for policy, weights, _ in SHARES]
    for (policy, weights, known), run in zip(SHARES, bed.all(runs)):
        a, b = (tenant["contended_service_s"] for tenant in run["tenants"])
        good = abs(a / b / known - 1) < 0.01  # the first one ends within an epoch
        bad += not good
        print(f"{policy} weights {weights[0]}:{weights[1]}: attained {a:.3f} s and {b:.3f} s, "
              f"ratio {a / b:.4f}, {known:.4f} known{'' if good else '  WRONG'}")
    return 1 if bad else 0
