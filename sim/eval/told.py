# SPDX-License-Identifier: Apache-2.0
"""The dependence of the headline figures on the load, the length of the run and pinned copies, and
the part of LAS' gain that any order has."""

from bed import GROUP_A, GROUP_B, PAIRS, interval, mean, scenario, speedup
from systems import ALPHA, CUDA, NODE, RAIN, STRINGS

ALPHAS = (0.6, 1, 1.5, 2, 3, 5)
REQUESTS = (60, 120, 240)
STEADY = 0.05  # S of the longest run differs by no more from that of the shortest one
SYSTEMS = {"Rain": RAIN, "Strings": STRINGS, "Strings, pageable": {**STRINGS, "run.pinned": "no"},
           "Rain, pinned": {**RAIN, "run.pinned": "yes"}}
ORDERED_AT = (ALPHA, 1.5)
PARTS = 12  # of a stream, each with a priority of its own
ORDERS = {"las, quantum 1 s": {"run.policy": "las", "policy.quantum": "1s"},
          "las, quantum 100 ms": {"run.policy": "las", "policy.quantum": "100ms"},
          "first come, first served": {"run.policy": "las_fcfs"},
          "round robin": {"run.policy": "rr"},
          "at random": {"run.policy": "priority", "policy.aging": "0s"}}


def loads(bed, options):
    """Strings, Fig. 9 over the load and the number of requests, with and without pinned copies."""
    seeds = options.numbers
    apps = ["MC", "BS"] if options.quick else GROUP_A + GROUP_B
    print("| alpha | requests | " + " | ".join(SYSTEMS) + " | the longest by the shortest |\n" +
          "|---" * (3 + len(SYSTEMS)) + "|")
    for alpha in (ALPHA, 5) if options.quick else ALPHAS:
        first = None
        for requests in REQUESTS[:2] if options.quick else REQUESTS:
            runs = iter(bed.all([
                (scenario({app: {"app": app, "alpha": alpha, "requests": requests}}, "node"),
                 {**system, **NODE}, seed, None)
                for app in apps for seed in seeds for system in (CUDA, *SYSTEMS.values())]))
            found = []
            for _ in apps:
                for _ in seeds:
                    cuda = next(runs)
                    found.append([speedup(next(runs), cuda) for _ in SYSTEMS])
            means = [mean(column) for column in zip(*found)]
            first = first or means
            ratios = [value / start for value, start in zip(means, first)]
            print(f"| {alpha} | {requests} | " + " | ".join(f"{value:.3f}" for value in means) +
                  " | " + ", ".join(f"{ratio:.2f}" for ratio in ratios) + " |", flush=True)
    print(f"\nWhere the last column is within {STEADY:.0%} of 1 the queue drains, and S does not "
          "depend on how long it is measured.")


def parted(pair, alpha, requests, seed, order):
    """A scenario in which each stream is PARTS streams of as many requests together."""
    streams = {}
    for number, app in enumerate(pair):
        for part in range(PARTS):
            keys = {"app": app, "alpha": alpha * PARTS, "requests": requests // PARTS,
                    "tenant": "all" if order == "first come, first served" else app}
            if order == "at random":
                keys["priority"] = (seed * 7919 + number * 104729 + part * 611953) % 1000
            streams[f"{app}-{part}"] = keys
    return scenario(streams, "node")


def parts_speedup(run, cuda):
    """S of the two applications; all parts have as many requests."""
    def of(result, app):
        return mean(s["completion_mean_s"] for s in result["streams"]
                    if s["name"].rsplit("-", 1)[0] == app)
    apps = {s["name"].rsplit("-", 1)[0] for s in run["streams"]}
    return mean(of(cuda, app) / of(run, app) for app in apps)


def orders(bed, options):
    """LAS against orders that know nothing, contexts apart, one session at a time, two GPUs."""
    labels = ["N", "S"] if options.quick else list(PAIRS)
    requests = 24 if options.quick else 60
    keys = [(label, seed) for label in labels for seed in options.numbers]
    print("| alpha | order | S against no policy | interval | pairs below 1 | least |\n" +
          "|---" * 6 + "|")
    for alpha in ORDERED_AT:
        def runs_of(order, settings, alpha=alpha):
            return bed.all([(parted(PAIRS[label], alpha, requests, seed, order),
                             {**RAIN, **NODE, "run.warmup_percent": 0, **settings}, seed, None)
                            for label, seed in keys])
        cuda = runs_of("", {"run.policy": "none"})
        for order, settings in ORDERS.items():
            found = {key: parts_speedup(*runs)
                     for key, *runs in zip(keys, runs_of(order, settings), cuda)}
            pairs = [mean(found[label, seed] for seed in options.numbers) for label in labels]
            low, high = interval([mean(found[label, seed] for label in labels)
                                  for seed in options.numbers])
            print(f"| {alpha} | {order} | {mean(pairs):.3f} | [{low:.3f}, {high:.3f}] | "
                  f"{sum(value < 1 for value in pairs)} of {len(pairs)} | {min(pairs):.3f} |",
                  flush=True)
    print(f"\n{requests} requests of each application, in {PARTS} streams. First come, first "
          "served: las_fcfs with one tenant. At random: each of these streams has a priority at "
          "random, which stays.")
