#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the rules over the repository: run.py [--root DIR] [--release DIR] [RULE...]
Without RULE: all that need no build, and client_library if --release is given. Prints one line per
finding; exit status 1 if there is one."""

import argparse
import os
import sys

import rule_client_library
import rule_claims
import rule_clocks
import rule_cuda_names
import rule_driver_waits
import rule_environment
import rule_folders
import rule_headers
import rule_includes
import rule_licence
import rule_limits
import rule_names
import rule_paths
import rule_prefixes
import rule_prose
import rule_semantics
import rule_statics
import rule_tables
import rule_vocabulary
import rule_words
from tree import Tree

SOURCE_RULES = {
    "includes": rule_includes.check,
    "headers": rule_headers.check,
    "licence": rule_licence.check,
    "limits": rule_limits.check,
    "names": rule_names.check,
    "paths": rule_paths.check,
    "prefixes": rule_prefixes.check,
    "prose": rule_prose.check,
    "statics": rule_statics.check,
    "tables": rule_tables.check,
    "vocabulary": rule_vocabulary.check,
    "cuda_names": rule_cuda_names.check,
    "words": rule_words.check,
    "claims": rule_claims.check,
    "clocks": rule_clocks.check,
    "driver_waits": rule_driver_waits.check,
    "environment": rule_environment.check,
    "semantics": rule_semantics.check,
    "folders": rule_folders.check,
}


def run(rule, tree, options):
    if rule in SOURCE_RULES:
        return list(SOURCE_RULES[rule](tree))
    return list(rule_client_library.check(options.release))


def main():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", default=root)
    parser.add_argument("--release", help="a release build: checks the client library in it")
    parser.add_argument("rules", nargs="*")
    options = parser.parse_args()
    built = {"client_library": options.release}
    rules = options.rules or [*SOURCE_RULES, *(rule for rule in built if built[rule])]
    for rule in rules:
        if rule not in SOURCE_RULES and rule not in built:
            parser.error(f"no rule {rule}; there are {', '.join([*SOURCE_RULES, *built])}")
        if rule in built and not built[rule]:
            parser.error(f"rule {rule} needs --release DIR")
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
