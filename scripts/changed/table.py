# SPDX-License-Identifier: Apache-2.0
"""tests/changed.txt: which tests see a change of a path, where no build graph knows it. Its own
first lines say how it is written."""

import functools
import re
from dataclasses import dataclass

ALWAYS, PRODUCT = "always", "product"


class Wrong(Exception):
    """A row that cannot be used; the text says which, and why."""


@dataclass(frozen=True)
class Row:
    line: int
    path: str    # regular expression on the beginning of a path, or one of the words above
    tests: str   # regular expression on whole names; "-": none. \\1 is the group of `path`
    only: bool   # in the place of all that uses the file

    def fits(self, path):
        return self.path not in (ALWAYS, PRODUCT) and re.match(self.path, path)

    def names(self, tests, path=""):
        if self.tests == "-":
            return set()
        match = self.fits(path)
        wanted = re.sub(r"\\(\d)", lambda group: re.escape(match.group(int(group[1]))),
                        self.tests) if match else self.tests
        return matching(wanted, tuple(test.name for test in tests))


@functools.lru_cache(maxsize=None)
def matching(wanted, names):
    return frozenset(name for name in names if re.fullmatch(wanted, name))


def rows(text):
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) not in (2, 3) or words[2:] not in ([], ["only"]):
            raise Wrong(f"line {number}: PATH TESTS, and perhaps `only`: {line}")
        try:
            path = re.compile(words[0])
            re.compile(re.sub(r"\\\d", "", words[1]))
        except re.error as error:
            raise Wrong(f"line {number}: {error}: {line}") from None
        if max([0, *map(int, re.findall(r"\\(\d)", words[1]))]) > path.groups:
            raise Wrong(f"line {number}: no such group: {line}")
        found.append(Row(number, words[0], words[1], len(words) == 3))
    return found


def read(path):
    with open(path, encoding="utf-8") as file:
        return rows(file.read())
