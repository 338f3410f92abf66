# SPDX-License-Identifier: Apache-2.0
"""Sizes: a file has at most 500 lines, a function 70, a line 100 columns. EXEMPT lists the
exceptions with their reasons; rows of tables in prose are exempt as well, because they cannot be
broken."""

import ast
import fnmatch
import re

FILE_LINES = 500
FUNCTION_LINES = 70
COLUMNS = 100
# An index: how to change something stands in the README of the folder.
ARCHITECTURE, ARCHITECTURE_LINES, ARCHITECTURE_BYTES = "ARCHITECTURE.md", 250, 20 * 1024

CHECKED = (".c", ".h", ".cu", ".py", ".sh", ".cmake", ".def", ".api", ".map",
           ".md")

# pattern -> (what it is free of, why)
EXEMPT = {
    "*.def": ({"lines", "columns"}, "tables: one row per line, however many and long"),
    "docs/semantics.md": ({"lines"}, "statements looked up by number, all on one page"),
    "docs/compatibility.md": ({"lines", "columns"}, "generated: a row per call and per program"),
    "*.api": ({"lines", "columns"}, "the description of the CUDA API: one stanza per call"),
}


def exempt_from(path):
    for pattern, (what, _) in EXEMPT.items():
        if fnmatch.fnmatch(path, pattern):
            return what
    return set()


def check(tree):
    for file in tree.files:
        if file.suffix not in CHECKED and not file.path.endswith("CMakeLists.txt"):
            continue
        free = exempt_from(file.path)
        if "lines" not in free and len(file.lines) > FILE_LINES:
            yield file.finding(FILE_LINES + 1, f"{len(file.lines)} lines, {FILE_LINES} allowed: "
                               "split the file by idea")
        if file.path == ARCHITECTURE and (len(file.lines) > ARCHITECTURE_LINES or
                                          len(file.text.encode()) > ARCHITECTURE_BYTES):
            yield file.finding(0, f"{len(file.lines)} lines and {len(file.text.encode())} bytes, "
                               f"{ARCHITECTURE_LINES} and {ARCHITECTURE_BYTES} allowed: move "
                               "details to the README of their folder")
        if "columns" not in free:
            yield from long_lines(file)
        for line, name, length in functions(file):
            if length > FUNCTION_LINES:
                yield file.finding(line, f"{name} has {length} lines, {FUNCTION_LINES} allowed")


def long_lines(file):
    for number, line in enumerate(file.lines, 1):
        row = file.suffix == ".md" and line.startswith("|")
        if len(line) > COLUMNS and not row:
            yield file.finding(number, f"{len(line)} columns, {COLUMNS} allowed")
        if "\t" in line and file.suffix in (".c", ".h", ".cu", ".py"):
            yield file.finding(number, "a tab: indent with spaces")


def functions(file):
    """(line, name, number of lines) of each function."""
    if file.suffix in (".c", ".h", ".cu"):
        yield from c_functions(file.lines)
    elif file.suffix == ".py":
        for node in ast.walk(ast.parse(file.text)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield node.lineno, node.name, node.end_lineno - node.lineno + 1


def c_functions(lines):
    """By layout, which clang-format fixes: the brace that opens and the one that closes a function
    stand alone in the first column, and nothing else's does both."""
    start = None
    for number, line in enumerate(lines, 1):
        if line == "{":
            start = signature_start(lines, number)
        elif line.startswith("}") and start is not None:
            yield start, name_of(lines[start - 1]), number - start + 1
            start = None


def signature_start(lines, brace):
    """The first line of the signature that ends above the brace (both counted from 1)."""
    start = brace - 1
    while start > 1 and lines[start - 1].startswith((" ", ")")):
        start -= 1
    return max(start, 1)


def name_of(signature):
    match = re.search(r"(\w+)\s*\(", signature)
    return match.group(1) if match else "a function"
