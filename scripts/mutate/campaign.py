# SPDX-License-Identifier: Apache-2.0
"""A campaign: for each fault, the tests that reach it and those that notice it. Everything is in
build/mutate/state.json after every step, so an interrupted campaign continues there."""

import collections
import concurrent.futures
import dataclasses
import json
import os
import random
import re
import sys
import threading
import time

import cases
import report
import rewrite
import run
import tree
from place import KINDS, Site

sys.path.append(os.path.join(tree.ROOT, "scripts", "changed"))
import table  # noqa: E402  # of `./dev test --changed`

STATE = os.path.join(tree.HOME, "state.json")
Named = collections.namedtuple("Named", "name")
SPARE = 2.0  # more faults are built than tried: some do not compile, some are not reached
SLOWER, AT_LEAST = 5, 20  # a test is late after this multiple of its own time, or these seconds
AT_LEAST_CASE = 8         # and a case of a unit test after these


class State:
    def __init__(self, seed=0, sample=0, folders=()):
        self.seed, self.sample, self.folders = seed, sample, list(folders)
        self.mutants = {}   # number -> the results
        self.sites = {}     # number -> Site
        self.tests = {}     # name -> {"seconds", "verdict", "reached"}
        self.most = 0       # the highest number that the build knows
        self.rows = table.read(os.path.join(tree.ROOT, "tests", "changed.txt"))
        self.lock = threading.Lock()

    def save(self):
        with self.lock:
            text = json.dumps({
                "seed": self.seed, "sample": self.sample, "folders": self.folders,
                "most": self.most, "tests": self.tests,
                "mutants": [{"number": number, **self.sites[number].to_dict(),
                             **self.mutants[number]} for number in sorted(self.mutants)]}, indent=1)
            with open(STATE + ".new", "w", encoding="latin-1") as file:
                file.write(text)
            os.rename(STATE + ".new", STATE)

    @staticmethod
    def load():
        try:
            with open(STATE, encoding="latin-1") as file:
                found = json.load(file)
        except FileNotFoundError:
            return None
        state = State(found["seed"], found["sample"], found["folders"])
        state.most, state.tests = found["most"], found["tests"]
        names = {field.name for field in dataclasses.fields(Site)}
        for each in found["mutants"]:
            number = each.pop("number")
            state.sites[number] = Site(**{name: each.pop(name) for name in names})
            state.mutants[number] = each
        return state

    def numbered(self):
        return [(number, self.sites[number]) for number in sorted(self.sites)]

    def reaching(self, number):
        """Names of the tests that reach it: unit tests and those that tests/changed.txt names for
        its file, and then the others; each the quickest first. Else many quick tests that only
        pass by would take the time of those that look."""
        found = [name for name, test in self.tests.items() if number in test["reached"] and
                 test["verdict"] == "passed"]
        path, named = self.sites[number].file, [Named(name) for name in found]
        meant = set().union(*(row.names(named, path) for row in self.rows if row.fits(path)))
        return sorted(found, key=lambda name: (
            name not in meant and name.startswith("e2e."), self.tests[name]["seconds"]))

    def chosen(self):
        """The numbers that are tried: the first that a test reaches."""
        return [number for number in sorted(self.sites) if self.reaching(number)][:self.sample]


def choose(sites, seed, count):
    """Chooses `count` sites at random, equally from all kinds, no two at one place."""
    generator = random.Random(seed)
    heaps = {kind: [site for site in sites if site.kind == kind] for kind in KINDS}
    for heap in heaps.values():
        generator.shuffle(heap)
    taken = []
    while len(taken) < count and any(heaps.values()):
        for kind in KINDS:
            while heaps[kind]:
                site = heaps[kind].pop()
                if not any(site.overlaps(other) for other in taken):
                    taken.append(site)
                    break
    return taken[:count]


