# SPDX-License-Identifier: Apache-2.0
"""The declarations of x.h are defined in x.c, or in files of its family (x_more.c, beside it), so
that a reader finds it; and what a file shares with others, its own header declares. x_internal.h is
another header of the family x."""

import re

import folders
from tree import Finding

COMMENT_OR_TEXT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.S)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.M)
# At the outermost level: a type, a name, parameters, perhaps an attribute; then `;` or a body
FUNCTION = re.compile(r"^(?!static\b|typedef\b|return\b|else\b)[A-Za-z_][\w\s*]*?\b(\w+)\s*"
                      r"\((?:[^(){};]|\([^(){};]*\))*\)\s*(?:[A-Z_]+\([^()]*\)\s*)?([;{])", re.M)
OBJECT = re.compile(r"^extern\b(?!\s*\"C\")[^;(){}]*?((?:\b\w+(?:\s*\[[^\]]*\])*\s*,\s*)*"
                    r"\b\w+(?:\s*\[[^\]]*\])*)\s*;", re.M)
DEFINITION = re.compile(r"^(?!static\b|extern\b|typedef\b|struct \w+\s*;|_Static_assert\b)"
                        r"[A-Za-z_][\w\s*]*?\b(\w+)(?:\s*\[[^\]]*\])*\s*(?:=[^;]*)?;", re.M)
ATTRIBUTE = re.compile(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)")
CUDA = re.compile(r"^(cu[A-Z]|nvrtc|nvJitLink|nvml|__)|^main$")


def check(tree):
    declared, defined = {}, {}  # path -> {name: line}
    for file in tree.with_suffix(".c", ".h"):
        if file.path.startswith(folders.HEADERS_HOLD) and "/tests/" not in file.path:
            kind = declared if file.suffix == ".h" else defined
            kind[file.path] = names(file.text, file.suffix == ".h")
    for path, found in sorted(declared.items()):
        known = known_to(defined[other] for other in defined if of_family(path, other))
        for name, line in found.items():
            if name not in known:
                yield Finding(path, line, f"{name} is not defined in {stem(path)}.c or its family")
    for path, found in sorted(defined.items()):
        known = known_to(declared[other] for other in declared if of_family(other, path))
        for name, line in found.items():
            if name not in known and not CUDA.match(name):
                yield Finding(path, line, f"{name} is declared in no header of this file")


def known_to(family):
    return set().union(*family, folders.DEFINED_ABOVE)


def stem(path):
    return re.sub(r"(_internal)?\.[ch]$", "", path)


def of_family(header, source):
    """client/conn/conn.h and client/conn/conn_send.c"""
    return (stem(source) + "_").startswith(stem(header) + "_")


def names(text, header):
    text = ATTRIBUTE.sub(blank, DIRECTIVE.sub(blank, COMMENT_OR_TEXT.sub(blank, text)))
    outer = outermost(text)
    found = {}
    for match in FUNCTION.finditer(outer):
        if (match.group(2) == ";") == header:
            found[match.group(1)] = outer.count("\n", 0, match.start(1)) + 1
    if header:
        for match in OBJECT.finditer(outer):
            for name in re.sub(r"\[[^\]]*\]", "", match.group(1)).split(","):
                found[name.split()[-1]] = outer.count("\n", 0, match.start(1)) + 1
    else:
        for match in DEFINITION.finditer(outer):
            found.setdefault(match.group(1), outer.count("\n", 0, match.start(1)) + 1)
    return found


def blank(match):
    return re.sub(r"[^\n]", " ", match.group(0))


def outermost(text):
    """Without what stands between braces; the braces stay."""
    out, depth = [], 0
    for char in text:
        depth -= char == "}"
        out.append(char if depth == 0 or char == "\n" else " ")
        depth += char == "{"
    return "".join(out)
