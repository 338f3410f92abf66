# SPDX-License-Identifier: Apache-2.0
"""Sentences of comments and pages have their subject first, as STYLE.md says: none begins with one
of WORDS. HELD are the folders whose comments keep to it, and the pages; it grows."""

import re

from comments import comments

HELD = ("api/", "base/", "cmd/", "conf/", "front/", "jit/", "perf/", "scripts/", "softgpu/",
        "transport/", "docs/")
LEFT_OUT = ("api/gen/", "api/released/", "api/tests/golden/")
WORDS = "What|Who|Whoever|Of|So|Late"
BEGINNING = re.compile(rf"(?:^|(?<=[.!?] ))({WORDS})\b")
PARAGRAPH = re.compile(r"(?:^(?![#|>`]|    |- )[^\n]+\n?)+", re.M)


def check(tree):
    for file in tree.files:
        page = file.suffix == ".md"
        if not page and (not file.path.startswith(HELD) or file.path.startswith(LEFT_OUT)):
            continue
        for number, text in paragraphs(file) if page else comments(file):
            yield from sentences(file, number, text)


def paragraphs(page):
    for match in PARAGRAPH.finditer(page.text):
        yield page.text.count("\n", 0, match.start()) + 1, match.group()


def sentences(file, number, text):
    words = re.sub(r"\s+[*#/]*\s*", " ", re.sub(r"^[\s/*#\"]+", "", text))
    match = BEGINNING.search(words)
    if match:
        sentence = words[match.start():match.start() + 40]
        yield file.finding(number, f"a sentence begins with {match.group(1)}: {sentence}...")
