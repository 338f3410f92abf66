# SPDX-License-Identifier: Apache-2.0
"""Fairness between two tenants on one GPU, each of which always has a request, or many.

The papers' requests are served by a finite number of threads, and queue up when there are more; TFS
promises shares "under high system load" (Strings, IV-B2). They do not say how many requests of a
tenant were in service when they measured fairness. One: a tenant is backlogged as long as its
program uses the GPU, and one that asks for less than half can not attain half. All threads of the
node: it is backlogged as long as the processors bring its requests forward."""

import random

from bed import (GROUP_A, GROUP_B, PAIRS, RAIN_APPS, RAIN_PAIRS, closed, interval, mean, scenario)

# Within the usual ranges (epoch 20 to 500 ms, slice 2 to 50 ms). A turn is held through pauses of
# up to 20 ms, since a round of MC computes 9 ms on the CPU; the row `hold` shows other values.
TURNS = {"policy.epoch": "100ms", "policy.slice": "50ms", "policy.hold": "20ms"}
SYSTEMS = {"CUDA": {"run.policy": "none", "run.isolation": "app"},
           "FS-Rain": {"run.policy": "fs", "run.isolation": "app"},
           "TFS-Rain": {"run.policy": "tfs", "run.isolation": "app"},
           "TFS-Strings": {"run.policy": "tfs", "run.isolation": "packed"}}
THREADS = 32  # of each tenant: half of the node's, with which the speedups are calibrated
HOLDS = ("500us", "5ms", "20ms", "25ms", "40ms", "65ms", "100ms")


def entitled(demands, weights):
    """Max-min: a tenant that asks for less than its part gets that, and the rest is divided
    again."""
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


def demands_alone(bed, apps, count=1):
    """Part of the time for which an application uses the GPU if nobody else does, with so many
    requests at a time, each of which is run again and again."""
    runs = bed.all([(scenario({app: {"app": app, "arrivals": "closed", "requests": 5,
                                     "count": count}}),
                     {"run.warmup_percent": 0, "node.0.threads": count}, 1, None) for app in apps])
    return {app: run["tenants"][0]["service_s"] / run["end_s"] for app, run in zip(apps, runs)}


def figures(run, demands):
    """J_share, part of the run when both had an operation waiting or running, Jain's index of what
    each attained of what max-min entitles it to, J_slow, part of the time that the GPU served."""
    parts = entitled(demands, [1] * len(demands))
    served = [tenant["service_s"] / run["end_s"] for tenant in run["tenants"]]
    metrics = run["metrics"]
    return (metrics["jain_share"] or 0, metrics["contended_share"],
            jain([min(1.0, got / part) for got, part in zip(served, parts)]),
            metrics["jain_slow"], sum(served))


def measured(bed, pairs, demands, systems, seeds, until_s, count=1):
    """(pair, system) -> the figures, each the mean over the seeds."""
    keys, runs = [], []
    for label, pair in pairs.items():
        for name, system in systems.items():
            for seed in seeds:
                text, settings = closed(pair, until_s, seed, count)
                keys.append((label, name))
                runs.append((text, {**settings, **TURNS, **system}, seed, None))
    found = {}
    for (label, name), run in zip(keys, bed.all(runs)):
        found.setdefault((label, name), []).append(
            figures(run, [demands[app] for app in pairs[label]]))
    return {key: [mean(column) for column in zip(*rows)] for key, rows in found.items()}


def ranges(found, labels, systems, column):
    line = []
    for name in systems:
        values = [found[label, name][column] for label in labels]
        line.append(f"{name} {mean(values):.4f} ({min(values):.4f} to {max(values):.4f})")
    return "; ".join(line)


def shared_out(found, pairs, systems):
    """Pairs that are backlogged together for less than 5 % of the time are excluded."""
    return [label for label in pairs if min(found[label, name][1] for name in systems) >= 0.05]


def heavy(pairs, demands):
    return [label for label, pair in pairs.items() if min(demands[app] for app in pair) >= 0.4]


def table(bed, apps, pairs, seeds, until_s, count=1):
    """With several requests at a time only J_share is told: the others are of whole runs, and at
    the end of such a run one tenant's last requests have the GPU for themselves for long."""
    demands = demands_alone(bed, apps, count)
    found = measured(bed, pairs, demands, SYSTEMS, seeds, until_s, count)
    print("| pair | demands alone | backlogged | " + " | ".join(SYSTEMS) +
          (" | max-min: " + " | ".join(SYSTEMS) if count == 1 else "") + " |\n|" +
          "---|" * (3 + len(SYSTEMS) * (2 if count == 1 else 1)))
    for label, pair in pairs.items():
        backlogged = min(found[label, name][1] for name in SYSTEMS)
        columns = [found[label, name][i] for i in ((0, 2) if count == 1 else (0,))
                   for name in SYSTEMS]
        print(f"| {label} {pair[0]}-{pair[1]} | " +
              " ".join(f"{demands[app]:.2f}" for app in pair) + f" | {backlogged:.2f} | " +
              " | ".join(f"{value:.4f}" for value in columns) + " |")
    labels = shared_out(found, pairs, SYSTEMS)
    big = [label for label in heavy(pairs, demands) if label in labels]
    excluded = [label for label in pairs if label not in labels]
    print(f"\nExcluded (backlogged together for less than 5 %): {', '.join(excluded) or 'none'}.")
    print(f"J_share, all others ({len(labels)}): {ranges(found, labels, SYSTEMS, 0)}.")
    print(f"J_share, pairs that both ask for 40 % or more ({len(big)}): "
          f"{ranges(found, big, SYSTEMS, 0)}.")
    if count > 1:
        return
    print(f"By what max-min entitles each to, all {len(pairs)}: "
          f"{ranges(found, pairs, SYSTEMS, 2)}.")
    print(f"J_slow (of T_shared/T_alone), all {len(pairs)}: {ranges(found, pairs, SYSTEMS, 3)}.")
    print(f"Part of the time that the GPU served, all {len(pairs)}: "
          f"{ranges(found, pairs, SYSTEMS, 4)}.")


