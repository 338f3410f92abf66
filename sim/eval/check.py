# SPDX-License-Identifier: Apache-2.0
"""Checks that would reveal a model which gives something away. The numbers are those of the list
that the evaluation follows; what needs balancing policies is listed as pending."""

import json

import paper
from bed import Bed, PAIRS, closed, interval, mean, scenario, speedup
from rigged import RIGS, Rigged

POLICIES = ["none", "rr", "las", "fs", "tfs", "ps", "priority", "groups"]
PENDING = {6: "MBF and GWtMin", 7: "GScheduler", 8: "LL", 9: "EASY and LC-PA",
           10: "DCUDA's balancer", 12: "RTF and GUF"}


def arguments(parser):
    parser.add_argument("--quick", action="store_true", help="fewer requests and seeds")
    parser.add_argument("--rigged", action="store_true",
                        help="each check with a simulator that cheats; it must find that")


def stream(app, alpha, requests):
    return {"app": app, "alpha": alpha, "requests": requests}


def load_goes_to_nothing(bed, quick):
    """1: with hardly any load no policy matters; round robin over unequal GPUs loses."""
    requests = 20 if quick else 60
    text = scenario({"MM": stream("MM", 100, requests), "MC": stream("MC", 100, requests)})
    runs = bed.all([(text, {"run.policy": policy}, 1, None) for policy in POLICIES])
    ratios = [speedup(run, runs[0]) for run in runs]
    text = scenario({"MM": stream("MM", 100, requests)}, "node")
    grr = speedup(*bed.all([(text, {"run.balance": balance}, 1, None)
                            for balance in ("grr", "first")]))
    good = max(abs(ratio - 1) for ratio in ratios) <= 0.02 and grr < 1
    return good, f"policies {min(ratios):.4f} to {max(ratios):.4f}; GRR on unequal GPUs {grr:.4f}"


def utilisation_law(bed, quick):
    """2: the busy time of each engine is the work that was done there, whatever the policy; N = X R
    (Little)."""
    requests = 8 if quick else 60
    text = scenario({"MM": stream("MM", 1, requests), "MC": stream("MC", 2, requests)})
    runs = bed.all([(text, {"run.policy": policy, "run.isolation": isolation, "run.pinned": "no"},
                     3, None) for policy in POLICIES for isolation in ("app", "packed")])
    worst = 0
    for engine in ("compute_busy_s", "h2d_busy_s", "d2h_busy_s"):
        busy = [run["gpus"][0][engine] for run in runs]
        worst = max(worst, max(busy) / min(busy) - 1)
    little = max(abs(run["metrics"]["requests_s"] / run["metrics"]["completions_s"] - 1)
                 for run in runs)
    return worst < 1e-4 and little < 0.01, f"busy times differ by {worst:.1e}, Little {little:.1e}"


def capacity_bound(bed, quick):
    """3: no engine is busy for more than the run, and packing gains at most engines / fill."""
    text = "\n".join([
        "[run]", "warmup_percent = 0", "[gpu.0]", "model = c2050", "context_time = none",
        "switch_time = none", "[app.X]", "runtime = 1s", "gpu_share = 1", "transfer_share = 0.6",
        "rounds = 50", "[stream.X]", "app = X", "count = 12", "arrivals = once", "requests = 1\n"])
    gains = []
    for places in (1, 0.5) if quick else (1, 0.5, 0.25):
        app, packed = bed.all([
            (text, {"run.isolation": isolation, "run.pinned": "no", "app.X.places": places}, 1,
             None) for isolation in ("app", "packed")])
        gain = app["end_s"] / packed["end_s"]
        bound = 3 / places
        busy = max(packed["gpus"][0][f"{e}_busy_s"] for e in ("compute", "h2d", "d2h"))
        gains.append((places, gain, bound, busy <= packed["end_s"] * 1.0001))
    good = all(gain <= bound and within for _, gain, bound, within in gains)
    return good, "; ".join(f"fill {places}: gain {gain:.3f}, bound {bound:.0f}"
                           for places, gain, bound, _ in gains)


