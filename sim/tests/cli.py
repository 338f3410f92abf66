#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpuaas-sim from outside: what it writes, and what it says of mistakes.

cli.py PROGRAM SCENARIOS"""

import json
import os
import subprocess
import sys
import tempfile

SIM, SCENARIOS = sys.argv[1:]
PAIR = os.path.join(SCENARIOS, "pair.ini")
SHORT = ["--set", "run.until=20s", "--set", "run.warmup_percent=0"]


def sim(*arguments, status=0):
    done = subprocess.run([SIM, *arguments], capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL)
    assert done.returncode == status, (arguments, done.returncode, done.stdout, done.stderr)
    return done.stdout, done.stderr


def every_scenario_is_right():
    for name in sorted(os.listdir(SCENARIOS)):
        if name.endswith(".ini"):
            sim("check", os.path.join(SCENARIOS, name))


def results_are_written(folder):
    path = os.path.join(folder, "out.json")
    out, err = sim("run", PAIR, *SHORT, "--json", path, "--against", "run.isolation=packed")
    assert err == "" and "speedup S" in out and "MM" in out, (out, err)
    with open(path, encoding="utf-8") as file:
        result = json.load(file)
    assert [s["name"] for s in result["streams"]] == ["MM", "MC"]
    assert result["streams"][0]["speedup"] > 0 and "jain_share" in result["metrics"]
    with open(path, "rb") as file:
        first = file.read()
    sim("run", PAIR, *SHORT, "--json", path, "--against", "run.isolation=packed", "--quiet")
    with open(path, "rb") as file:
        assert file.read() == first  # the same seed, the same bytes
    out, _ = sim("run", PAIR, *SHORT, "--seeds", "3", "--seed", "7", "--json", "-", "--quiet",
                 "--completions")
    assert [r["seed"] for r in json.loads(out)] == [7, 8, 9]
    assert json.loads(out)[0]["streams"][0]["completions_s"]


def seeds_are_compared():
    """The last line of the table is what the results say."""
    run = ["run", PAIR, *SHORT, "--seeds", "3", "--set", "stream.MC.arrivals=exponential", "--set",
           "stream.MC.alpha=2"]
    results = json.loads(sim(*run, "--json", "-", "--quiet")[0])
    out, _ = sim(*run)
    mean = 0
    for i in range(2):
        slowdowns = [result["streams"][i]["slowdown_mean"] for result in results]
        mean += sum(slowdowns) ** 2 / (3 * sum(s * s for s in slowdowns)) / 2
    assert mean < 0.9999 and abs(float(out.split()[-1]) - mean) < 1e-5, (out, mean)


def pictures_are_drawn(folder):
    path = os.path.join(folder, "out.svg")
    out, _ = sim("run", PAIR, *SHORT, "--gantt", "--from", "1s", "--to", "2s", "--svg", path)
    row = next(line for line in out.splitlines() if line.startswith("gpu 0") and "compute" in line)
    assert "A" in row and "B" in row, row
    with open(path, encoding="utf-8") as file:
        picture = file.read()
    assert picture.startswith("<svg") and picture.count("<rect") > 10 and "</svg>" in picture


def a_trace_is_the_scenario(folder):
    """The trace of a scenario's requests, replayed, takes as long as the scenario."""
    path = os.path.join(folder, "requests.trace")
    requests = ["--set", "stream.MM.requests=3", "--set", "stream.MC.requests=8"]
    sim("trace", PAIR, *requests, "--out", path)
    replay = []
    for app in ("MM", "MC"):
        replay += ["--set", f"app.{app}.trace={path}", "--set", f"app.{app}.trace_stream={app}",
                   "--set", f"stream.{app}.arrivals=trace", "--set", f"stream.{app}.requests=1"]
    scenario = os.path.join(folder, "replay.ini")
    with open(PAIR, encoding="utf-8") as file:
        text = file.read().replace("table = MM\n", "").replace("table = MC\n", "")
    with open(scenario, "w", encoding="utf-8") as file:
        file.write(text)
    first, _ = sim("run", PAIR, *requests, "--set", "run.warmup_percent=0")
    again, _ = sim("run", scenario, *replay, "--set", "run.warmup_percent=0")
    assert first == again, (first, again)