def shares(bed, options):
    """Strings, Fig. 11: two tenants of equal weight on one GPU."""
    table(bed, GROUP_A + GROUP_B, PAIRS, options.numbers, 300 if options.quick else 3000)
    print("\nStrings prints TFS-Strings 0.91 (best 0.9999), TFS-Rain 0.849, CUDA 0.805. An "
          "application that asks for 1 or 2 % of a GPU cannot attain half of it, so its J_share "
          "stays near 0.5 under every policy that lets kernels end; the paper does not say how it "
          "counted such pairs.")


def rain_shares(bed, options):
    """Rain, Fig. 8: the same with Rain's applications, whose kernels are shorter."""
    table(bed, list(RAIN_APPS), RAIN_PAIRS, options.numbers, 300 if options.quick else 2000)
    print("\nRain prints TFS 0.96 (best 0.9999), FS 0.807, CUDA 0.671.")


def full_shares(bed, options):
    """TFS with all server threads busy: 32 requests of each tenant at a time."""
    for apps, pairs in ((GROUP_A + GROUP_B, PAIRS), (list(RAIN_APPS), RAIN_PAIRS)):
        pairs = {"N": pairs["N"]} if options.quick else pairs
        table(bed, apps, pairs, options.numbers, 300, THREADS)
        print()
    print("Strings prints TFS-Strings 0.91, TFS-Rain 0.849, CUDA 0.805; Rain prints TFS 0.96, FS "
          "0.807, CUDA 0.671. Applications that compute for 98 % of their time cannot bring "
          "forward work for half of the GPU on 12 processors.")


def weights(bed, options, count=1):
    """Rain, Fig. 9: random weights, TFS against FS."""
    draw = random.Random(9)
    chosen = [draw.randrange(1, 10) for _ in options.numbers]
    demands = demands_alone(bed, list(RAIN_APPS), count)
    labels = ["L"] if options.quick else list(RAIN_PAIRS)
    until_s = 300 if options.quick or count > 1 else 2000
    keys, runs = [], []
    for seed, weight in zip(options.numbers, chosen):
        for label in labels:
            text, settings = closed(RAIN_PAIRS[label], until_s, seed, count)
            first, second = RAIN_PAIRS[label]
            for name in ("FS-Rain", "TFS-Rain"):
                keys.append((label, seed, name))
                runs.append((text, {**settings, **TURNS, **SYSTEMS[name],
                                    f"stream.{first}.weight": weight,
                                    f"stream.{second}.weight": 10 - weight}, seed, None))
    found = {key: run["metrics"] for key, run in zip(keys, bed.all(runs))}
    print("| pair | FS | TFS | TFS / FS |\n|---|---|---|---|")
    ratios = {}
    for label in labels:
        fs, tfs = ([found[label, seed, name]["jain_share"] for seed in options.numbers]
                   for name in ("FS-Rain", "TFS-Rain"))
        ratios[label] = [t / f for t, f in zip(tfs, fs)]
        print(f"| {label} {'-'.join(RAIN_PAIRS[label])} | {mean(fs):.4f} | {mean(tfs):.4f} | "
              f"{mean(ratios[label]):.4f} |")
    print()
    big = [label for label in heavy(RAIN_PAIRS, demands) if label in labels]
    for text, some in (("all", labels), ("pairs that both ask for 40 % or more", big)):
        by_seed = [mean(column) for column in zip(*(ratios[label] for label in some))]
        low, high = interval(by_seed)
        print(f"TFS / FS, {text} ({len(some)}): {mean(by_seed):.4f} [{low:.4f}, {high:.4f}].")
    print(f"Rain prints 1.293. Each seed has its own weights: "
          f"{', '.join(f'{w / 10}:{1 - w / 10:.1f}' for w in chosen)}.")


def full_weights(bed, options):
    """The weights with all server threads busy: 32 requests of each tenant at a time."""
    weights(bed, options, THREADS)


def hold(bed, options):
    """Gain and cost of holding a turn through a pause (Strings' pairs)."""
    pairs = {"N": PAIRS["N"]} if options.quick else PAIRS
    demands = demands_alone(bed, GROUP_A + GROUP_B)
    systems = {f"{name} {time}": {**SYSTEMS[name], "policy.hold": time}
               for time in HOLDS for name in ("FS-Rain", "TFS-Rain")}
    systems = {"CUDA -": SYSTEMS["CUDA"], **systems}
    seeds = options.numbers[:5]
    found = measured(bed, pairs, demands, systems, seeds, 300 if options.quick else 1500)
    big = heavy(pairs, demands)
    print("| system | hold | J_share, both ask for 40 % | max-min, all | worst | J_slow, all | "
          "GPU served |\n" + "|---" * 7 + "|")
    for name in systems:
        columns = [[found[label, name][i] for label in pairs] for i in range(5)]
        print(f"| {' | '.join(name.split())} | "
              f"{mean(found[label, name][0] for label in big):.4f} | {mean(columns[2]):.4f} | "
              f"{min(columns[2]):.4f} | {mean(columns[3]):.4f} | {mean(columns[4]):.4f} |")
    print(f"\n{len(seeds)} seeds.")
