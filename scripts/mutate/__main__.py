# SPDX-License-Identifier: Apache-2.0
"""mutate [OPTIONS] [FOLDER...]: puts small faults into the product's code, one at a time, and looks
whether a test notices. Those that none notices are named: holes in the tests.

A random sample of faults is put into a copy of the tree and built once, each behind a question of
its number; one run of the tests tells which of them come to which fault, and these are then run
with the fault on, the quickest first. Interrupt it when you like: it goes on where it was."""

import argparse
import os
import re
import shutil
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import campaign  # noqa: E402
import cases  # noqa: E402
import report  # noqa: E402
import run  # noqa: E402
import tree  # noqa: E402

FOLDERS = ["server", "client", "transport", "api", "front", "softgpu/exec"]
LABELS = ["unit", "e2e"]
# These tests download, or measure.
WRONG = r"python|runtimes|jit$|install"


def say(text):
    print(time.strftime("%H:%M:%S ") + text, flush=True)


def parse():
    parser = argparse.ArgumentParser(prog="./dev mutate", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("folders", nargs="*", metavar="FOLDER", help=f"default: {' '.join(FOLDERS)}")
    add("--sample", type=int, default=100, help="so many faults (100)")
    add("--seed", type=int, default=1, help="other faults with another seed (1)")
    add("--minutes", type=float, default=60, help="stop then, and say how far it came (60)")
    add("--each", type=float, default=120, help="seconds of tests for one fault, at most (120)")
    add("--jobs", type=int, default=os.cpu_count(), help="tests at once (one per processor)")
    add("--tests", default="", metavar="TESTS",
        help="only the tests that a regular expression names")
    add("--least", type=float, default=0, help="fail if fewer per cent are noticed")
    add("--fresh", action="store_true", help="begin anew, also where one can go on")
    add("--report", action="store_true", help="only say what is known")
    add("--again", metavar="TESTS", help="take today's tests and try those that a regular "
        "expression names against what has survived")
    return parser.parse_args()


def same(state, options):
    return (state is not None and state.seed == options.seed and
            state.sample == options.sample and state.folders == options.folders)


def again(state, pattern, tests):
    """New tests are copied, while the product in the copy stays as it was; the places that they
    reach must be found out."""
    tree.copy(besides=[path for path in tree.tracked() if not tree.is_test(path)])
    done = tree.ninja(*cases.targets(tests))
    if done.returncode != 0:
        raise tree.Broken(done.stdout[-6000:])
    for name in [name for name in state.tests if re.search(pattern, name)]:
        del state.tests[name]
    for mutant in state.mutants.values():
        mutant["passed"] = [name for name in mutant.get("passed", []) if name in state.tests]
    for mutant in state.mutants.values():
        if mutant["status"] == "survived":
            mutant["status"] = "open"


def wanted(options):
    return [test for test in run.listed(LABELS, re.compile(WRONG))
            if re.search(options.tests, test.name)]


def main():
    options = parse()
    options.folders = options.folders or FOLDERS
    deadline = time.monotonic() + options.minutes * 60
    state = campaign.State.load()
    if options.report or options.again:
        if state is None:
            sys.exit("nothing is known yet")
    elif options.fresh or not same(state, options):
        shutil.rmtree(os.path.join(tree.HOME, "logs"), ignore_errors=True)
        state = campaign.begin(options.seed, options.sample, options.folders,
                               lambda: wanted(options), say)
    if options.again:
        again(state, options.again, wanted(options))
    if not options.report:
        tests = cases.split(wanted(options))
        if campaign.record(state, tests, options.jobs, deadline, say):
            campaign.try_all(state, tests, options, deadline, say)
        state.save()
    text, killed, count = report.make(state)
    print(text)
    if options.least and (count == 0 or 100 * killed / count < options.least):
        sys.exit(f"fewer than {options.least} % are noticed")


def interrupted(number, _):
    """Ends the tests; the results so far are in the state."""
    run.end_all()
    print("interrupted: the same command goes on", file=sys.stderr)
    os._exit(128 + number)


if __name__ == "__main__":
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, interrupted)
    try:
        main()
    except tree.Broken as broken:
        sys.exit(f"the build fails:\n{broken}")
