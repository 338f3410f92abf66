# SPDX-License-Identifier: Apache-2.0
"""Every statement of docs/semantics.md has a number and a test that says so: a test's source holds
the word "semantics" and behind it, on the same line, the numbers that it checks."""

import re

PAGE = "docs/semantics.md"
STATEMENT = re.compile(r"^\[S(\d+)\] ")
CLAIM = re.compile(r"\bsemantics ((?:S\d+(?:, | and )?)+)")


def is_test(file):
    return "tests" in file.path.split("/")[:-1] and file.suffix in (".c", ".cu", ".py") and \
        not file.path.startswith("tests/lint/")


def claims(tree):
    """number -> (file, line) of a test that claims it"""
    found = {}
    for file in filter(is_test, tree.files):
        for number, line in enumerate(file.lines, 1):
            for match in CLAIM.finditer(line):
                for statement in re.findall(r"\d+", match.group(1)):
                    found.setdefault(int(statement), (file, number))
    return found


def check(tree):
    pages = [file for file in tree.files if file.path == PAGE]
    tested, stated = claims(tree), {}
    for page in pages:
        for number, line in enumerate(page.lines, 1):
            match = STATEMENT.match(line)
            if match is None:
                continue
            statement = int(match.group(1))
            if statement in stated:
                yield page.finding(number, f"S{statement} stands here twice")
            stated[statement] = number
            if statement not in tested:
                yield page.finding(number, f"no test claims S{statement}")
    for statement, (file, number) in sorted(tested.items()):
        if statement not in stated:
            yield file.finding(number, f"{PAGE} has no S{statement}")
