#!/usr/bin/env python3
"""Runs the rules over the repository: run.py [--root DIR] [--build DIR] [--release DIR] [RULE...]
Without RULE: all that need no build, purity if --build is given, and client_library if --release
is. Prints one line per finding; exit status 1 if there is one."""

import argparse
import os
import sys

import rule_client_library
import rule_clocks
import rule_cuda_names
import rule_includes
import rule_limits
import rule_purity
import rule_semantics
import rule_words
from tree import Tree

SOURCE_RULES = {
    "includes": rule_includes.check,
    "limits": rule_limits.check,
    "cuda_names": rule_cuda_names.check,
    "words": rule_words.check,
    "clocks": rule_clocks.check,
    "semantics": rule_semantics.check,
}


def run(rule, tree, options):
    if rule in SOURCE_RULES:
        return list(SOURCE_RULES[rule](tree))
    if rule == "purity":
        return list(rule_purity.check(tree, options.build))
    return list(rule_client_library.check(options.release))


def main():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", default=root)
    parser.add_argument("--build", help="a build folder: checks the objects of sched/")
    parser.add_argument("--release", help="a release build: checks the client library in it")
    parser.add_argument("rules", nargs="*")
    options = parser.parse_args()
    built = {"purity": options.build, "client_library": options.release}
    rules = options.rules or [*SOURCE_RULES, *(rule for rule in built if built[rule])]
    for rule in rules:
        if rule not in SOURCE_RULES and rule not in built:
            parser.error(f"no rule {rule}; there are {', '.join([*SOURCE_RULES, *built])}")
        if rule in built and not built[rule]:
            parser.error(f"rule {rule} needs --{'build' if rule == 'purity' else 'release'} DIR")
    tree = Tree(options.root)
    count = 0
    for rule in rules:
        for finding in run(rule, tree, options):
            print(f"{finding} [{rule}]")
            count += 1
    print(f"lint: {', '.join(rules)}: {count or 'no'} finding{'' if count == 1 else 's'}")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
