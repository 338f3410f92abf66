# SPDX-License-Identifier: Apache-2.0
"""Comments and pages name what is there: every file, every folder of the tree, every `struct x`,
and every link of a page with its anchor. A file may be named by the end of its path."""

import os
import re

from comments import comments

SUFFIXES = "api|c|cmake|cu|def|h|md|py|sh|txt"
FILE = re.compile(rf"(?<![\w/.<>*$}}{{%-])((?:[\w.-]+/)*[\w-]+\.(?:{SUFFIXES}))(?![\w*<-]|\.\w|/)")
FOLDER = re.compile(r"(?<![\w/.<>*$}{-])((?:[\w-]+/)+)(?![\w<*{$.\[])")
STRUCT = re.compile(r"\bstruct (\w+)\b(?!\*)")
LINK = re.compile(r"\]\(([^)\s]+)\)")
NOT_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.S)
INCLUDED = re.compile(r"#\s*include\s*[<\"]([^>\"]+)[>\"]")

# Files of CUDA, of programs that run here, and examples.
ELSEWHERE = {
    "cooperative_groups/details/driver_abi.h", "cooperative_groups/details/memory.h",
    "cooperative_groups/details/sync.h", "cuda_device_runtime_api.h", "fatbinary_section.h",
    "uses_cupy.py", "vec.cu", "name.cu", "fake.py", "2.c", "mutant.h", "copy_over.c", "out.c",
}
STRUCTS_ELSEWHERE = {"cudaFuncAttributes", "grid_workspace"}
# "a struct is", not `struct is`
WORDS = set("and are begins has is of on parameters that whose with".split())
PLACEHOLDER = re.compile(r"(^|_)([A-Z]+|x)(_|$)")  # NAME.c, schema_N.def, x_more.c
# Written by programs, and samples that break the rules.
LEFT_OUT = ("api/released/", "docs/compatibility.md", "tests/lint/test_rules.py",
            "tests/lint/test_page_rules.py")

def check(tree):
    known = Known(tree)
    for file in tree.files:
        if file.path.startswith(LEFT_OUT):
            continue
        for number, text in texts(file):
            yield from lost(file, number, text, known)
        if file.suffix == ".md":
            yield from dead_links(file, known)


def texts(file):
    """(line, text) of the comments of a source, or a page."""
    return [(1, file.text)] if file.suffix == ".md" else comments(file)


class Known:
    def __init__(self, tree):
        self.tree = {file.path: file for file in tree.files}
        self.folders = {os.path.dirname(path) for path in self.tree}
        for folder in list(self.folders):
            while folder:
                folder = os.path.dirname(folder)
                self.folders.add(folder)
        self.ends = {end for path in self.tree for end in ends(path)}
        self.tops = {path.split("/")[0] for path in self.tree if "/" in path}
        self.structs = set(STRUCTS_ELSEWHERE) | WORDS
        for file in tree.with_suffix(".c", ".h", ".def", ".api", ".cu", ".py"):
            text = file.text
            self.ends.update(INCLUDED.findall(text))
            code = text if file.suffix in (".py", ".api") else NOT_CODE.sub("", text)
            self.structs.update(re.findall(r"\bstruct (\w+)", code))
        for file in tree.files:
            if file.suffix == ".cmake" or file.path.endswith("CMakeLists.txt") or \
                    file.path.startswith("api/gen/"):
                self.ends |= made(file)


def made(file):
    """The files that the build or the generator makes, by their names in its code."""
    code = file.text
    for _, comment in comments(file):
        code = code.replace(comment, "")
    return {name.rpartition("/")[2] for name in re.findall(rf"[\w./-]+\.(?:{SUFFIXES})\b", code)}


def ends(path):
    parts = path.split("/")
    return {"/".join(parts[start:]) for start in range(len(parts))}


def line_of(number, text, at):
    return number + text.count("\n", 0, at)


def lost(file, number, text, known):
    for match in FILE.finditer(text):
        name = re.sub(r"^(\.\./)+", "", match.group(1))
        stem = os.path.splitext(os.path.basename(name))[0]
        if name not in known.ends and name not in ELSEWHERE and not PLACEHOLDER.search(stem) and \
                not name.startswith("build/"):
            yield file.finding(line_of(number, text, match.start()), f"{name} is not in the tree: "
                               "name the file that it has become, or leave it out")
    for match in FOLDER.finditer(text):
        name = match.group(1).rstrip("/")
        if name.split("/")[0] in known.tops and name not in known.folders:
            yield file.finding(line_of(number, text, match.start()), f"there is no folder {name}/: "
                               "name the folder that it has become, or leave it out")
    for match in STRUCT.finditer(text):
        if match.group(1) not in known.structs and not PLACEHOLDER.search(match.group(1)):
            yield file.finding(line_of(number, text, match.start()),
                               f"no code has a struct {match.group(1)}: name what it has become")


def anchors(page):
    """The anchors of its titles, as GitHub makes them."""
    for title in re.findall(r"(?m)^#+ (.*)$", page.text):
        yield re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def dead_links(file, known):
    for match in LINK.finditer(file.text):
        link, _, anchor = match.group(1).partition("#")
        if re.match(r"\w+:", link):
            continue
        at = os.path.normpath(os.path.join(os.path.dirname(file.path), link)) if link else file.path
        line = line_of(1, file.text, match.start())
        if at not in known.tree and at not in known.folders:
            yield file.finding(line, f"the link to {link} is dead: there is no such file or folder")
        elif anchor and (at not in known.tree or anchor not in anchors(known.tree[at])):
            yield file.finding(line, f"the link to {link}#{anchor} is dead: no title says that")
