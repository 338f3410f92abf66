# SPDX-License-Identifier: Apache-2.0
"""The papers' rows about one GPU and one node, beside the printed numbers."""

import os
import random
import subprocess

from bed import Bed, GROUP_A, GROUP_B, PAIRS, closed, geometric, interval, mean, scenario, speedup

# Calibrated on GRR-Rain / CUDA alone, then frozen.
ALPHA = 0.5
ALPHA_TARGET = "GRR-Rain / CUDA = 2.16 (Strings, Fig. 9; not reached: the nearest alpha)"
FORWARD = {"run.forward": "20us"}
# Within the usual ranges (epoch 20 to 500 ms, slice 2 to 50 ms). A turn is held through pauses of
# up to 20 ms, since a round of MC computes 9 ms on the CPU.
TURNS = {"policy.epoch": "100ms", "policy.slice": "50ms", "policy.hold": "20ms"}
# The defaults of keys with these names (check.py compares), and what is no key.
DEFAULTS = {"rounds": "100", "h2d_part": "0.7", "threads": "12", "context_time": "150ms",
            "switch_time": "25us", "context_slice": "none", "pinned": "yes"}
ASSUMED = {"run times": "A 30 s, B 6 s, BS 3 s", "kernels fill": "1, EV 0.5, GA 0.1", **DEFAULTS,
           **FORWARD, **TURNS}

CUDA = {"run.isolation": "app", "run.balance": "first", "run.policy": "none"}
RAIN = {"run.isolation": "app", "run.balance": "grr_node", **FORWARD}
STRINGS = {"run.isolation": "packed", "run.balance": "grr_node", **FORWARD}


def arguments(parser):
    parser.add_argument("--quick", action="store_true", help="few seeds and pairs, short runs")
    parser.add_argument("--seeds", type=int, default=30, metavar="N", help="seeds of each run (30)")
    parser.add_argument("--out", help="a folder for the pictures")
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"of {', '.join(ROWS)} (all)")


def seeds_of(options):
    return range(1, 3 if options.quick else options.seeds + 1)


def caption(bed, options):
    """What every number depends on."""
    digest = bed.one((scenario({"GA": {"app": "GA", "alpha": 1, "requests": 1}}), {}, 1,
                      None))["model"]
    assumed = ", ".join(f"{key} {value}" for key, value in ASSUMED.items())
    return (f"alpha {ALPHA}, calibrated on {ALPHA_TARGET}; constants {digest}; "
            f"{len(seeds_of(options))} seeds; assumed: {assumed}")


def alone(alpha, requests):
    return {app: scenario({app: {"app": app, "alpha": alpha, "requests": requests}}, "node")
            for app in GROUP_A + GROUP_B}


def single(bed, options):
    """Strings, Fig. 9; Rain, Fig. 5: each application alone as a stream to a node of two GPUs."""
    seeds = seeds_of(options)
    requests = 20 if options.quick else 60
    print("| alpha | GRR-Rain / CUDA | GRR-Strings / CUDA | by application (Rain; Strings) |\n"
          "|---|---|---|---|")
    for alpha in (0.5,) if options.quick else (0.2, 0.35, 0.5, 0.7, 1, 1.5, 2):
        texts = alone(alpha, requests)
        runs = bed.all([(texts[app], settings, seed, None) for app in texts for seed in seeds
                        for settings in (CUDA, RAIN, STRINGS)])
        found = {}
        for i, app in enumerate(texts):
            of_app = runs[i * 3 * len(seeds):(i + 1) * 3 * len(seeds)]
            found[app] = [mean(speedup(of_app[k + j], of_app[k]) for k in
                               range(0, len(of_app), 3)) for j in (1, 2)]
        rain, strings = ([found[app][j] for app in texts] for j in (0, 1))
        each = ", ".join(f"{app} {found[app][0]:.2f}; {found[app][1]:.2f}" for app in texts)
        print(f"| {alpha} | {mean(rain):.3f} | {mean(strings):.3f} | {each} |", flush=True)
    print("\nStrings prints 2.16 and 3.10, Rain 1.57. The curve is not monotone, and no alpha "
          "reaches 2.16 with 12 server threads: when requests pile up, the threads are the queue, "
          "and both systems have the same.")


def entitled(demands, weights):
    """Max-min: who asks for less than his part gets that, and the rest is divided again."""
    left, parts = 1.0, {}
    while len(parts) < len(demands):
        rest = [i for i in range(len(demands)) if i not in parts]
        total = sum(weights[i] for i in rest)
        content = [i for i in rest if demands[i] <= left * weights[i] / total]
        for i in content or rest:
            parts[i] = demands[i] if content else left * weights[i] / total
        left -= sum(parts[i] for i in content)
        if not content:
            break
    return [parts[i] for i in range(len(demands))]


