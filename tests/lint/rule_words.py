# SPDX-License-Identifier: Apache-2.0
"""The repository speaks of the product alone: no paths of a developer's machine, no numbers of a
tracker, no hosts of package registries."""

import re

# Written in pieces, so that this file does not find itself.
WORDS = {
    r"(^|[^\w.])/(wo" r"rk|tmp/w" r"t|home/\w+|Users/\w+)/": "a path of somebody's machine",
    r"\b(issue|ticket|bug) #?\d+\b": "a number of a tracker",
    r"\bsub" r"agents?\b": "a word about how the work was organised",
    r"\bthis " r"session of work\b": "a word about how the work was organised",
    r"\bwork" r"place\b": "a word about how the work was organised",
    r"\b(deb\.deb" r"ian\.org|py" r"pi\.org|registry\.np" r"mjs\.org|cra" r"tes\.io)\b":
        "a package registry's host",
}
PATTERNS = [(re.compile(pattern, re.IGNORECASE), what) for pattern, what in WORDS.items()]


def check(tree):
    for file in tree.files:
        for number, line in enumerate(file.lines, 1):
            for pattern, what in PATTERNS:
                match = pattern.search(line)
                if match:
                    yield file.finding(number, f"{match.group().strip()}: {what}")
