# SPDX-License-Identifier: Apache-2.0
"""The name of a function that others may call begins with its folder's prefix, or with a noun of
its room (PREFIXES, BARE_NOUNS and ROOM_PREFIXES in folders.py)."""

import os
import re
from collections import defaultdict

import folders
from rule_statics import functions, product

GIVEN = re.compile(r"(cu|nvml|nvrtc|nvJitLink)[A-Z]|main$|__|[A-Z]")


def check(tree):
    nouns = defaultdict(set)
    for file in product(tree, ".c", ".h"):
        room, name = os.path.split(file.path)
        nouns[room] |= {each.rstrip("s") for each in name.split(".")[0].split("_")}
    for file in product(tree, ".c"):
        room = os.path.dirname(file.path)
        prefixes = folders.PREFIXES.get(file.folder, set()) | folders.ROOM_PREFIXES.get(room, set())
        bare = nouns[room] if file.folder in folders.BARE_NOUNS else set()
        for number, name, static in functions(file.lines):
            first = name.split("_")[0].rstrip("s")
            if not (static or GIVEN.match(name) or name.startswith(tuple(prefixes))
                    or first in bare):
                or_noun = ", or with a word of a file's name" if bare else ""
                yield file.finding(number, f"{name}: in {room}/ names that are not static begin "
                                   f"with {', '.join(sorted(prefixes))}{or_noun}")
