# SPDX-License-Identifier: Apache-2.0
"""The dependencies of a build, from ninja: which file is made from which. There are two sources:
the edges of build.ninja, and the headers that the compiler named when it last ran (ninja -t
deps)."""

import os
import re
import subprocess
from collections import defaultdict
from dataclasses import dataclass

WORD = re.compile(r"(?:\$.|[^$\s])+", re.DOTALL)
LINKS = re.compile(r"C_(EXECUTABLE|SHARED_LIBRARY|MODULE_LIBRARY)_LINKER__")


@dataclass(frozen=True)
class Edge:
    rule: str
    outputs: tuple
    inputs: tuple  # implicit ones, too
    first: tuple   # only has to be there before: "order-only"


def plain(word):
    return re.sub(r"\$(.)", r"\1", word, flags=re.DOTALL)


def edges(text):
    """The edges in the text of a build.ninja that cmake wrote."""
    text = text.replace("$\n", "").replace("${cmake_ninja_workdir}", "")
    for line in re.findall(r"(?m)^build (.*)$", text):
        outputs, inputs = re.split(r"(?<!\$):", line, maxsplit=1)
        inputs, _, first = (" " + inputs + " ").partition(" || ")
        words = [plain(word) for word in WORD.findall(inputs) if word != "|"]
        yield Edge(words[0], tuple(plain(word) for word in WORD.findall(outputs) if word != "|"),
                   tuple(words[1:]), tuple(plain(word) for word in WORD.findall(first)))


def headers(text):
    """(output, its headers) from the output of `ninja -t deps`."""
    output = None
    for line in text.splitlines():
        if line.startswith("    "):
            yield output, line.strip()
        elif ": #deps " in line:
            output = line.partition(": #deps ")[0]


class Graph:
    """Paths are absolute."""

    def __init__(self, build, ninja_text, deps_text):
        self.build = build
        self.made_of = defaultdict(set)  # input -> outputs
        self.before = {}                 # program -> the files that it needs at run time
        self.linked = set()              # programs and shared libraries
        self.commanded = set()           # made by a command of our own: nvcc's programs, say
        for edge in edges(ninja_text):
            if edge.rule.startswith("RERUN_CMAKE"):
                continue
            if edge.rule == "CUSTOM_COMMAND":
                self.commanded.update(self.absolute(path) for path in edge.outputs
                                      if not path.endswith(".util"))
            for path in edge.inputs:
                self.made_of[self.absolute(path)].update(map(self.absolute, edge.outputs))
            if LINKS.match(edge.rule):
                self.linked.update(map(self.absolute, edge.outputs))
                for output in edge.outputs:
                    self.before[self.absolute(output)] = {
                        self.absolute(path) for path in edge.first if not path.endswith(".a")}
        for output, path in headers(deps_text):
            self.made_of[self.absolute(path)].add(self.absolute(output))

    @classmethod
    def of(cls, build):
        with open(os.path.join(build, "build.ninja"), encoding="utf-8") as file:
            ninja_text = file.read()
        deps = subprocess.run(["ninja", "-C", build, "-t", "deps"], check=True,
                              capture_output=True, text=True).stdout
        return cls(build, ninja_text, deps)

    def absolute(self, path):
        return os.path.normpath(os.path.join(self.build, path))

    def reached(self, path):
        """All that has the file in it, at whatever remove."""
        found, open_ends = set(), [path]
        while open_ends:
            for output in self.made_of.get(open_ends.pop(), ()):
                if output not in found:
                    found.add(output)
                    open_ends.append(output)
        return found
