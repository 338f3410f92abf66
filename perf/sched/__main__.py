# SPDX-License-Identifier: Apache-2.0
"""./dev bench sched: policies on a real gpuaasd against the simulator's prediction.

    ./dev bench sched --predict FILE [--mixes A,N] [--policies rr,tfs] [--seeds N] [--scale S]
    ./dev bench sched --against FILE --out FILE

The first writes what the simulator predicts, from Strings' Table I and from what one program alone
takes for what cannot be scaled; the second replays the same requests on gpuaasd with a software GPU
that takes time, and compares the mean completion time of each application. A run that was disturbed
is VOID and counts nowhere."""

import argparse
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import mixes  # noqa: E402
import real  # noqa: E402

AGREE = 0.15


def simulated(build, command, text, *more):
    with tempfile.NamedTemporaryFile("w", suffix=".ini") as file:
        file.write(text)
        file.flush()
        done = subprocess.run([build.path("bin", "gpuaas-sim"), command, file.name, *more],
                              capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return done.stdout


def predict(build, options):
    alone = real.measure_alone(build, options.scale)
    rows = []
    for mix in options.mixes:
        text = mixes.scenario(mix, options.scale, options.requests, alone)
        for seed in mixes.seeds(options.seeds):
            for policy in options.policies:
                run = json.loads(simulated(build, "run", text, "--quiet", "--json", "-", "--seed",
                                           str(seed), "--set", f"run.policy={policy}"))
                rows.append({"mix": mix, "seed": seed, "policy": policy,
                             "completion_s": {s["name"]: s["completion_mean_s"]
                                              for s in run["streams"]}})
    return {"scale": options.scale, "requests": options.requests, "alpha": mixes.ALPHA,
            "gpu": mixes.MODEL, "rounds": mixes.ROUNDS, "alone": alone, "rows": rows,
            "settings_ns": mixes.policy_times(options.scale)}


def compare(build, predicted):
    scale = predicted["scale"]
    for row in predicted["rows"]:
        text = mixes.scenario(row["mix"], scale, predicted["requests"])
        trace = simulated(build, "trace", text, "--seed", str(row["seed"]))
        lines, idle, told = real.replay(build, trace, mixes.configuration(scale, row["policy"]))
        row["idle"] = round(idle, 3)
        row["void"] = real.verdict(lines, idle, told)
        row["measured_s"] = real.completions(lines)
        row["ratio"] = {app: row["measured_s"][app] / seconds
                        for app, seconds in row["completion_s"].items()}
        row["agrees"] = all(abs(ratio - 1) <= AGREE for ratio in row["ratio"].values())
        print(line_of(row), flush=True)
    return predicted


def line_of(row):
    ratios = ", ".join(f"{app} {row['measured_s'][app]:.2f} s, {ratio:.2f} of the prediction"
                       for app, ratio in row["ratio"].items())
    word = "VOID" if row["void"] else "agrees" if row["agrees"] else "DIFFERS"
    return (f"{row['mix']} {row['policy']:5} seed {row['seed']:3}: {word}: {ratios}"
            + (f" ({row['void']})" if row["void"] else ""))


def arguments():
    parser = argparse.ArgumentParser(prog="./dev bench sched", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    way = parser.add_mutually_exclusive_group(required=True)
    way.add_argument("--predict", metavar="FILE", help="write the prediction")
    way.add_argument("--against", metavar="FILE", help="a prediction that is compared with gpuaasd")
    parser.add_argument("--out", metavar="FILE", help="with --against: the results, as JSON")
    parser.add_argument("--mixes", type=lambda t: t.split(","), default=mixes.MIXES,
                        help="pairs of Strings, Fig. 10 (%(default)s)")
    parser.add_argument("--policies", type=lambda t: t.split(","), default=mixes.POLICIES)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--requests", type=int, default=15, help="of each stream (%(default)s)")
    parser.add_argument("--scale", type=float, default=0.05, help="of all times (%(default)s)")
    for name in ("--build", "--kernels", "--sanitize", "--cuda"):
        parser.add_argument(name, required=True, help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    options = arguments()
    build = real.harness.Build(os.path.abspath(options.build), os.path.abspath(options.kernels),
                               options.sanitize, options.cuda)
    if options.predict:
        with open(options.predict, "w", encoding="utf-8") as file:
            json.dump(predict(build, options), file, indent=1)
        return 0
    with open(options.against, encoding="utf-8") as file:
        results = compare(build, json.load(file))
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
    counted = [row for row in results["rows"] if not row["void"]]
    print(f"{len(counted)} of {len(results['rows'])} runs count, "
          f"{sum(row['agrees'] for row in counted)} of these agree within {AGREE:.0%}")
    return 0 if all(row["agrees"] for row in counted) else 1


if __name__ == "__main__":
    sys.exit(main())
