# SPDX-License-Identifier: Apache-2.0
"""What the policy `auto` chooses against each fixed policy, on one C2050."""

from bed import PAIRS, RAIN_PAIRS, mean, scenario, speedup

FIXED = ("none", "las", "tfs", "ps")
LOADS = (0.7, 1, 2)
BELOW = 0.95  # of the best fixed policy of the same case


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


def against_best(found, choose):
    """For each case, S of the policy that `choose` names by that of the best fixed one."""
    return [mean(of[choose(case)]) / max(mean(of[policy]) for policy in FIXED)
            for case, of in found.items()]


def best_for_all_loads(found):
    """Who knows which policy is best for this pair, whatever the load is."""
    def choose(case):
        same = [found[(*case[:2], alpha)] for alpha in LOADS]
        return max(FIXED, key=lambda policy: min(
            mean(of[policy]) / max(mean(of[other]) for other in FIXED) for of in same))
    return choose


def table(found):
    print("| isolation | alpha | " + " | ".join((*FIXED, "auto")) + " |\n" + "|---" * 7 + "|")
    for isolation in ("app", "packed"):
        for alpha in LOADS:
            some = [of for case, of in found.items() if case[1:] == (isolation, alpha)]
            print(f"| {isolation} | {alpha} | " + " | ".join(
                f"{mean(mean(of[policy]) for of in some):.3f}" for policy in (*FIXED, "auto")) +
                " |")
    print("\n| chosen | mean of S by that of the best fixed policy of the case | cases more than "
          "5 % below it | worst |\n|---|---|---|---|")
    rows = [(policy, lambda _, policy=policy: policy) for policy in (*FIXED, "auto")]
    for name, choose in (*rows, ("best for the pair, at all loads", best_for_all_loads(found))):
        values = against_best(found, choose)
        print(f"| {name} | {mean(values):.3f} | {sum(v < BELOW for v in values)} of "
              f"{len(values)} | {min(values):.3f} |")
    lucky = [mean(of[max(FIXED, key=lambda policy, of=of: of[policy][0])][1:]) /
             max(mean(of[policy][1:]) for policy in FIXED) for of in found.values()]
    print(f"| best of the very case with another seed | {mean(lucky):.3f} | "
          f"{sum(v < BELOW for v in lucky)} of {len(lucky)} | {min(lucky):.3f} |\n")


def choice(bed, options):
    """The policy chosen by the observed mix against each fixed one."""
    quick = options.quick
    print("The bounds of `auto` were chosen on Strings' pairs.\n")
    table(cases_run(bed, {"N": PAIRS["N"]} if quick else PAIRS, (1, 2, 3)))
    print("Nothing was chosen on Rain's pairs.\n")
    table(cases_run(bed, {"N": RAIN_PAIRS["N"]} if quick else RAIN_PAIRS, (11, 12)))
    print("20 requests of each application; three seeds, and two. Policies have their defaults.")
