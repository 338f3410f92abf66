# SPDX-License-Identifier: Apache-2.0
"""The papers' rows about one GPU and one node, beside the printed numbers."""

import os
import subprocess

import choice
import fairness
import told
from bed import (Bed, GROUP_A, GROUP_B, PAIRS, RAIN_APPS, RUNTIME_S, closed, geometric, interval,
                 mean, scenario, speedup)
from fairness import SYSTEMS, TURNS
from systems import ALPHA, ALPHA_TARGET, CUDA, FORWARD, NODE, RAIN, STRINGS

# Assumptions that are no keys: the tables of applications.
TABLES = ("run times of Strings A 30 s, B 6 s, BS 3 s, of Rain long 70 s, short 10 s, Gaussian "
          "5 s; kernels fill the GPU, EV 0.5, GA 0.1 of it")


def arguments(parser):
    parser.add_argument("--quick", action="store_true", help="few seeds and pairs, short runs")
    parser.add_argument("--seeds", type=int, default=30, metavar="N", help="seeds of each run (30)")
    parser.add_argument("--jobs", type=int, metavar="N", help="runs at a time (processors)")
    parser.add_argument("--keep", metavar="FOLDER",
                        help="results of runs are kept there, and taken from there")
    parser.add_argument("--out", help="a folder for the pictures")
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"of {', '.join(ROWS)} (all)")


def seeds_of(options):
    return range(1, 3 if options.quick else options.seeds + 1)


def caption(bed):
    """Prints what every number since the last caption depends on."""
    text = bed.caption()
    digest = bed.one((scenario({"GA": {"app": "GA", "alpha": 1, "requests": 1}}), {}, 1,
                      None))["model"]
    bed.done = []
    return (f"{text} {TABLES}; constants {digest}. Alpha {ALPHA} is calibrated on {ALPHA_TARGET}.")


def alone(apps, alpha, requests):
    return {app: scenario({app: {"app": app, "alpha": alpha, "requests": requests}}, "node")
            for app in apps}


def curve(bed, options, apps, systems, threads, alphas):
    """S of each system against CUDA over alpha."""
    seeds = options.numbers
    requests = 20 if options.quick else 60
    for alpha in (ALPHA,) if options.quick else alphas:
        texts = alone(apps, alpha, requests)
        node = {"node.0.threads": threads}
        runs = iter(bed.all([(texts[app], {**settings, **node}, seed, None) for app in texts
                             for seed in seeds for settings in (CUDA, *systems)]))
        found = []
        for _ in texts:
            ratios = [[speedup(next(runs), cuda) for _ in systems]
                      for cuda in (next(runs) for _ in seeds)]
            found.append([mean(column) for column in zip(*ratios)])
        means = " | ".join(f"{mean(column):.3f}" for column in zip(*found))
        each = ", ".join(f"{app} {'; '.join(f'{s:.2f}' for s in row)}"
                         for app, row in zip(texts, found))
        print(f"| {threads} | {alpha} | {means} | {each} |", flush=True)


def single(bed, options):
    """Strings, Fig. 9: each application alone as a stream to a node of two GPUs."""
    print("| threads | alpha | GRR-Rain / CUDA | GRR-Strings / CUDA | by application (Rain; "
          "Strings) |\n|---|---|---|---|---|")
    for threads in (64,) if options.quick else (64, 12):
        curve(bed, options, GROUP_A + GROUP_B, (RAIN, STRINGS), threads,
              (0.2, 0.35, 0.5, 0.6, 0.7, 1, 1.5, 2))
    print("\nStrings prints 2.16 and 3.10. The curve is not monotone. With 12 server threads no "
          "alpha reaches 2.16: when requests pile up, the threads are the queue, and both systems "
          "have the same.")


def rain_single(bed, options):
    """Rain, Fig. 5: the same with Rain's applications."""
    print("| threads | alpha | GRR / CUDA | by application |\n|---|---|---|---|")
    curve(bed, options, list(RAIN_APPS), (RAIN,), 64, (0.35, 0.5, 0.7, 0.8, 0.85, 1, 1.5))
    print("\nRain prints 1.57; of the alphas that fit, the greater one is its calibration.")


def ablation(bed, options):
    """LAS and PS against no policy, with the same isolation and the same two GPUs."""
    seeds = options.numbers
    labels = ["N", "S"] if options.quick else list(PAIRS)
    requests = 20 if options.quick else 60
    print("| isolation | policy | mean | geometric | median | worst | below 1 | interval |\n" +
          "|---" * 8 + "|")
    for isolation, base in (("app", RAIN), ("packed", STRINGS)):
        keys, runs = [], []
        for label in labels:
            streams = {app: {"app": app, "alpha": ALPHA, "requests": requests}
                       for app in PAIRS[label]}
            for seed in seeds:
                for policy in ("none", "las", "ps"):
                    keys.append((label, seed, policy))
                    runs.append((scenario(streams, "node"),
                                 {**base, **NODE, "run.policy": policy}, seed, None))
        found = dict(zip(keys, bed.all(runs)))
        for policy in ("las", "ps"):
            ratios = sorted(mean(speedup(found[label, seed, policy], found[label, seed, "none"])
                                 for seed in seeds) for label in labels)
            low, high = interval([mean(speedup(found[label, seed, policy],
                                               found[label, seed, "none"]) for label in labels)
                                  for seed in seeds])
            print(f"| {isolation} | {policy} | {mean(ratios):.4f} | {geometric(ratios):.4f} | "
                  f"{ratios[len(ratios) // 2]:.4f} | {ratios[0]:.4f} | "
                  f"{sum(r < 1 for r in ratios)} of {len(ratios)} | [{low:.4f}, {high:.4f}] |",
                  flush=True)
    print("\nThe papers' LAS and PS rows (3.10, 2.97) contain GWtMin and packing on four GPUs, "
          "which wait for the pool; this is what the device policy itself gives on one node.")


