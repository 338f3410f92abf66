#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/against by itself: the statistics on numbers whose answer is known, and the runs with
commands that only pretend to measure."""

import json
import math
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
sys.path.insert(0, os.path.join(ROOT, "scripts", "against"))

import pairs  # noqa: E402
import ratio  # noqa: E402
import tree  # noqa: E402

# fake.py SIDE FOLDER VALUES... --out NAME: one line in FOLDER/order for each run, and the next of
# VALUES as the time `wait`; the rate `launch` is its inverse.
FAKE = """import json, os, sys, time
side, folder, *values, _, out = sys.argv[1:]
order = os.path.join(folder, "order")
with open(order, "a") as file:
    file.write(side)
turn = open(order).read().count(side) - 1
value = values[turn % len(values)]
if value == "fails":
    print("no such device")
    sys.exit(3)
if value == "hangs":
    open(os.path.join(folder, "hangs"), "w").write(str(os.getpid()))
    time.sleep(1000)
def figure(key, better, value):
    return {"key": key, "better": better, "columns": {"ours": {"median": value}}}
time_like = float(value)
found = {"figures": [figure("wait", "less", time_like), figure("launch", "more", 1 / time_like)],
         "facts": [{"key": "mallocs", "value": 0.0}, {"key": "memory", "value": None}]}
if side == "N":
    found["figures"].append(figure("young", "less", 1.0))