def mistakes_have_words(folder):
    missing = os.path.join(folder, "missing.ini")
    rows = [
        ([], 2, "usage: gpuaas-sim run"),
        (["rum", PAIR], 2, 'there is no command "rum", did you mean run'),
        (["run"], 2, "run takes one SCENARIO"),
        (["run", PAIR, PAIR], 2, "run takes one SCENARIO"),
        (["policies", PAIR], 2, "policies takes no file"),
        (["run", PAIR, "--seed", "x"], 2, '--seed: "x" is not allowed; allowed: 0 to'),
        (["run", PAIR, "--seeds", "0"], 2, '--seeds: "0" is not allowed; allowed: 1 to'),
        (["run", PAIR, "--to", "5"], 2, '--to: "5" is not allowed; allowed: a number and ns'),
        (["run", PAIR, "--from", "5s", "--to", "5s"], 2, "--to must be later than --from"),
        (["run", PAIR, "--seeds", "2", "--gantt"], 2, "pictures and events are of one run"),
        (["run", PAIR, "--colour"], 2, "unrecognized option '--colour'"),
        (["run", missing], 1, "missing.ini: No such file"),
        (["run", folder], 1, "Is a directory"),
        (["run", PAIR, "--json", "/nowhere/x"], 1, "cannot write /nowhere/x: No such file"),
        (["run", PAIR, *SHORT, "--json", "/dev/full", "--quiet"], 1,
         "cannot write /dev/full: No space left"),
        (["run", PAIR, "--set", "run.policy=best"], 1, "allowed: none, rr"),
        (["run", PAIR, "--against", "run.policy=best"], 1, "allowed: none, rr"),
        (["trace", PAIR], 1, "[stream.MM] requests: 0 has no end"),
        (["run", PAIR, "--set", "app.MM.trace=x"], 1, "[app.MM] table: contradicts trace"),
    ]
    for arguments, status, words in rows:
        _, err = sim(*arguments, status=status)
        assert words in err, (arguments, words, err)


def wrong_traces_have_words(folder):
    path = os.path.join(folder, "wrong.trace")
    scenario = os.path.join(folder, "wrong.ini")
    with open(scenario, "w", encoding="utf-8") as file:
        file.write("[gpu.0]\nnode = 0\n[app.A]\ntrace = wrong.trace\n"
                   "[stream.S]\napp = A\narrivals = trace\n")
    rows = [
        ("gpuaas-trace 1\nrequest A 0 1\nkernel 1 2 1 1\n", "wrong.trace:3: a kernel has"),
        ("gpuaas-trace 1\ngpu abc\nrequest A 0 1\n", "gpu abc: there is no such model"),
        ("gpuaas-trace 1\nrequest A 0 1\nrequest B 0 1\n", "name one of the 2 streams"),
        ("gpuaas-trace 1\n\0", "has a byte that is 0"),
    ]
    for text, words in rows:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        _, err = sim("run", scenario, status=1)
        assert words in err, (words, err)


def lists_are_complete():
    keys, _ = sim("keys")
    assert "[run]" in keys and "context_time" in keys and "weight" in keys
    policies, _ = sim("policies")
    assert {"none", "rr", "las", "fs", "tfs", "ps"} <= {p.split()[0] for p in policies.splitlines()}
    assert "--against" in sim("--help")[0] and sim("--version")[0].startswith("gpuaas-sim ")


def main():
    with tempfile.TemporaryDirectory() as folder:
        every_scenario_is_right()
        results_are_written(folder)
        seeds_are_compared()
        pictures_are_drawn(folder)
        a_trace_is_the_scenario(folder)
        mistakes_have_words(folder)
        wrong_traces_have_words(folder)
        lists_are_complete()


main()