def utilisation(bed, options):
    """Strings, Fig. 2; Rain, Fig. 1: a stream of MC (BS) on one GPU, contexts and packed."""
    folder = options.out or os.path.join("build", "sim")
    os.makedirs(folder, exist_ok=True)
    print("| stream | isolation | compute | h2d | d2h | idle | gaps over 1 ms | variance | run s "
          "|\n" + "|---" * 9 + "|")
    for app, requests in (("MC", 20), ("BS", 40)):
        path = os.path.join(folder, f"{app}.ini")
        with open(path, "w", encoding="utf-8") as file:
            file.write(scenario({app: {"app": app, "alpha": 0.2, "requests": requests}}))
        for isolation in ("app", "packed"):
            picture = os.path.join(folder, f"utilisation-{app}-{isolation}.svg")
            subprocess.run([bed.sim, "run", path, "--quiet", "--svg", picture, "--from", "5s",
                            "--to", "7s", "--set", f"run.isolation={isolation}", "--set",
                            "run.pinned=no", "--set", "run.bins=400"], check=True)
            with open(path, encoding="utf-8") as file:
                run = bed.one((file.read(), {"run.isolation": isolation, "run.pinned": "no",
                                             "run.bins": 1000}, 1, None))
            gpu = run["gpus"][0]
            use = [max(bins) for bins in zip(*(gpu["use"][e] for e in ("compute", "h2d", "d2h")))]
            middle = use[len(use) // 10:len(use) * 9 // 10]  # requests wait all the time
            variance = mean(u * u for u in middle) - mean(middle) ** 2
            part = [gpu[f"{e}_busy_s"] / run["end_s"] for e in ("compute", "h2d", "d2h")]
            print(f"| {app} | {isolation} | {part[0]:.4f} | {part[1]:.4f} | {part[2]:.4f} | "
                  f"{gpu['idle_s'] / run['end_s']:.4f} | {gpu['idle_gaps_over_1ms']} | "
                  f"{variance:.5f} | {run['end_s']:.2f} |")
    print(f"\nThe variance is that of the middle 80 % of the run. Pictures: "
          f"{os.path.join(folder, 'utilisation-*.svg')}.")


def changes_of(pair):
    """Name -> the settings for 20 % less and 20 % more."""
    def both(key, *values):
        return [{key: value} for value in values]
    changes = {"switch_time": both("gpu.0.switch_time", "20us", "30us"),
               "context_time": both("gpu.0.context_time", "120ms", "180ms"),
               "epoch": both("policy.epoch", "80ms", "120ms"),
               "slice": both("policy.slice", "40ms", "60ms"),
               "hold": both("policy.hold", "16ms", "24ms"),
               "cpus": both("node.0.cpus", 10, 14)}
    for place, app in zip(("long", "short"), pair):
        runtime_ms = RUNTIME_S[app] * 1000
        changes[f"{place}: runtime"] = both(f"app.{app}.runtime", f"{runtime_ms * 8 // 10}ms",
                                            f"{runtime_ms * 12 // 10}ms")
        changes[f"{place}: rounds"] = both(f"app.{app}.rounds", 80, 120)
        changes[f"{place}: h2d_part"] = both(f"app.{app}.h2d_part", 0.56, 0.84)
        fills = {"EV": 0.5, "GA": 0.1}.get(app, 1)
        changes[f"{place}: places"] = both(f"app.{app}.places", 0.8 * fills, min(1, 1.2 * fills))
    return changes


def sensitivity_of(bed, pair, change):
    """J_share of TFS with all threads busy, and S of packing against contexts apart."""
    text, settings = closed(pair, 60, 1, fairness.THREADS)
    first, second = pair
    open_text = scenario({first: {"app": first, "alpha": 1, "requests": 30},
                          second: {"app": second, "alpha": 2, "requests": 60}})
    rest = {key: value for key, value in change.items() if not key.startswith("policy")}
    runs = bed.all([(text, {**settings, **TURNS, **SYSTEMS["TFS-Rain"], **change}, 1, None),
                    (open_text, {**rest, "run.isolation": "packed"}, 1, None),
                    (open_text, {**rest, "run.isolation": "app"}, 1, None)])
    return runs[0]["metrics"]["jain_share"], speedup(runs[1], runs[2])


def sensitivity(bed, options):
    """The effect of +-20 % of each assumption on J_share of TFS and S of packing, a row for a
    pair."""
    titles = ("J_share of TFS, 32 requests of each tenant at a time",
              "S of packing against contexts apart")
    rows = ([], [])
    for label in "N" if options.quick else PAIRS:
        pair = PAIRS[label]
        assumed = sensitivity_of(bed, pair, {})
        found = {name: [sensitivity_of(bed, pair, value) for value in values]
                 for name, values in changes_of(pair).items()}
        for i, lines in enumerate(rows):
            every = [value[i] for values in found.values() for value in values]
            moved = sorted(found, key=lambda name: -max(
                abs(value[i] - assumed[i]) for value in found[name]))[:3]
            most = "; ".join(f"{name} {', '.join(f'{value[i]:.4f}' for value in found[name])}"
                             for name in moved)
            lines.append(f"| {label} {'-'.join(pair)} | {assumed[i]:.4f} | {min(every):.4f} to "
                         f"{max(every):.4f} | {most} |")
    for title, lines in zip(titles, rows):
        print(f"{title}, with 20 % less and 20 % more:\n\n| pair | as assumed | range | moved most "
              "by (20 % less, 20 % more) |\n|---|---|---|---|\n" + "\n".join(lines) + "\n")


BANDWIDTH = """[run]
isolation = packed
warmup_percent = 0
[gpu.0]
model = c2050
[app.memory]
runtime = 2s
gpu_share = 0.9
bandwidth_mbs = 115200
places = 0.4
[app.compute]
runtime = 2s
gpu_share = 0.9
bandwidth_mbs = 1000
places = 0.4
[stream.memory]
app = memory
count = 2
arrivals = closed
requests = {0}
[stream.compute]
app = compute
count = 2
arrivals = closed
requests = {0}
"""

LATENCY = """[run]
until = {0}s
warmup_percent = 0
[gpu.0]
model = h100
context_time = none
[app.answer]
runtime = 20ms
gpu_share = 0.5
rounds = 20
reference = h100
[app.batch]
runtime = 2s
gpu_share = 0.95
rounds = 400
reference = h100
[stream.answer]
app = answer
mean = 100ms
requests = 0
goal = 2ms
priority = 10
[stream.batch]
app = batch
count = 3
arrivals = closed
requests = 0
"""


def beyond(bed, options):
    """Policies that are not the papers': ps_bandwidth, and latency goals."""
    policies = ("none", "ps", "ps_bandwidth")
    text = BANDWIDTH.format(4 if options.quick else 20)
    runs = bed.all([(text, {"run.policy": policy}, 1, None) for policy in policies])
    print("Two applications whose kernels take 80 % of the memory's bandwidth, and two that take "
          "little; each kernel fills 40 % of the GPU.\n\n| policy | run s | S against ps |\n"
          "|---|---|---|")
    for policy, run in zip(policies, runs):
        print(f"| {policy} | {run['end_s']:.3f} | {speedup(run, runs[1]):.3f} |")
    policies = ("none", "rr", "las", "tfs", "priority", "latency")
    settings = [("none", {"run.policy": "none", "gpu.0.context_slice": "none"}),
                ("none, slices", {"run.policy": "none"})]
    settings += [(policy, {"run.policy": policy, "policy.slice": "2ms", "policy.hold": "500us",
                           "policy.epoch": "20ms"}) for policy in policies[1:]]
    text = LATENCY.format(10 if options.quick else 120)
    runs = bed.all([(text, {**change, "policy.horizon": "1ms"}, 1, None)
                    for _, change in settings])
    print("\nShort answers with a goal of 2 ms, and three batch programs with kernels of 5 ms.\n\n"
          "| policy | wait of an operation, mean ms | 99 % ms | answer, mean ms | batch, GPU share "
          "|\n|---|---|---|---|---|")
    for (name, _), run in zip(settings, runs):
        answer = run["streams"][0]
        batch = run["tenants"][1]["service_s"] / run["end_s"]
        print(f"| {name} | {answer['operation_wait_mean_s'] * 1e3:.3f} | "
              f"{answer['operation_wait_p99_s'] * 1e3:.2f} | "
              f"{answer['completion_mean_s'] * 1e3:.2f} | {batch:.4f} |")


ROWS = {"single": single, "rain_single": rain_single, "shares": fairness.shares,
        "rain_shares": fairness.rain_shares, "full_shares": fairness.full_shares,
        "weights": fairness.weights, "full_weights": fairness.full_weights, "hold": fairness.hold,
        "ablation": ablation, "utilisation": utilisation, "sensitivity": sensitivity,
        "beyond": beyond, "choice": choice.choice, "loads": told.loads, "orders": told.orders}


def main(options):
    for row in options.rows:
        if row not in ROWS:
            raise SystemExit(f"there is no row {row}; allowed: {', '.join(ROWS)}")
    bed = Bed(options.sim, options.jobs, options.keep)
    options.numbers = seeds_of(options)
    for name in options.rows or ROWS:
        print(f"\n## {name}: {ROWS[name].__doc__}\n")
        ROWS[name](bed, options)
        print(f"\n{caption(bed)}")
    return 0
