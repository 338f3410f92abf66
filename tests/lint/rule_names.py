# SPDX-License-Identifier: Apache-2.0
"""Names that a machine can judge: limits are _MAX and _MIN, the guard of a header is its path, and
a file is not called by a preposition (`copy_over.c`, `out.c`)."""

import re

import folders

LIMIT = re.compile(r"\b((?:[A-Z][A-Z0-9]*_)*(MOST|LEAST)(?:_[A-Z0-9]+)*)\b")
GUARD = re.compile(r"^#ifndef (\w+_H)\n#define \1$", re.M)
PREPOSITIONS = set("""about above across after against along apart around aside at away before
    behind below beneath beside between beyond by down for from in inside into near of off on onto
    out over past than through to toward under until up upon via with within without""".split())


def check(tree):
    for file in tree.with_suffix(".c", ".h", ".def"):
        for number, line in enumerate(file.lines, 1):
            for name, word in LIMIT.findall(line):
                end = "MAX" if word == "MOST" else "MIN"
                yield file.finding(number, f"{name}: the name of a limit ends in _{end}")
        if file.folder in folders.FREE or "/tests/" in file.path:
            continue
        last = re.split(r"[/_]", file.path.rsplit(".", 1)[0])[-1]
        if last in PREPOSITIONS:
            yield file.finding(0, f"a noun says what is in the file, {last} does not")
        if file.suffix == ".h":
            guard, wanted = GUARD.search(file.text), guard_of(file.path)
            if guard and guard.group(1) != wanted:
                yield file.finding(0, f"the guard is {guard.group(1)}, the path says {wanted}")


def guard_of(path):
    """client/copy/copy.h: CLIENT_COPY_COPY_H"""
    return re.sub(r"[^A-Z0-9]", "_", path[:-2].upper()) + "_H"