json.dump(found, open(out + ".json", "w"))
"""


class Statistics(unittest.TestCase):
    def test_ranks_are_those_of_the_tables(self):
        # Two-sided sign test, 95 %: Conover, Practical Nonparametric Statistics, table of the
        # binomial distribution with p = 1/2.
        for count, at in ((5, None), (6, 1), (8, 1), (9, 2), (20, 6), (30, 10), (50, 18)):
            self.assertEqual(ratio.rank(count), at, count)

    def test_the_interval(self):
        shuffled = random.Random(1).sample(range(1, 21), 20)
        self.assertEqual(ratio.interval(shuffled), (6, 15))
        self.assertEqual(ratio.interval([1.0, 1.0]), (0.0, math.inf), "too few say nothing")

    def test_it_has_the_true_median_as_often_as_it_says(self):
        chance, inside = random.Random(7), 0
        for _ in range(2000):
            low, high = ratio.interval([chance.lognormvariate(0, 0.1) for _ in range(20)])
            inside += low <= 1 <= high
        self.assertTrue(0.94 < inside / 2000 < 0.975, inside)  # 0.9586 is what 20 of them give

    def test_directions(self):
        self.assertEqual(ratio.slower(3.0, 2.0, True), 1.5)
        self.assertEqual(ratio.slower(2.0, 3.0, False), 1.5, "a rate that fell")
        self.assertEqual(ratio.slower(0.0, 0.0, True), 1.0)
        self.assertEqual(ratio.slower(1.0, 0.0, True), math.inf)

    def test_verdicts(self):
        def verdict(ratios, bound=1.03):
            return ratio.Result("x", ratios).verdict(bound)
        self.assertEqual(verdict([1.0] * 20), "ok")
        self.assertEqual(verdict([1.1] * 20), "SLOWER")
        self.assertEqual(verdict([0.9] * 10 + [1.2] * 10), "NOT SHOWN", "the median is not enough")
        self.assertEqual(verdict([1.0] * 15 + [9.0] * 5), "ok", "five wild ones of twenty")
        self.assertEqual(verdict([1.0] * 14 + [9.0] * 6), "NOT SHOWN", "six are not by chance")
        self.assertEqual(verdict([1.03] * 20), "NOT SHOWN", "on the bound is not below it")
        self.assertEqual(verdict([1.0] * 5), "NOT SHOWN")


class Runs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.script = self.at("fake.py")
        with open(self.script, "w", encoding="utf-8") as file:
            file.write(FAKE)

    def at(self, name):
        return os.path.join(self.folder, name)

    def read(self, name):
        with open(self.at(name), encoding="utf-8") as file:
            return file.read()

    def fake(self, side, *values):
        return [sys.executable, self.script, side, self.folder, *values]

    def pairs(self, new, old, count=20):
        found = []
        pairs.alternate(self.fake("N", *new), self.fake("O", *old), count, self.folder,
                        lambda number: None, found)
        return found

    def test_they_alternate(self):
        found = self.pairs(["2"], ["1"], 5)
        self.assertEqual(self.read("order"), "NOONNOONNO")
        self.assertEqual([(new["wait"], old["wait"]) for new, old in found],
                         [((2.0, True), (1.0, True))] * 5)

    def test_ratios_are_of_the_pair(self):
        found = ratio.results(self.pairs(["2", "30", "400"], ["1", "10", "100"], 6))
        by_key = {result.key: result.ratios for result in found}
        self.assertEqual(by_key["wait"], [2.0, 3.0, 4.0] * 2)
        self.assertEqual([round(each, 6) for each in by_key["launch"]], [2.0, 3.0, 4.0] * 2)
        self.assertEqual(by_key["mallocs"], [1.0] * 6)
        self.assertEqual(set(by_key), {"wait", "launch", "mallocs"}, "what both have")

    def test_a_run_that_fails(self):
        with self.assertRaises(pairs.Failed) as failed:
            self.pairs(["1"], ["1", "fails"])
        self.assertIn("exit status 3: no such device", str(failed.exception))

    def whole(self, new, old, **options):
        """The command, with the fakes in the place of perf/bench.py: (status, stdout, stderr)."""
        program = ("import runpy, sys, json; sys.argv[0] = '.'\n"
                   "space = runpy.run_path(sys.argv[1], run_name='against')\n"
                   "import types\n"
                   "new, old, options, folder = json.loads(sys.argv[2])\n"
                   "sys.exit(space['compare'](new, old, types.SimpleNamespace(**options), folder))")
        words = [self.fake("N", *new), self.fake("O", *old),
                 {"against": "REV", "bound": 1.03, "pairs": 20, **options}, self.folder]
        return subprocess.Popen([sys.executable, "-c", program, os.path.join(
            ROOT, "scripts", "against", "__main__.py"), json.dumps(words)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def test_what_it_says_and_answers(self):
        process = self.whole(["1.01"], ["1"])
        out, err = process.communicate()
        self.assertEqual(process.returncode, 0, out + err)
        self.assertIn("young: REV has no such figure", err)
        self.assertIn("memory: cannot be measured here", err)
        self.assertRegex(out, r"wait +1\.010  1\.010 to 1\.010  ok")
        self.assertRegex(out, r"launch +1\.010  1\.010 to 1\.010  ok")
        process = self.whole(["1.05"], ["1"])
        out, _ = process.communicate()
        self.assertEqual(process.returncode, 1)
        self.assertRegex(out, r"launch +1\.050  1\.050 to 1\.050  SLOWER")
        process = self.whole(["1.05"], ["1"], bound=1.06)
        process.communicate()
        self.assertEqual(process.returncode, 0)

    def test_interrupted(self):
        # The first run does not count, the eighth pair's is never over.
        process = self.whole(["1"] * 8 + ["hangs"], ["1"])
        while not os.path.exists(self.at("hangs")) or not self.read("hangs"):
            self.assertIsNone(process.poll(), "it has ended")
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
        self.assertEqual(process.returncode, 130)
        self.assertIn("interrupted after 7 of 20 pairs", err)
        self.assertRegex(out, r"wait +1\.000  1\.000 to 1\.000  ok")
        self.assertRaises(ProcessLookupError, os.kill, int(self.read("hangs")), 0)


class Trees(unittest.TestCase):
    def test_a_revision_is_checked_out_as_it_was(self):
        with tempfile.TemporaryDirectory() as root:
            def git(*words):
                return subprocess.run(["git", "-C", root, "-c", "user.name=n", "-c",
                                       "user.email=e", *words], check=True, capture_output=True,
                                      text=True).stdout.strip()

            def file(folder, text=None):
                with open(os.path.join(folder, "file"), "w" if text else "r",
                          encoding="utf-8") as opened:
                    return opened.write(text) if text else opened.read()
            git("init", "-b", "main")
            file(root, "old")
            git("add", "file")
            git("commit", "-m", "one")
            first = git("rev-parse", "HEAD")
            file(root, "new")
            folder = tree.checked_out(root, tree.commit_of(root, "HEAD"))
            self.assertEqual(file(folder), "old")
            self.assertEqual(file(root), "new")
            file(folder, "spoilt")
            self.assertEqual(tree.checked_out(root, first), folder)
            self.assertEqual(file(folder), "old")
            self.assertRaises(tree.Failed, tree.commit_of, root, "nowhere")


if __name__ == "__main__":
    unittest.main()
