# SPDX-License-Identifier: Apache-2.0
"""Compares the choices of the policy `auto` with each fixed policy, on one C2050."""

from bed import PAIRS, RAIN_PAIRS, interval, mean, scenario, speedup

PAPERS = ("none", "las", "tfs", "ps")
OLDER = (*PAPERS, "las_fcfs")
FIXED = (*OLDER, "las_fill")
LOADS = (0.7, 1, 2)
BELOW = 0.95  # of the best fixed policy of the same case
SEEDS = range(501, 511)  # with others the rules of `auto` were chosen


def cases_run(bed, pairs, seeds):
    """(pair, isolation, alpha) -> policy -> S against no policy, for each seed."""
    keys, runs = [], []
    for label, pair in pairs.items():
        for isolation in ("app", "packed"):
            for alpha in LOADS:
                text = scenario({app: {"app": app, "alpha": alpha, "requests": 20}
                                 for app in pair})
                for seed in seeds:
                    for policy in (*FIXED, "auto"):
                        keys.append(((label, isolation, alpha), policy))
                        runs.append((text, {"run.isolation": isolation, "run.policy": policy,
                                            "node.0.threads": "64"}, seed, None))
    found = {}
    for (case, policy), run in zip(keys, bed.all(runs)):
        found.setdefault(case, {}).setdefault(policy, []).append(run)
    return {case: {policy: [speedup(*pair) for pair in zip(of[policy], of["none"])]
                   for policy in of} for case, of in found.items()}


def best_of(of, policies):
    """The policy with the greatest mean over the seeds."""
    return max(policies, key=lambda policy: mean(of[policy]))


def surely_below(of, chosen, best):
    """Whether even the upper end of the 95 % interval over seeds, which are paired, of S of the one
    less BELOW of S of the other is below 0."""
    return interval([a - BELOW * b for a, b in zip(of[chosen], of[best])], 500)[1] < 0


def choices(found, policies):
    """Name -> the policy that is chosen for a case."""
    def at_all_loads(case):
        same = [found[(*case[:2], alpha)] for alpha in LOADS]
        return max(policies, key=lambda policy: min(
            mean(of[policy]) / mean(of[best_of(of, policies)]) for of in same))
    rows = {policy: lambda _, policy=policy: policy for policy in (*FIXED, "auto")}
    return {**rows, "best for the pair, at all loads": at_all_loads}


def table(found):
    print("| isolation | alpha | " + " | ".join((*FIXED, "auto")) + " |\n" + "|---" * 9 + "|")
    for isolation in ("app", "packed"):
        for alpha in LOADS:
            some = [of for case, of in found.items() if case[1:] == (isolation, alpha)]
            print(f"| {isolation} | {alpha} | " + " | ".join(
                f"{mean(mean(of[policy]) for of in some):.3f}" for policy in (*FIXED, "auto")) +
                " |")
    for policies in (PAPERS, OLDER, FIXED):
        print(f"\nAgainst the best of {', '.join(policies)}:\n\n| chosen | mean of S by that of "
              "the best fixed policy of the case | cases more than 5 % below it | of them with "
              "the whole interval | worst |\n|---|---|---|---|---|")
        for name, choose in choices(found, policies).items():
            values = [(mean(of[choose(case)]) / mean(of[best_of(of, policies)]),
                       surely_below(of, choose(case), best_of(of, policies)), case)
                      for case, of in found.items()]
            missed = [row for row in values if row[0] < BELOW]
            print(f"| {name} | {mean(row[0] for row in values):.3f} | {len(missed)} of "
                  f"{len(values)} | {sum(row[1] for row in missed)} | {min(values)[0]:.3f} "
                  f"({' '.join(map(str, min(values)[2]))}) |")
        lucky = [mean(of[max(policies, key=lambda policy, of=of: of[policy][0])][1:]) /
                 max(mean(of[policy][1:]) for policy in policies) for of in found.values()]
        print(f"| best of the very case with one other seed | {mean(lucky):.3f} | "
              f"{sum(v < BELOW for v in lucky)} of {len(lucky)} | | {min(lucky):.3f} |\n")


def choice(bed, options):
    """The policy chosen by the observed mix against each fixed one."""
    for name, pairs in (("Strings", PAIRS), ("Rain", RAIN_PAIRS)):
        reported = {label: pair for i, (label, pair) in enumerate(pairs.items()) if i % 2 == 1}
        reported = {"N": pairs["N"]} if options.quick else reported
        print(f"{name}, pairs {' '.join(reported)}:\n")
        table(cases_run(bed, reported, SEEDS[:2] if options.quick else SEEDS))
    print("20 requests of each application; 10 seeds. The rules of `auto` were chosen on the other "
          "pairs (A, C, E ...), with other seeds. Policies have their defaults.")