def light_gain_nothing(bed, quick):
    """4: GA and SN, which hardly use the GPU, gain what making contexts takes and no more."""
    requests = 20 if quick else 60
    found = []
    for app in ("GA", "SN"):
        text = scenario({app: stream(app, 0.5, requests)})
        free = {"gpu.0.context_time": "none"}
        packed, cuda = bed.all([(text, {**free, "run.isolation": isolation, "run.pinned": "no"}, 1,
                                 None) for isolation in ("packed", "app")])
        found.append((app, speedup(packed, cuda)))
    return all(abs(s - 1) < 0.01 for _, s in found), \
        "without context time " + ", ".join(f"{app} {s:.4f}" for app, s in found)


def packing_gains_by_overlap(bed, quick):
    """5: packed, with kernels that fill the GPU, nothing to copy and free switches, is as fast as
    one context for each; the gain of real applications comes from four sources."""
    requests = 8 if quick else 60
    free = {"gpu.0.context_time": "none", "gpu.0.switch_time": "none"}
    text = scenario({app: stream(app, 1.2, requests) for app in ("DC", "MM")})
    computing = {"app.DC.transfer_share": 0, "app.MM.transfer_share": 0, **free}
    rain = (text, {"run.isolation": "app", **computing}, 1, None)
    packed = (text, {"run.isolation": "packed", **computing}, 1, None)
    gain = speedup(*bed.all([packed, rain]))
    text = scenario({"MM": stream("MM", 1.2, requests), "MC": stream("MC", 2, requests),
                     "EV": stream("EV", 1.5, requests)})
    sources = {"all": {}, "no overlap": {"run.policy": "rr", "policy.hold": "0s"},
               "fill 1": {"app.EV.places": 1}, "free switches": {"gpu.0.switch_time": "none"},
               "free contexts": {"gpu.0.context_time": "none"}, "pageable": {"run.pinned": "no"}}
    texts = []
    for name, settings in sources.items():
        cuda = {key: value for key, value in settings.items() if key[:3] != "run"
                and key[:6] != "policy"}
        runs = bed.all([(text, {"run.isolation": "packed", **settings}, 1, None),
                        (text, {"run.isolation": "app", **cuda}, 1, None)])
        texts.append(f"{name} {speedup(*runs):.3f}")
    return gain <= 1.02, f"computing alone {gain:.4f}; packed against contexts: {', '.join(texts)}"


def fairness(bed, quick):
    """11: identical tenants share evenly; TFS is not below FS; it converges with kernels longer
    than its epoch; what was attained is the time that was not idle."""
    until = 100 if quick else 1000
    twins = "\n".join([
        "[gpu.0]", "model = c2050", "[app.X]", "table = MM", "[stream.A]", "app = X",
        "arrivals = closed", "requests = 0", "[stream.B]", "app = X", "arrivals = closed",
        "requests = 0\n"])
    same = bed.one((twins, {"run.until": f"{until}s"}, 1, None))["metrics"]["jain_share"]
    kernels = "\n".join([
        "[run]", "isolation = packed", f"until = {until}s", "[gpu.0]", "model = c2050", "[app.A]",
        "runtime = 20s", "gpu_share = 1", "rounds = {0}", "[app.B]", "runtime = 20s",
        "gpu_share = 1", "rounds = 2000", "[stream.A]", "app = A", "arrivals = closed",
        "requests = 0", "[stream.B]", "app = B", "arrivals = closed", "requests = 0\n"])
    fs, tfs, long, lone = bed.all([
        (kernels.format(285), {"run.policy": "fs"}, 1, None),
        (kernels.format(285), {"run.policy": "tfs"}, 1, None),
        (kernels.format(80), {"run.policy": "tfs"}, 1, None),
        (kernels.format(80), {"run.policy": "tfs", "stream.B.start": "1ms"}, 1, None)])
    jain = [run["metrics"]["jain_share"] for run in (fs, tfs, long)]
    gpu = lone["gpus"][0]
    attained = sum(tenant["service_s"] for tenant in lone["tenants"])
    law = attained / (lone["end_s"] - gpu["idle_s"])
    good = same > 0.99 and jain[1] >= jain[0] - 0.001 and jain[2] > 0.99 and abs(law - 1) < 0.01
    return good, (f"twins under CUDA {same:.4f}; FS {jain[0]:.6f}, TFS {jain[1]:.6f}, kernels of "
                  f"2.5 epochs {jain[2]:.6f}; attained / busy {law:.5f}")


