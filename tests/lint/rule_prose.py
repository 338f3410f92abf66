# SPDX-License-Identifier: Apache-2.0
"""Sentences have their subject first, as STYLE.md says: none begins with one of WORDS. No comment
begins with one of OPENINGS, because it needs its neighbour to be understood. A program, a tenant
and a session is `it`: no text has a word of PEOPLE. The rule sees comments, pages, and texts that
users read: strings of the product, and manual pages."""

import re

from comments import comments

LEFT_OUT = ("api/gen/", "api/released/", "api/tests/golden/")
WORDS = "What|Who|Whoever|Of|So|Late"
BEGINNING = re.compile(rf"(?:^|(?<=[.!?] ))({WORDS})\b")
OPENINGS = re.compile("(It (?:has|is|does|was)|The same|They)\\b")
PEOPLE = re.compile(r"\b(he|him|his|himself)\b", re.I)
LITERAL = r'"((?:\\.|[^"\\\n])*)"'
STRINGS = re.compile(rf"{LITERAL}(?:\s*(?:[A-Z]\w*\s*)?{LITERAL})*")
COMMENT = re.compile(r"/\*.*?\*/|^[ \t]*//[^\n]*|^[ \t]*#[^\n]*", re.S | re.M)
PARAGRAPH = re.compile(r"(?:^(?![#|>`]|    |- )[^\n]+\n?)+", re.M)


def check(tree):
    for file in tree.files:
        if file.suffix == ".md":
            for number, text in paragraphs(file):
                yield from sentences(file, number, flat(text))
            for number, line in enumerate(file.lines, 1):
                yield from people(file, number, line)
        elif not file.path.startswith(LEFT_OUT):
            for number, text in comments(file):
                yield from sentences(file, number, flat(text))
                yield from comment(file, number, flat(text))
            for number, text in texts(file):
                yield from sentences(file, number, text)
                yield from people(file, number, text)


def texts(file):
    """(line, text) that users read: sentences in strings, and lines of manual pages."""
    if re.search(r"\.\d$", file.path):
        for number, line in enumerate(file.lines, 1):
            if not line.startswith("."):
                yield number, line
    if file.suffix not in (".c", ".h", ".def") or "tests" in file.path.split("/")[:-1]:
        return
    code = COMMENT.sub(lambda match: "\n" * match.group().count("\n"), file.text)
    for match in STRINGS.finditer(code):
        text = "".join(re.findall(LITERAL, match.group())).replace("\\n", " ")
        if " " in text:
            yield code.count("\n", 0, match.start()) + 1, text


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
    yield from people(file, number, words)


def people(file, number, words):
    for match in PEOPLE.finditer(words):
        yield file.finding(number, f"{match.group()}: a program, a tenant and a session is it, a "
                           f"user they: {words[max(match.start() - 30, 0):match.end() + 10]}")
