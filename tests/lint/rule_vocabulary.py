# SPDX-License-Identifier: Apache-2.0
"""docs/vocabulary.md and the code agree: what its last column names is there, and the words of its
table "Words that these replace" are in no identifier and no file name of the folders there."""

import fnmatch
import os
import re

PAGE = "docs/vocabulary.md"
REPLACED = "## Words that these replace"
QUOTED = re.compile(r"`([^`]+)`")
# Comments, strings, includes, and what a test says
NOT_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|^[ \t]*#[ \t]*include[^\n]*|'
                      r"^Test\([^)]*\)", re.DOTALL | re.MULTILINE)
GIVEN = re.compile(r"atomic_")  # of the C library


def check(tree):
    page = next((file for file in tree.files if file.path == PAGE), None)
    if page is None:
        return
    terms, _, replaced = page.text.partition(REPLACED)
    yield from lost_names(tree, page, terms)
    for number, row in rows(replaced, terms.count("\n")):
        words = {word.lower() for word in QUOTED.findall(row[0])}
        yield from old_words(tree, words, row[1], tuple(QUOTED.findall(row[2])))


def rows(text, before):
    """(line, columns) of each row of a table; `before`: lines above the text."""
    for number, line in enumerate(text.splitlines(), before + 1):
        columns = [column.strip() for column in line.strip("|").split("|")]
        if line.startswith("|") and not set(columns[0]) <= set("- ") and "`" in line:
            yield number, columns


def lost_names(tree, page, terms):
    paths = {file.path for file in tree.files}
    paths |= {os.path.dirname(path) for path in paths}
    code = "\n".join(file.text for file in tree.with_suffix(".c", ".h", ".def", ".api"))
    known = paths | set(re.findall(r"(?:struct |enum )?\w+", code)) | set(re.findall(r"\w+", code))
    for number, columns in rows(terms, 0):
        for name in QUOTED.findall(columns[-1]):
            if name.rstrip("/") not in known and not ("*" in name and fnmatch.filter(known, name)):
                yield page.finding(number, f"{name}: there is no such name, file or folder")


def old_words(tree, words, instead, where):
    for file in tree.with_suffix(".c", ".h", ".def", ".py"):
        if not file.path.startswith(where):
            continue
        for word in words & set(re.split(r"[/._]", file.path.lower())):
            yield file.finding(0, f"the file's name has {word}: say {instead}")
        if file.suffix == ".py":
            continue
        code = NOT_CODE.sub(lambda match: "\n" * match.group().count("\n"), file.text)
        for number, line in enumerate(code.splitlines(), 1):
            for name in re.findall(r"[A-Za-z]\w*", line):
                old = words & set(name.lower().split("_"))
                if old and not GIVEN.match(name):
                    yield file.finding(number, f"{name}: say {instead} ({PAGE})")
