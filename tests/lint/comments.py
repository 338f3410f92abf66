# SPDX-License-Identifier: Apache-2.0
"""The comments of a source: of C, of Python with its docstrings, of shell and CMake."""

import re

BLOCK = re.compile(r"/\*.*?\*/|^[ \t]*//[^\n]*(?:\n[ \t]*//[^\n]*)*", re.S | re.M)
HASH = re.compile(r"^[ \t]*#(?!!)[^\n]*(?:\n[ \t]*#[^\n]*)*", re.M)
DOCSTRING = re.compile(r'"""(.*?)"""', re.S)


def patterns(file):
    if file.suffix in (".c", ".h", ".def", ".cu"):
        return [BLOCK]
    if file.suffix == ".py":
        return [DOCSTRING, HASH]
    if file.suffix in (".api", ".sh", ".cmake") or file.path.endswith("CMakeLists.txt"):
        return [HASH]
    return []


def comments(file):
    """(line, text) of each."""
    for pattern in patterns(file):
        for match in pattern.finditer(file.text):
            yield file.text.count("\n", 0, match.start()) + 1, match.group()
