#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recomputes what gpuaas-sim tells from its log of events, and whether that log can be true: each
request does all of its work, and none of it in less time than it takes. Shares no code with the
simulator or the evaluation.

recount.py PROGRAM; with --rigged: with results that are not true, each of which must be found."""

import json
import os
import subprocess
import sys
import tempfile

NS = 1e9
CONTEXT_S = 0.15
# Run time s, GPU share, copies of that, copies to the GPU of those, rounds.
APPS = {"long": (3.0, 0.9, 0.4, 0.7, 30), "short": (0.4, 0.8, 0.3, 0.6, 10)}
REQUESTS = {"long": 12, "short": 80}
WARMUP = 0.1
ENGINES = ("h2d", "compute", "d2h")  # of a round, in this order

# Policy, isolation, arrivals: what is told of it
ROWS = {"S of LAS under load": ("las", "app", "open"), "J_share of TFS": ("tfs", "app", "closed"),
        "use of engines, packed": ("ps", "packed", "open")}


def scenario(arrivals):
    lines = ["[run]", "pinned = no", f"warmup_percent = {round(100 * WARMUP)}", "[node.0]",
             "threads = 0", "[gpu.0]", "model = c2050"]
    for name, (runtime, gpu, copies, h2d, rounds) in APPS.items():
        lines += [f"[app.{name}]", f"runtime = {round(runtime * 1000)}ms", f"gpu_share = {gpu}",
                  f"transfer_share = {copies}", f"h2d_part = {h2d}", f"rounds = {rounds}",
                  f"[stream.{name}]", f"app = {name}"]
        lines += (["arrivals = closed", "requests = 0", "count = 2"] if arrivals == "closed" else
                  [f"alpha = {1.6 if name == 'long' else 1.7}", f"requests = {REQUESTS[name]}"])
    if arrivals == "closed":
        lines.insert(1, "until = 20s")
    return "\n".join(lines) + "\n"


def simulate(program, folder, policy, isolation, arrivals):
    paths = [os.path.join(folder, name) for name in ("row.ini", "events", "result.json")]
    with open(paths[0], "w", encoding="utf-8") as file:
        file.write(scenario(arrivals))
    subprocess.run([program, "run", paths[0], "--quiet", "--seed", "5", "--set",
                    f"run.policy={policy}", "--set", f"run.isolation={isolation}", "--events",
                    paths[1], "--json", paths[2]], check=True)
    with open(paths[1], encoding="utf-8") as file:
        events = file.read().splitlines()
    with open(paths[2], encoding="utf-8") as file:
        return events, json.load(file)


def read(events):
    """Instances of streams, and requests: what happened to each, and when (s)."""
    assert events[0] == "gpuaas-events 1", events[0]
    streams, requests = {}, {}
    for line in events[1:]:
        words = line.split()
        if words[0] == "stream":
            streams[words[1]] = words[2]
            continue
        now = int(words[1]) / NS
        request = requests.setdefault(words[2], {"stream": streams[words[2].partition(".")[0]],
                                                 "number": int(words[2].partition(".")[2]),
                                                 "operations": []})
        if words[0] == "reach":
            request["operations"].append({"engine": words[4], "reach": now})
        elif words[0] == "end":
            request["operations"][-1].update({"start": int(words[5]) / NS, "end": now})
        else:
            request[words[0]] = now
    return requests


def work_of(stream):
    """The times of a round: CPU, and each engine."""
    runtime, gpu, copies, h2d, rounds = APPS[stream]
    on_gpu = runtime * gpu / rounds
    return {"cpu": runtime * (1 - gpu) / rounds, "h2d": on_gpu * copies * h2d,
            "compute": on_gpu * (1 - copies), "d2h": on_gpu * copies * (1 - h2d)}


def impossible(requests, isolation):
    """Lists events of the log that cannot be true."""
    wrong = set()
    for request in requests.values():
        work = work_of(request["stream"])
        rounds = APPS[request["stream"]][4]
        if [o["engine"] for o in request["operations"]] != list(ENGINES) * rounds:
            wrong.add(f"{request['stream']}: a request does not do its {rounds} rounds")
            continue
        free = request["begin"] + (CONTEXT_S if isolation == "app" else 0)
        for operation in request["operations"]:
            least = work["cpu"] if operation["engine"] == "h2d" else 0
            if operation["reach"] < free + 0.99 * least:
                wrong.add(f"{request['stream']}: the CPU is faster than it is")
            if operation["end"] - operation["start"] < 0.99 * work[operation["engine"]] or \
                    operation["start"] < operation["reach"] - 1e-9:
                wrong.add(f"{request['stream']}: {operation['engine']} takes less than it takes")
            free = operation["end"]
        if request["exit"] < free - 1e-9 or request["begin"] < request["arrive"]:
            wrong.add(f"{request['stream']}: a request leaves before its work is done")
    for engine in ENGINES:
        spans = sorted((o["start"], o["end"]) for request in requests.values()
                       for o in request["operations"] if o["engine"] == engine)
        if any(after[0] < before[1] - 2e-5 for before, after in zip(spans, spans[1:])):
            wrong.add(f"{engine} does two things at a time")
    return wrong


def joined(spans):
    found = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1][1] = max(end, found[-1][1])
        else:
            found.append([start, end])
    return found


def common(one, other):
    return sum(max(0.0, min(a[1], b[1]) - max(a[0], b[0])) for a in one for b in other)


def crossed(one, other):
    return [[max(a[0], b[0]), min(a[1], b[1])] for a in one for b in other
            if max(a[0], b[0]) < min(a[1], b[1])]


def completions(requests):
    """Mean completion of each stream, without the warm-up."""
    found = {}
    for request in requests.values():
        if request["number"] >= WARMUP * REQUESTS[request["stream"]]:
            found.setdefault(request["stream"], []).append(request["exit"] - request["arrive"])
    return {stream: sum(times) / len(times) for stream, times in found.items()}


def jain_share(requests):
    """Jain's index of what the two attained while both had an operation waiting or running."""
    def operations(stream):
        return [o for r in requests.values() if r["stream"] == stream for o in r["operations"]]
    both = crossed(*(joined((o["reach"], o["end"]) for o in operations(stream))
                     for stream in APPS))
    got = [sum(common([[o["start"], o["end"]]], both) for o in operations(stream))
           for stream in APPS]
    return sum(got) ** 2 / (2 * sum(value * value for value in got))


