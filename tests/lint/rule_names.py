# SPDX-License-Identifier: Apache-2.0
"""Names that a machine can judge: limits are _MAX and _MIN, the guard of a header is its path."""

import re

import folders

LIMIT = re.compile(r"\b((?:[A-Z][A-Z0-9]*_)*(MOST|LEAST)(?:_[A-Z0-9]+)*)\b")
GUARD = re.compile(r"^#ifndef (\w+_H)\n#define \1$", re.M)


def check(tree):
    for file in tree.with_suffix(".c", ".h", ".def"):
        for number, line in enumerate(file.lines, 1):
            for name, word in LIMIT.findall(line):
                end = "MAX" if word == "MOST" else "MIN"
                yield file.finding(number, f"{name}: the name of a limit ends in _{end}")
        if file.suffix == ".h" and file.folder not in folders.FREE and "/tests/" not in file.path:
            guard, wanted = GUARD.search(file.text), guard_of(file.path)
            if guard and guard.group(1) != wanted:
                yield file.finding(0, f"the guard is {guard.group(1)}, the path says {wanted}")


def guard_of(path):
    """client/copy/copy.h: CLIENT_COPY_COPY_H"""
    return re.sub(r"[^A-Z0-9]", "_", path[:-2].upper()) + "_H"