def jain(values):
    return sum(values) ** 2 / (len(values) * sum(v * v for v in values))


def demand_alone(bed):
    """Part of the time for which an application that is run again and again uses the GPU."""
    runs = bed.all([(scenario({app: {"app": app, "arrivals": "closed", "requests": 5}}),
                     {"run.warmup_percent": 0}, 1, None) for app in RUNTIME])
    return {app: run["tenants"][0]["service_s"] / run["end_s"] for app, run in zip(RUNTIME, runs)}


RUNTIME = GROUP_A + GROUP_B


def satisfied(run, demands, weights):
    """Jain of what each tenant attained of what it is entitled to."""
    parts = entitled(demands, weights)
    return jain([min(1.0, tenant["service_s"] / run["end_s"] / part)
                 for tenant, part in zip(run["tenants"], parts)])


SYSTEMS = {"CUDA": {"run.policy": "none", "run.isolation": "app"},
           "FS-Rain": {"run.policy": "fs", "run.isolation": "app"},
           "TFS-Rain": {"run.policy": "tfs", "run.isolation": "app"},
           "TFS-Strings": {"run.policy": "tfs", "run.isolation": "packed"}}


def shares(bed, options):
    """Strings, Fig. 11; Rain, Fig. 8: two tenants of equal weight on one GPU, each always has a
    request."""
    seeds = seeds_of(options)
    until = 300 if options.quick else 3000
    demands = demand_alone(bed)
    keys, runs = [], []
    for label, pair in PAIRS.items():
        for name, system in SYSTEMS.items():
            for seed in seeds:
                text, settings = closed(pair, until, seed)
                keys.append((label, name))
                runs.append((text, {**settings, **TURNS, **system}, seed, None))
    found = {}
    for (label, name), run in zip(keys, bed.all(runs)):
        metrics = run["metrics"]
        own = [demands[app] for app in PAIRS[label]]
        found.setdefault((label, name), []).append(
            (metrics["jain_share"], metrics["contended_share"], satisfied(run, own, [1, 1])))
    means = {key: [mean(value[i] or 0 for value in values) for i in range(3)]
             for key, values in found.items()}
    print("| pair | demands alone | backlogged | " + " | ".join(SYSTEMS) +
          " | max-min: " + " | ".join(SYSTEMS) + " |\n|" + "---|" * (3 + 2 * len(SYSTEMS)))
    heavy, excluded = [], []
    for label, pair in PAIRS.items():
        own = [demands[app] for app in pair]
        backlogged = min(means[label, name][1] for name in SYSTEMS)
        (excluded if backlogged < 0.05 else heavy if min(own) >= 0.4 else []).append(label)
        print(f"| {label} {pair[0]}-{pair[1]} | {own[0]:.2f} {own[1]:.2f} | {backlogged:.2f} | " +
              " | ".join(f"{means[label, name][0]:.4f}" for name in SYSTEMS) + " | " +
              " | ".join(f"{means[label, name][2]:.4f}" for name in SYSTEMS) + " |")
    print(f"\nExcluded (backlogged together for less than 5 %): {', '.join(excluded) or 'none'}.")
    for text, labels in (("all others", [p for p in PAIRS if p not in excluded]),
                         ("pairs that both ask for 40 % or more", heavy)):
        line = []
        for name in SYSTEMS:
            values = [means[label, name][0] for label in labels]
            line.append(f"{name} {mean(values):.4f} ({min(values):.4f} to {max(values):.4f})")
        print(f"J_share, {text} ({len(labels)}): {'; '.join(line)}.")
    line = []
    for name in SYSTEMS:
        values = [means[label, name][2] for label in PAIRS]
        line.append(f"{name} {mean(values):.4f} ({min(values):.4f} to {max(values):.4f})")
    print(f"By what max-min entitles each to, all 24: {'; '.join(line)}.")
    print("\nThe papers print TFS 0.91 on average and 0.9999 at best, CUDA 0.805 (Strings); TFS "
          "0.96, FS 0.807, CUDA 0.671 (Rain). An application that asks for 1 or 2 % of a GPU "
          "cannot attain half of it, so its J_share stays near 0.5 under every policy that lets "
          "kernels end; the papers do not say how they counted such pairs.")