def replay(bed, quick):
    """13: a seed is replayed exactly; other seeds stay within the interval; longer streams change
    ratios by less than it."""
    seeds = range(1, 6 if quick else 31)
    requests = 20 if quick else 60

    def ratios(count, numbers):
        text = scenario({"MM": stream("MM", 1.5, count), "MC": stream("MC", 2.5, count)})
        runs = bed.all([(text, {"run.policy": policy}, seed, None)
                        for seed in numbers for policy in ("ps", "tfs", "none")])
        return [speedup(runs[i], runs[i + 2]) for i in range(0, len(runs), 3)]

    text, settings = closed(PAIRS["N"], 100, 1)
    one, again = (json.dumps(bed.one((text, settings, 7, None))) for _ in range(2))
    found = ratios(requests, seeds)
    low, high = interval(found)
    others = mean(ratios(requests, range(1000, 1000 + len(seeds))))
    longer = mean(ratios(2 * requests, seeds))
    wide = max(high - low, 0.02)
    good = one == again and low - wide <= others <= high + wide and low - wide <= longer <= \
        high + wide
    return good, (f"S of PS {mean(found):.4f} [{low:.4f}, {high:.4f}], other seeds {others:.4f}, "
                  f"streams twice as long {longer:.4f}")


def captions(bed, quick):
    """14: captions name the calibrated scalar, and every parameter as the runs had it."""
    given = {"run.policy": "las", "run.pinned": "no", "policy.slice": "7ms", "policy.hold": "3ms",
             "policy.quantum": "2s", "policy.las_passed_max": "9", "node.0.threads": "5",
             "gpu.0.switch_time": "31us"}
    text = scenario({"GA": {"app": "GA", "alpha": 3, "requests": 2}})
    bed.done = []
    bed.all([(text, given, 3, None)] + ([] if quick else [(text, {}, 4, None)]))
    told = paper.caption(bed)
    keys = [line.split()[0] for line in bed.keys().partition("[gpu.N]")[0].splitlines()
            if line.startswith("  ") and not line.startswith("    ")]
    words = {}
    for part in told.replace(". [", ";").split(";"):
        values = 1 + part.count(",")
        if len(part.split()) > values:
            words[part.split()[-1 - values]] = part.replace(",", "").split()[-values:]
    missing = [key for key in keys if key not in words]
    wrong = [f"{key} {value}" for key, value in given.items()
             if value not in words.get(key.rpartition(".")[2], [])]
    # A key that is not set has the simulator's default.
    standard = [f"{key} {value}" for key, value in (("epoch", "100ms"), ("h2d_part", "0.7"))
                if value not in words.get(key, [])]
    return (not missing and not wrong and not standard and f"Alpha {paper.ALPHA} is" in told,
            f"missing: {missing or 'none'}; wrong: {wrong + standard or 'none'}")


CHECKS = {1: load_goes_to_nothing, 2: utilisation_law, 3: capacity_bound, 4: light_gain_nothing,
          5: packing_gains_by_overlap, 11: fairness, 13: replay,
          14: captions}


def rigged(options):
    """Whether each check finds what it is for."""
    missed = 0
    for number, check in CHECKS.items():
        good, text = check(Rigged(options.sim, number), options.quick)
        missed += good
        print(f"{number:3d} {'MISSED' if good else 'found'}  {RIGS[number].__doc__} {text}",
              flush=True)
    return 1 if missed else 0


def main(options):
    if options.rigged:
        return rigged(options)
    bed = Bed(options.sim)
    bad = 0
    for number, check in CHECKS.items():
        good, text = check(bed, options.quick)
        bad += not good
        print(f"{number:3d} {'holds' if good else 'FAILS'}  {check.__name__}: {text}", flush=True)
    for number, needs in PENDING.items():
        print(f"{number:3d} pending: needs {needs}, of the policies that choose a GPU")
    return 1 if bad else 0