def begin(seed, sample, folders, listed, say):
    """A new state: faults chosen, put into a copy of the tree, and built."""
    import find  # pylint: disable=import-outside-toplevel  # it needs clang, going on does not
    os.makedirs(tree.HOME, exist_ok=True)
    sources = tree.originals([
        path for path in tree.tracked() if tree.within(path, folders) and "/tests/" not in path
        and re.search(r"\.(c|h|def)$", path) and "/fault" not in path])
    tree.copy(besides=sources)
    tree.configure()
    say("looking for places")
    files = {os.path.join(tree.TREE, path): (path, text) for path, text in sources.items()}
    sites = find.sites_of(tree.compile_jobs(folders), files)
    state = State(seed, sample, folders)
    taken = choose(sites, seed, int(sample * SPARE))
    say(f"{len(sites)} places for faults; {len(taken)} are put in")
    most = len(taken)
    numbered = tree.build(list(enumerate(taken, 1)), sources, most, cases.targets(listed()), say)
    for number, site in numbered:
        state.sites[number] = site
        stands, becomes = report.lines(sources[site.file], site)
        state.mutants[number] = {"status": "open", "stands": stands, "becomes": becomes}
    state.most = most
    state.save()
    return state


def record(state, tests, jobs, deadline, say):
    """Runs each test once without a fault, and notes which it reaches."""
    left = [test for test in tests if test.name not in state.tests]

    def one(test):
        if time.monotonic() > deadline:
            return
        reached = os.path.join(tree.HOME, f"reached.{test.name}")
        with open(reached, "wb") as file:
            file.truncate(rewrite.reached_bytes(state.most))
        output = os.path.join(tree.HOME, "logs", test.name)
        for _ in range(2):  # a machine that is busy may fail a test
            verdict, took = run.run(test, 0, test.limit, reached, output)
            if verdict != "failed":
                break
        with open(reached, "rb") as file:
            found = [number for number, byte in enumerate(file.read()) if byte]
        os.unlink(reached)
        with state.lock:
            state.tests[test.name] = {"seconds": took, "verdict": verdict, "reached": found}
        say(f"[{len(state.tests)}/{len(tests)}] {test.name}: {verdict}, {took:.1f} s, "
            f"{len(found)} faults reached")
        state.save()

    os.makedirs(os.path.join(tree.HOME, "logs"), exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(one, left))
    return all(test.name in state.tests for test in tests)


def noticed(state, test, number):
    """How the test notices the fault; None: it does not. Twice, for a machine may be busy."""
    limit = max(AT_LEAST_CASE if cases.is_case(test) else AT_LEAST,
                SLOWER * state.tests[test.name]["seconds"])
    verdicts = []
    for _ in range(2):
        verdict, _ = run.run(test, number, limit)
        if verdict in ("passed", "skipped"):
            return None
        verdicts.append(verdict)
    return "late" if "late" in verdicts else "failed"


def try_one(state, tests, number, each_seconds, deadline):
    """Tests against one fault, until one notices it or the time is over."""
    mutant = state.mutants[number]
    start = time.monotonic()
    passed = mutant.setdefault("passed", [])
    for name in state.reaching(number):
        now = time.monotonic()
        if name in passed or name not in tests:
            continue
        if now > deadline:
            return
        if now - start + state.tests[name]["seconds"] > each_seconds:
            break
        how = noticed(state, tests[name], number)
        if how is not None:
            mutant.update(status="killed", by=name, how=how)
            return
        passed.append(name)
    mutant["status"] = "survived"


def try_all(state, tests, options, deadline, say):
    tests = {test.name: test for test in tests}
    chosen = state.chosen()
    left = [number for number in chosen if state.mutants[number]["status"] == "open"]

    def one(number):
        if time.monotonic() > deadline:
            return
        try_one(state, tests, number, options.each, deadline)
        site, mutant = state.sites[number], state.mutants[number]
        done = [at for at in chosen if state.mutants[at]["status"] != "open"]
        killed = [at for at in done if state.mutants[at]["status"] == "killed"]
        say(f"[{len(done)}/{len(chosen)}, {len(killed)} killed] {number} {site.file}:{site.line} "
            f"{site.kind}: {mutant['status']}"
            + (f" by {mutant['by']} ({mutant['how']})" if "by" in mutant else
               f" {len(mutant.get('passed', []))} of {len(state.reaching(number))} tests"))
        state.save()

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(one, left))
