# SPDX-License-Identifier: Apache-2.0
"""A static function carries a word of its file's name where its own name is defined more than once
(`backend_process_free` in backend_process.c), so that grep finds it and a backtrace says where it
is."""

import re
from collections import defaultdict

import folders
from rule_limits import signature_start

ATTRIBUTE = re.compile(r"__attribute__\(\((?:[^()]|\([^()]*\))*\)\)")
ONE_LINE = re.compile(r"static .*\) \{.*\}$")
TYPE_ALONE = re.compile(r"(static|GA_CHECKED|const|struct|enum|void)\b[^;{}]*[\w*)]$")
NAME = re.compile(r"(\w+)\s*\(")


def check(tree):
    found = defaultdict(list)
    for file in product(tree, ".c"):
        for number, name, static in functions(file.lines):
            if static:
                found[name].append((file, number))
    for name, places in found.items():
        paths = sorted({file.path for file, _ in places})
        for file, number in places if len(paths) > 1 else ():
            if not carries(name, file.path):
                other = next(path for path in paths if path != file.path)
                yield file.finding(number, f"{name} is in {other}, too: a static function carries "
                                   "a word of its file's name there")


def product(tree, *suffixes):
    return [file for file in tree.with_suffix(*suffixes)
            if file.folder not in folders.FREE and "/tests/" not in file.path]


def functions(lines):
    """(line, name, whether it is static) of each function, by layout as in rule_limits."""
    for number, line in enumerate(lines, 1):
        signature = ""
        if line == "{":
            start = signature_start(lines, number)
            start -= start > 1 and TYPE_ALONE.match(lines[start - 2]) is not None
            signature = " ".join(lines[start - 1:number - 1])
        elif ONE_LINE.match(line):
            start, signature = number, line
        signature = ATTRIBUTE.sub("", signature)
        name = NAME.search(signature)
        if name:
            yield start, name.group(1), "static" in signature[:name.start()].split()


def words(name):
    return {word.rstrip("s") for word in name.split("_") if word}


def carries(name, path):
    """Whether the name has a word of the file's, in the singular or the plural."""
    return bool(words(name) & words(path.rsplit("/", 1)[-1].split(".")[0]))
