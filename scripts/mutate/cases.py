# SPDX-License-Identifier: Apache-2.0
"""The cases of a unit test's program, each as a test of its own: a fault is tried against the few
that reach it, the quickest first, and not against all that the program has."""

import dataclasses
import os
import subprocess

import tree


def program(test):
    """The criterion program that the test is; None: it is something else."""
    path = test.command[0] if len(test.command) == 1 else ""
    return path if os.path.dirname(path) == os.path.join(tree.BUILD, "tests") else None


def names(listing):
    """(suite, case) of each that `PROGRAM --list` tells."""
    suite = ""
    for line in listing.splitlines():
        if line.startswith(("├", "└")):
            if not line.endswith("(skipped)"):
                yield suite, line[4:].partition(" (")[0]
        elif ": " in line:
            suite = line.partition(": ")[0]


def is_case(test):
    return "--filter" in test.command


def targets(tests):
    """The programs that ninja has to build for the tests; none stands for all. ctest does not tell
    the command of a program that is not built yet: it has the name of its test."""
    done = tree.ninja("-t", "targets", "all")
    known = {line.partition(":")[0] for line in done.stdout.splitlines()}
    wanted = [f"tests/{test.name}" for test in tests]
    return wanted if known.issuperset(wanted) else []


def split(tests):
    found = []
    for test in tests:
        path = program(test)
        if path is None:
            found.append(test)
            continue
        listing = subprocess.run([path, "--list"], check=True, capture_output=True, text=True)
        for suite, case in names(listing.stdout):
            found.append(dataclasses.replace(test, name=f"{test.name}:{suite}.{case}",
                                             command=(path, "--filter", f"{suite}/{case}")))
    return found
