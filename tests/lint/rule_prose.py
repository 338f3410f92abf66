# SPDX-License-Identifier: Apache-2.0
"""Sentences of comments and pages have their subject first, as STYLE.md says: none begins with one
of WORDS. HELD are the folders whose comments keep to it, and the pages; it grows."""

import re

HELD = ("api/", "base/", "cmd/", "conf/", "front/", "jit/", "perf/", "scripts/", "softgpu/",
        "transport/", "docs/")
LEFT_OUT = ("api/gen/", "api/released/", "api/tests/golden/")
WORDS = "What|Who|Whoever|Of|So|Late"
BEGINNING = re.compile(rf"(?:^|(?<=[.!?] ))({WORDS})\b")
BLOCK = re.compile(r"/\*.*?\*/|^[ \t]*//[^\n]*(?:\n[ \t]*//[^\n]*)*", re.S | re.M)
HASH = re.compile(r"^[ \t]*#(?!!)[^\n]*(?:\n[ \t]*#[^\n]*)*", re.M)
DOCSTRING = re.compile(r'"""(.*?)"""', re.S)
PARAGRAPH = re.compile(r"(?:^(?![#|>`]|    |- )[^\n]+\n?)+", re.M)


def patterns(file):
    if file.suffix in (".c", ".h", ".def", ".api", ".cu"):
        return [BLOCK] if file.suffix != ".api" else [HASH]
    if file.suffix == ".py":
        return [DOCSTRING, HASH]
    if file.suffix in (".sh", ".cmake") or file.path.endswith("CMakeLists.txt"):
        return [HASH]
    return [PARAGRAPH] if file.suffix == ".md" else []


def check(tree):
    for file in tree.files:
        page = file.suffix == ".md"
        if not page and (not file.path.startswith(HELD) or file.path.startswith(LEFT_OUT)):
            continue
        for pattern in patterns(file):
            for text in pattern.finditer(file.text):
                yield from sentences(file, text)


def sentences(file, text):
    words = re.sub(r"\s+[*#/]*\s*", " ", re.sub(r"^[\s/*#\"]+", "", text.group()))
    match = BEGINNING.search(words)
    if match:
        number = file.text.count("\n", 0, text.start()) + 1
        sentence = words[match.start():match.start() + 40]
        yield file.finding(number, f"a sentence begins with {match.group(1)}: {sentence}...")
