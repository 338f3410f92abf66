# SPDX-License-Identifier: Apache-2.0
"""The papers' testbed as scenarios, and many runs of gpuaas-sim side by side.

A run is a scenario with a dictionary of settings ("section.key": value) over it; what comes back is
the JSON of docs/simulator.md."""

import concurrent.futures
import hashlib
import json
import math
import os
import random
import subprocess
import sys
import tempfile

import caption

GROUP_A = ["DC", "SC", "BO", "MM", "HI", "EV"]
GROUP_B = ["BS", "MC", "GA", "SN"]
RUNTIME_S = {"DC": 30, "SC": 30, "BO": 30, "MM": 30, "HI": 30, "EV": 30,
             "BS": 3, "MC": 6, "GA": 6, "SN": 6}
# Strings, Fig. 10: A = DC-BS ... X = EV-SN
PAIRS = {chr(ord("A") + i): (GROUP_A[i // 4], GROUP_B[i % 4]) for i in range(24)}

# Rain, Table 1: the kernel calls are the paper's (1,000 at most are kept, with as much time
# together). It prints no shares: they are those of the same program in Strings, and assumed for
# Transpose and BFS.
RAIN_LONG = {"BlackScholesLarge": {"table": "BS", "runtime": "70s", "rounds": 1000},
             "DXTC": {"table": "DC", "runtime": "70s", "rounds": 1000},
             "Histogram": {"table": "HI", "runtime": "70s", "rounds": 1000},
             "Eigenvalues": {"table": "EV", "runtime": "70s", "rounds": 3},
             "MatrixMultiplication": {"table": "MM", "runtime": "70s", "rounds": 1000}}
RAIN_SHORT = {"BlackScholesSmall": {"table": "BS", "runtime": "10s", "rounds": 1000},
              "MonteCarlo": {"table": "MC", "runtime": "10s", "rounds": 1000},
              "Transpose": {"runtime": "10s", "gpu_share": 0.5, "transfer_share": 0.3,
                            "rounds": 1000},
              "BFS": {"runtime": "10s", "gpu_share": 0.3, "transfer_share": 0.3, "rounds": 12},
              "Gaussian": {"table": "GA", "runtime": "5s", "rounds": 1000}}
RAIN_APPS = {**RAIN_LONG, **RAIN_SHORT}
# Rain, Fig. 6: A = BS-L with BS-S ... Y
RAIN_PAIRS = {chr(ord("A") + i): (list(RAIN_LONG)[i // 5], list(RAIN_SHORT)[i % 5])
              for i in range(25)}
MODELS = {"node": ["c2050", "quadro2000"], "one": ["c2050"], "equal": ["c2050", "c2050"]}


def scenario(streams, gpus="one", node=None):
    """A text: streams is {name: {key: value}}; each runs the application of its key app, of
    Strings, Table I, or Rain, Table 1."""
    lines = []
    for key, value in (node or {}).items():
        lines += ["[node.0]"] * (not lines) + [f"{key} = {value}"]
    for number, model in enumerate(MODELS[gpus]):
        lines += [f"[gpu.{number}]", "node = 0", f"model = {model}"]
    for app in sorted({keys["app"] for keys in streams.values()}):
        lines += [f"[app.{app}]"]
        keys = RAIN_APPS.get(app, {"table": app})
        lines += [f"{key} = {value}" for key, value in keys.items()]
    for name, keys in streams.items():
        lines += [f"[stream.{name}]"] + [f"{key} = {value}" for key, value in keys.items()]
    return "\n".join(lines) + "\n"


def closed(pair, until_s, seed, count=1):
    """Both applications run again whenever they have ended, `count` requests of each at a time. It
    is random when the second one begins."""
    draw = random.Random(f"{pair}/{seed}")
    streams = {app: {"app": app, "arrivals": "closed", "requests": 0, "count": count,
                     "start": f"{draw.randrange(0, 1000) if i else 0}ms"}
               for i, app in enumerate(pair)}
    return scenario(streams), {"run.until": f"{until_s}s", "run.warmup_percent": 0,
                               "node.0.threads": 2 * count}


class Bed:
    """Runs scenarios, as many at a time as there are processors.

    keep: a folder with what runs have given, a file for each, named for the program and its input.
    A run whose file exists is not repeated, so a long evaluation goes on where it was stopped."""

    def __init__(self, sim, jobs=None, keep=None):
        self.sim = sim
        self.jobs = jobs or os.cpu_count() or 1
        self.keep = keep
        self.done = []  # runs since the last caption
        if keep:
            os.makedirs(keep, exist_ok=True)
            with open(sim, "rb") as file:
                self.program = hashlib.sha256(file.read()).hexdigest()

    def keys(self):
        """All keys of scenarios with their defaults."""
        return subprocess.run([self.sim, "keys"], capture_output=True, text=True,
                              check=True).stdout

    def one(self, run):
        """run: (scenario text, settings, seed, baseline settings or None)"""
        self.done.append(run)
        if not self.keep:
            return json.loads(self.simulate(run))
        name = hashlib.sha256(json.dumps([self.program, *run]).encode()).hexdigest()
        path = os.path.join(self.keep, name + ".json")
        try:
            with open(path, encoding="utf-8") as file:
                return json.load(file)
        except FileNotFoundError:
            text = self.simulate(run)
        with open(f"{path}.{os.getpid()}", "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(file.name, path)
        return json.loads(text)

    def simulate(self, run):
        text, settings, seed, against = run
        with tempfile.NamedTemporaryFile("w", suffix=".ini") as file:
            file.write(text)
            file.flush()
            command = [self.sim, "run", file.name, "--quiet", "--json", "-", "--seed", str(seed)]
            for key, value in settings.items():
                command += ["--set", f"{key}={value}"]
            for key, value in (against or {}).items():
                command += ["--against", f"{key}={value}"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
        return done.stdout

    def caption(self):
        """Captions of all runs since the last one."""
        runs, self.done = self.done, []
        return caption.caption(runs, self.keys())

    def all(self, runs):
        """Tells a terminal how far it is."""
        found = []
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            for result in pool.map(self.one, runs):
                found.append(result)
                if sys.stderr.isatty():
                    print(f"\r{len(found)} of {len(runs)} runs ", end="", file=sys.stderr)
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr)
        return found


def mean(values):
    values = list(values)
    return sum(values) / len(values) if values else float("nan")


def geometric(values):
    values = [v for v in values if v > 0]
    return math.exp(mean(math.log(v) for v in values)) if values else float("nan")


def interval(values, rounds=2000):
    """The 95 % bootstrap interval of the mean; the sample is the seeds (or workloads)."""
    values = list(values)
    draw = random.Random(1)
    means = sorted(mean(draw.choices(values, k=len(values))) for _ in range(rounds))
    return means[int(rounds * 0.025)], means[int(rounds * 0.975)]


def speedup(policy, baseline):
    """S of one run against another with the same seed: the mean over applications of the mean
    completion time under the baseline by that under the policy."""
    return mean(b["completion_mean_s"] / p["completion_mean_s"]
                for p, b in zip(policy["streams"], baseline["streams"]) if p["counted"])
