# SPDX-License-Identifier: Apache-2.0
"""Sentences of comments and pages have their subject first, as STYLE.md says: none begins with one
of WORDS. No comment begins with one of OPENINGS, because it needs its neighbour to be understood. A
program, a tenant and a session is `it`: comments have no word of PEOPLE."""

import re

from comments import comments

LEFT_OUT = ("api/gen/", "api/released/", "api/tests/golden/")
WORDS = "What|Who|Whoever|Of|So|Late"
BEGINNING = re.compile(rf"(?:^|(?<=[.!?] ))({WORDS})\b")
OPENINGS = re.compile("(It (?:has|is|does|was)|The same|They)\\b")
PEOPLE = re.compile(r"\b(he|him|his|himself)\b", re.I)
PARAGRAPH = re.compile(r"(?:^(?![#|>`]|    |- )[^\n]+\n?)+", re.M)


def check(tree):
    for file in tree.files:
        if file.suffix == ".md":
            for number, text in paragraphs(file):
                yield from sentences(file, number, flat(text))
        elif not file.path.startswith(LEFT_OUT):
            for number, text in comments(file):
                yield from sentences(file, number, flat(text))
                yield from comment(file, number, flat(text))


def paragraphs(page):
    for match in PARAGRAPH.finditer(page.text):
        yield page.text.count("\n", 0, match.start()) + 1, match.group()


def flat(text):
    return re.sub(r"\s+[*#/]*\s*", " ", re.sub(r"^[\s/*#\"]+", "", text))


def sentences(file, number, words):
    for match in BEGINNING.finditer(words):
        sentence = words[match.start():match.start() + 40]
        yield file.finding(number, f"a sentence begins with {match.group(1)}: {sentence}... Begin "
                           "with its subject")


def comment(file, number, words):
    opening = OPENINGS.match(words)
    if opening:
        yield file.finding(number, f"the comment begins with {opening.group()}: name the thing, so "
                           f"that it can be read alone: {words[:40]}...")
    for match in PEOPLE.finditer(words):
        yield file.finding(number, f"{match.group()}: a program, a tenant and a session is it, a "
                           f"user they: {words[max(match.start() - 30, 0):match.end() + 10]}")
