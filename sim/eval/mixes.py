# SPDX-License-Identifier: Apache-2.0
"""The policy `auto` against the best fixed one, on random mixes of applications."""

import random
import statistics

from bed import Bed, mean, speedup

MODELS = ("c2050", "gtx1080ti", "a100")
ISOLATIONS = ("app", "packed")
FIXED = ("none", "las", "tfs", "ps", "las_fill")
FEWEST_REQUESTS = 12  # of a stream, on average
MOST_ROUNDS = 60000  # of a mix, on average; with more it is drawn again
MEDIAN, MOST, ALL = 0.99, 0.95, 0.85  # of the best: the median, 95 % of the mixes, all of them


def arguments(parser):
    parser.add_argument("--seed", default="1", metavar="TEXT", help="mixes are drawn from it (1)")
    parser.add_argument("--mixes", type=int, default=100, metavar="N",
                        help="of each model and isolation (100)")
    parser.add_argument("--jobs", type=int, metavar="N", help="runs at a time (processors)")
    parser.add_argument("--keep", metavar="FOLDER",
                        help="results of runs are kept there, and taken from there")
    parser.add_argument("--show", metavar="MODEL/ISOLATION/NUMBER",
                        help="only print this mix, as a scenario")


def between(draw, least, most):
    """Evenly by the logarithm."""
    return least * (most / least) ** draw.random()


def drawn(draw):
    """Applications, their streams, and for how long requests begin."""
    count = draw.randint(2, 4)
    load = draw.uniform(0.3, 1.1)  # of one operation at a time
    parts = [draw.expovariate(1) + 0.2 for _ in range(count)]
    apps = []
    for part in parts:
        share = draw.uniform(0.1, 1)
        apps.append({"runtime": round(between(draw, 0.5, 20), 3), "gpu_share": round(share, 3),
                     "transfer_share": round(draw.uniform(0, 0.9), 3),
                     "h2d_part": round(draw.uniform(0.2, 0.8), 3),
                     "rounds": round(between(draw, 2, 500)),
                     "places": 1 if draw.random() < 0.5 else round(draw.uniform(0.1, 1), 3),
                     "alpha": round(share / (load * part / sum(parts)), 4)})
    return apps, max(app["alpha"] * app["runtime"] for app in apps) * FEWEST_REQUESTS


def scenario_of(seed, name):
    """The mix of the name MODEL/ISOLATION/NUMBER."""
    model, isolation, _ = name.split("/")
    draw = random.Random(f"{seed}/{name}")
    while True:
        apps, until = drawn(draw)
        rounds = sum(until / (app["alpha"] * app["runtime"]) * app["rounds"] for app in apps)
        if rounds <= MOST_ROUNDS:
            break
    lines = ["[run]", f"isolation = {isolation}", f"until = {round(until * 1000)}ms", "[node.0]",
             "threads = 0", "[gpu.0]", f"model = {model}"]
    for number, app in enumerate(apps):
        lines += [f"[app.{number}]", f"reference = {model}",
                  f"runtime = {round(app['runtime'] * 1000)}ms"]
        lines += [f"{key} = {app[key]}"
                  for key in ("gpu_share", "transfer_share", "h2d_part", "rounds", "places")]
        lines += [f"[stream.{number}]", f"app = {number}", f"alpha = {app['alpha']}",
                  "requests = 0"]
    return "\n".join(lines) + "\n"


def seed_of(name):
    """The seed of the arrivals of a mix."""
    return int(name.rsplit("/", 1)[1]) + 1


def completion(run):
    """Mean over all requests."""
    counted = [s for s in run["streams"] if s["counted"]]
    return (sum(s["completion_mean_s"] * s["counted"] for s in counted) /
            sum(s["counted"] for s in counted))


def compared(bed, seed, names):
    """Name -> of `auto`: S by the greatest S of a fixed policy, that policy, and the least mean
    completion time of a fixed policy by that of auto."""
    policies = (*FIXED, "auto")
    runs = bed.all([(scenario_of(seed, name), {"run.policy": policy}, seed_of(name), None)
                    for name in names for policy in policies])
    found = {}
    for i, name in enumerate(names):
        of = dict(zip(policies, runs[i * len(policies):]))
        gains = {policy: speedup(of[policy], of["none"]) for policy in policies}
        best = max(FIXED, key=gains.get)
        found[name] = (gains["auto"] / gains[best], best,
                       min(completion(of[policy]) for policy in FIXED) / completion(of["auto"]))
    return found


def row(bed, options, model, isolation):
    """Prints it; whether the median and most of the mixes are where they should be."""
    found = compared(bed, options.seed,
                     [f"{model}/{isolation}/{i}" for i in range(options.mixes)])
    by_s = sorted((value[0], name) for name, value in found.items())
    values = [value for value, _ in by_s]
    below = [sum(value < bound for value in values) for bound in (MEDIAN, MOST, ALL)]
    times = sorted(value[2] for value in found.values())
    last = by_s[0][1].rsplit("/", 1)[1]
    print(f"| {model} | {isolation} | {statistics.median(values):.4f} | {mean(values):.4f} | "
          f"{below[0]}, {below[1]}, {below[2]} | {values[0]:.3f} (mix {last}, "
          f"{found[by_s[0][1]][1]}) | {statistics.median(times):.4f}, "
          f"{sum(time < MOST for time in times)}, {times[0]:.3f} |", flush=True)
    return statistics.median(values) >= MEDIAN and below[1] <= max(1, options.mixes // 20)


def main(options):
    if options.show:
        print(scenario_of(options.seed, options.show), end="")
        return 0
    bed = Bed(options.sim, options.jobs, options.keep)
    print(f"S of `auto` by that of the best of {', '.join(FIXED)}; seed {options.seed}, "
          f"{options.mixes} mixes in each row.\n\n| GPU | isolation | median | mean | more than 1, "
          "5, 15 % behind | worst (best policy there) | by mean completion: median, more than 5 % "
          "behind, worst |\n" + "|---" * 7 + "|")
    good = [row(bed, options, model, isolation) for model in MODELS for isolation in ISOLATIONS]
    print(f"\nA mix: 2 to 4 applications of 0.5 to 20 s, 2 to 500 rounds, GPU share 0.1 to 1, of "
          f"that up to 0.9 copies, 0.2 to 0.8 of them to the GPU; half of the kernels fill it, the "
          f"others 0.1 to 1 of it. Requests arrive at random, with 0.3 to 1.1 of the GPU's time "
          f"in all, {FEWEST_REQUESTS} or more of each on average. No bound of server threads; "
          f"policies have their defaults.")
    return 0 if all(good) else 1