def busy(requests):
    return {engine: sum(end - start for start, end in joined(
        (o["start"], o["end"]) for r in requests.values() for o in r["operations"]
        if o["engine"] == engine)) for engine in ENGINES}


def differ(name, told, found, most):
    return set() if abs(told / found - 1) <= most else {f"{name}: told {told:.4f}, is {found:.4f}"}


def wrong_in(runs):
    """Lists errors in the rows; runs: of each row, and of LAS without a policy, (events, result).
    """
    wrong = set()
    found = {}
    for name, (events, _) in runs.items():
        found[name] = read(events)
        wrong |= {f"{name}: {what}" for what in
                  impossible(found[name], ROWS.get(name, ("", "app"))[1])}
    las, tfs, packed = ROWS
    arrivals = [{key: value["arrive"] for key, value in found[name].items()}
                for name in (las, "none")]
    if arrivals[0] != arrivals[1]:
        wrong.add(f"{las}: other requests than without a policy")
    for name in (las, "none", packed):
        mean = completions(found[name])
        for stream in runs[name][1]["streams"]:
            wrong |= differ(f"{name}: completion of {stream['name']}", stream["completion_mean_s"],
                            mean[stream["name"]], 1e-6)
    wrong |= differ(tfs, runs[tfs][1]["metrics"]["jain_share"], jain_share(found[tfs]), 2e-3)
    for engine, seconds in busy(found[packed]).items():
        wrong |= differ(f"{packed}: {engine}", runs[packed][1]["gpus"][0][f"{engine}_busy_s"],
                        seconds, 1e-4)
    return wrong


def las_told_faster(runs):
    """LAS is told to end requests a quarter earlier."""
    for stream in runs["S of LAS under load"][1]["streams"]:
        stream["completion_mean_s"] *= 0.75


def tfs_told_fairer(runs):
    """TFS's index is told to be nearer to 1."""
    metrics = runs["J_share of TFS"][1]["metrics"]
    metrics["jain_share"] = (1 + metrics["jain_share"]) / 2


def las_works_less(runs):
    """Kernels under LAS end after three quarters of their time."""
    events, result = runs["S of LAS under load"]
    for i, line in enumerate(events):
        words = line.split()
        if words[0] == "end" and words[4] == "compute":
            words[1] = str(int(words[5]) + (int(words[1]) - int(words[5])) * 3 // 4)
            events[i] = " ".join(words)
    runs["S of LAS under load"] = (events, result)


def las_leaves_early(runs):
    """Requests under LAS leave after three quarters of their rounds, and that is what is told."""
    events, result = runs["S of LAS under load"]
    seen, last, kept = {}, {}, []
    for line in events:
        words = line.split()
        if words[0] in ("reach", "end"):
            stream = "long" if words[2].startswith("0.") else "short"
            seen[words[2]] = seen.get(words[2], 0) + (words[0] == "reach")
            if seen[words[2]] > 3 * (APPS[stream][4] * 3 // 4):
                continue
            last[words[2]] = words[1]
        kept.append(line)
    kept = [f"exit {last[line.split()[2]]} {line.split()[2]}" if line.startswith("exit") else line
            for line in kept]
    mean = completions(read(kept))
    for stream in result["streams"]:
        stream["completion_mean_s"] = mean[stream["name"]]
    runs["S of LAS under load"] = (kept, result)


RIGS = (las_told_faster, tfs_told_fairer, las_works_less, las_leaves_early)


def main():
    program = sys.argv[-1]
    with tempfile.TemporaryDirectory() as folder:
        def rows():
            return {**{name: simulate(program, folder, *row) for name, row in ROWS.items()},
                    "none": simulate(program, folder, "none", "app", "open")}
        if "--rigged" not in sys.argv:
            wrong = wrong_in(rows())
            print("\n".join(sorted(wrong)) or "three rows are what the log of events says")
            return 1 if wrong else 0
        missed = 0
        for rig in RIGS:
            runs = rows()
            rig(runs)
            wrong = sorted(wrong_in(runs))
            missed += not wrong
            print(f"{'found ' if wrong else 'MISSED'} {rig.__doc__} {'; '.join(wrong)[:300]}")
        return 1 if missed else 0


sys.exit(main())
