# SPDX-License-Identifier: Apache-2.0
"""./dev bench sched: policies on a real gpuaasd against the simulator's prediction.

    ./dev bench sched --predict FILE [--mixes A,N|all] [--policies rr,tfs] [--seeds N] [--scale S]
    ./dev bench sched --against FILE --out FILE
    ./dev bench sched --shares [--cases TEXT] [--holds 500us,50ms] [--seconds S] [--out FILE]

The first writes what the simulator predicts, from Strings' Table I and from what one program alone
takes for what cannot be scaled; the second replays the same requests on gpuaasd with software GPUs
that take time, and compares the mean completion time of each application. A run that was disturbed
is VOID, counts nowhere, and is done again a few times. The third compares what tenants get under
true fair share with the simulator's prediction and with what they are entitled to."""

import argparse
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import alone  # noqa: E402
import mixes  # noqa: E402
import real  # noqa: E402
import results  # noqa: E402
import tenant_shares  # noqa: E402

AROUND = [0.8, 0.9, 1.0, 1.1, 1.2]


def simulated(build, command, text, *more):
    with tempfile.NamedTemporaryFile("w", suffix=".ini") as file:
        file.write(text)
        file.flush()
        done = subprocess.run([build.path("bin", "gpuaas-sim"), command, file.name, *more],
                              capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return done.stdout


def drawn(build, mix, scale, requests, seed):
    """The requests of a mix, as a trace."""
    return simulated(build, "trace", mixes.scenario(mix, scale, requests), "--seed", str(seed))


def predicted(build, text, seed):
    """Application -> mean completion time of its requests, in seconds."""
    run = json.loads(simulated(build, "run", text, "--quiet", "--json", "-", "--seed", str(seed)))
    found = {}
    for stream in run["streams"]:
        found.setdefault(stream["name"].split("-")[0], []).append(stream["completion_mean_s"])
    return {app: results.mean(times) for app, times in found.items()}


def around(build, text_of, way, seed):
    """Under some policies a microsecond decides who waits for whom: the mean of some predictions
    with what was measured apart a little less and more, and their least and greatest."""
    found = [predicted(build, text_of({key: round(ns * by) for key, ns in way.items()}), seed)
             for by in AROUND]
    return {app: [results.mean(one[app] for one in found), min(one[app] for one in found),
                  max(one[app] for one in found)] for app in found[0]}


def predict_row(build, options, measured, mix, seed, policy):
    trace = drawn(build, mix, options.scale, options.requests, seed)
    apps = around(build, lambda way: mixes.requests(trace, mix, options.scale, policy, way),
                  measured["cuda" if policy == "cuda" else "daemon"], seed)
    return {"mix": mix, "seed": seed, "policy": policy,
            "completion_s": {app: of[0] for app, of in apps.items()},
            "range_s": {app: of[1:] for app, of in apps.items()}}


def predict(build, options):
    measured = alone.measure(build, options.scale, options.runs)
    return {"scale": options.scale, "requests": options.requests, "alpha": mixes.ALPHA,
            "gpus": mixes.GPUS, "rounds": mixes.ROUNDS, "alone": measured,
            "settings_ns": mixes.policy_times(options.scale),
            "rows": [predict_row(build, options, measured, mix, seed, policy)
                     for mix in options.mixes for seed in mixes.seeds(options.seeds)
                     for policy in options.policies]}


def written(path, what):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(what, file, indent=1)


def measure(build, prediction, row, first):
    scale, policy = prediction["scale"], row["policy"]
    trace = drawn(build, row["mix"], scale, prediction["requests"], row["seed"])
    programs = len(row["completion_s"]) * prediction["requests"]
    run = real.replay(build, trace, policy, scale, programs, first)
    row["void"] = run.verdict(mixes.phase_ns(row["mix"], scale))
    row["idle"] = round(run.idle, 3)
    row["late_turns_p99_us"] = round(run.late_turns_p99_ns() / 1000)
    row["measured_s"] = run.completions()
    row["ratio"] = {app: row["measured_s"][app] / seconds
                    for app, seconds in row["completion_s"].items()}
    if policy != "cuda":
        row["shares"], row["conserved"] = run.shares(), round(run.conserved(), 4)
    print(results.line_of(row), flush=True)


def compare(build, prediction, options):
    """Goes on with results that were stopped."""
    first = real.real_time if options.real_time else None
    for row in prediction["rows"]:
        if "measured_s" in row:
            continue
        for tries in range(1, options.tries + 1):
            row["tries"] = tries
            measure(build, prediction, row, first)
            if not row["void"]:
                break
        if options.out:
            written(options.out, prediction)
    prediction["gate"] = alone.gate_check(build, prediction["scale"],
                                          prediction["alone"]["daemon"], options.runs)
    return prediction


def arguments():
    parser = argparse.ArgumentParser(prog="./dev bench sched", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    way = parser.add_mutually_exclusive_group(required=True)
    way.add_argument("--predict", metavar="FILE", help="write the prediction")
    way.add_argument("--against", metavar="FILE",
                     help="a prediction that is compared with gpuaasd, or results of a run that "
                          "was stopped")
    way.add_argument("--shares", action="store_true", help="shares of tenants, on gpuaasd")
    way.add_argument("--show", metavar="FILE", help="the tables of results that were written")
    parser.add_argument("--out", metavar="FILE",
                        help="with --against and --shares: the results, as JSON")
    parser.add_argument("--cases", type=tenant_shares.cases, default=list(tenant_shares.CASES),
                        help="with --shares: those whose names contain this text")
    parser.add_argument("--holds", type=lambda t: t.split(","), default=tenant_shares.HOLDS,
                        help="with --shares: values of the key hold (%(default)s)")
    parser.add_argument("--seconds", type=float, default=tenant_shares.WINDOW_S,
                        help="with --shares: of a look (%(default)s)")
    parser.add_argument("--mixes", type=mixes.read, default=mixes.MIXES,
                        help="pairs of Strings, Fig. 10, or all (%(default)s)")
    parser.add_argument("--policies", type=lambda t: t.split(","), default=mixes.POLICIES,
                        help="(%(default)s)")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--runs", type=int, default=3,
                        help="of what is measured apart about turns (%(default)s)")
    parser.add_argument("--tries", type=int, default=3,
                        help="of a run that is VOID (%(default)s)")
    parser.add_argument("--real-time", action="store_true",
                        help="programs go before all others (needs root)")
    parser.add_argument("--requests", type=int, default=15, help="of each stream (%(default)s)")
    parser.add_argument("--scale", type=float, default=0.04, help="of all times (%(default)s)")
    for name in ("--build", "--kernels", "--sanitize", "--cuda"):
        parser.add_argument(name, required=True, help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    options = arguments()
    build = real.harness.Build(os.path.abspath(options.build), os.path.abspath(options.kernels),
                               options.sanitize, options.cuda)
    if options.shares:
        return 0 if tenant_shares.run(build, options) else 1
    if options.predict:
        written(options.predict, predict(build, options))
        return 0
    with open(options.show or options.against, encoding="utf-8") as file:
        done = json.load(file)
    if options.against:
        done = compare(build, done, options)
    if options.out:
        written(options.out, done)
    return 0 if results.told(done) else 1


if __name__ == "__main__":
    sys.exit(main())