def weights(bed, options):
    """Rain, Fig. 9: random weights, TFS against FS."""
    draw = random.Random(9)
    chosen = [draw.randrange(1, 10) for _ in range(3 if options.quick else 20)]
    labels = ["N"] if options.quick else ["B", "J", "N", "R", "V"]
    keys, runs = [], []
    for label in labels:
        for weight in chosen:
            text, settings = closed(PAIRS[label], 300 if options.quick else 1500, weight)
            first, second = PAIRS[label]
            for name in ("FS-Rain", "TFS-Rain"):
                keys.append((label, weight, name))
                runs.append((text, {**settings, **TURNS, **SYSTEMS[name],
                                    f"stream.{first}.weight": weight,
                                    f"stream.{second}.weight": 10 - weight}, 1, None))
    found = {key: run["metrics"]["jain_share"] for key, run in zip(keys, bed.all(runs))}
    print("| pair | FS | TFS | TFS / FS |\n|---|---|---|---|")
    every = []
    for label in labels:
        fs, tfs = ([found[label, weight, name] for weight in chosen]
                   for name in ("FS-Rain", "TFS-Rain"))
        every += [t / f for t, f in zip(tfs, fs)]
        print(f"| {label} {'-'.join(PAIRS[label])} | {mean(fs):.4f} | {mean(tfs):.4f} | "
              f"{mean(t / f for t, f in zip(tfs, fs)):.4f} |")
    low, high = interval(every)
    print(f"\nTFS / FS {mean(every):.4f} [{low:.4f}, {high:.4f}]; Rain prints 1.293. Weights "
          f"{', '.join(f'{w / 10}:{1 - w / 10:.1f}' for w in chosen)}.")


def ablation(bed, options):
    """LAS and PS against no policy, with the same isolation and the same two GPUs."""
    seeds = seeds_of(options)
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
                    runs.append((scenario(streams, "node"), {**base, "run.policy": policy}, seed,
                                 None))
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
                            "run.pinned=no"], check=True)
            with open(path, encoding="utf-8") as file:
                run = bed.one((file.read(), {"run.isolation": isolation, "run.pinned": "no"}, 1,
                               None))
            gpu = run["gpus"][0]
            use = [max(bins) for bins in zip(*(gpu["use"][e] for e in ("compute", "h2d", "d2h")))]
            variance = mean(u * u for u in use) - mean(use) ** 2
            part = [gpu[f"{e}_busy_s"] / run["end_s"] for e in ("compute", "h2d", "d2h")]
            print(f"| {app} | {isolation} | {part[0]:.4f} | {part[1]:.4f} | {part[2]:.4f} | "
                  f"{gpu['idle_s'] / run['end_s']:.4f} | {gpu['idle_gaps_over_1ms']} | "
                  f"{variance:.5f} | {run['end_s']:.2f} |")
    print(f"\nPictures: {folder}/utilisation-*.svg.")


def sensitivity(bed, options):
    """What +-20 % of each assumed parameter does to J_share of TFS and to S of packing, pair N."""
    changes = {"gpu.0.switch_time": ("20us", "30us"), "gpu.0.context_time": ("120ms", "180ms"),
               "policy.epoch": ("80ms", "120ms"), "policy.slice": ("40ms", "60ms"),
               "policy.hold": ("16ms", "24ms"), "app.MC.rounds": (80, 120),
               "app.MM.rounds": (80, 120), "app.MC.h2d_part": (0.56, 0.84),
               "app.MC.runtime": ("4800ms", "7200ms"), "app.MM.runtime": ("24s", "36s")}
    text, settings = closed(PAIRS["N"], 300 if options.quick else 1500, 1)
    open_text = scenario({"MM": {"app": "MM", "alpha": 1, "requests": 30},
                          "MC": {"app": "MC", "alpha": 2, "requests": 60}})

    def both(change):
        packed, contexts = ({"run.isolation": isolation, **{key: value for key, value in
                            change.items() if not key.startswith("policy")}}
                            for isolation in ("packed", "app"))
        runs = bed.all([(text, {**settings, **TURNS, **SYSTEMS["TFS-Rain"], **change}, 1, None),
                        (open_text, packed, 1, None), (open_text, contexts, 1, None)])
        return runs[0]["metrics"]["jain_share"], speedup(runs[1], runs[2])

    share, gain = both({})
    print(f"| parameter | J_share of TFS-Rain ({share:.4f}) | S of packing ({gain:.3f}) |\n"
          "|---|---|---|")
    for key, values in changes.items():
        found = [both({key: value}) for value in values]
        print(f"| {key} {values[0]}, {values[1]} | {found[0][0]:.4f}, {found[1][0]:.4f} | "
              f"{found[0][1]:.3f}, {found[1][1]:.3f} |", flush=True)


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


ROWS = {"single": single, "shares": shares, "weights": weights, "ablation": ablation,
        "utilisation": utilisation, "sensitivity": sensitivity,
        "beyond": beyond}


def main(options):
    for row in options.rows:
        if row not in ROWS:
            raise SystemExit(f"there is no row {row}; allowed: {', '.join(ROWS)}")
    bed = Bed(options.sim)
    for name in options.rows or ROWS:
        print(f"\n## {name}: {ROWS[name].__doc__}\n")
        ROWS[name](bed, options)
        print(f"\n{caption(bed, options)}")
    return 0
