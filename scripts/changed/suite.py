# SPDX-License-Identifier: Apache-2.0
"""The tests of a build as ctest lists them, and what each of them has to do with files."""

import ast
import functools
import json
import os
import re
import shlex
import subprocess
from dataclasses import dataclass

ADDED = re.compile(r"^add_test\(\[=\[(.+?)\]=\] (.*)\)$", re.MULTILINE)
BELOW = re.compile(r'^subdirs\("(.+?)"\)$', re.MULTILINE)


@dataclass(frozen=True)
class Test:
    name: str
    command: tuple
    environment: tuple  # NAME=VALUE
    folder: str         # of the CMakeLists.txt that adds it

    @functools.cached_property
    def words(self):
        """Paths among them are absolute."""
        return {*self.command, *(pair.partition("=")[2] for pair in self.environment)}

    @functools.cached_property
    def script(self):
        return next((word for word in self.command if word.endswith(".py")), None)


def commands(folder):
    """name -> command, as cmake wrote it: ctest does not tell it before the program is built."""
    try:
        with open(os.path.join(folder, "CTestTestfile.cmake"), encoding="utf-8") as file:
            text = file.read()
    except FileNotFoundError:
        return {}
    found = {name: tuple(shlex.split(words)) for name, words in ADDED.findall(text)}
    for below in BELOW.findall(text):
        found.update(commands(os.path.join(folder, below)))
    return found


def tests(listing, written=None):
    """The tests in the output of `ctest --show-only=json-v1`."""
    found, graph = [], listing["backtraceGraph"]
    for test in listing["tests"]:
        values = {each["name"]: each["value"] for each in test.get("properties", [])}
        node = graph["nodes"][test["backtrace"]]
        files = []
        while True:
            files.append(graph["files"][node["file"]])
            if "parent" not in node:
                break
            node = graph["nodes"][node["parent"]]
        lists = [file for file in files if file.endswith("CMakeLists.txt")]
        found.append(Test(test["name"], tuple(test.get("command") or (written or {}).get(
                              test["name"], ())),
                          tuple(values.get("ENVIRONMENT", [])), os.path.dirname(lists[0])))
    return found


def of(build):
    text = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], check=True,
                          capture_output=True, text=True).stdout
    return tests(json.loads(text), commands(build))


def seconds(build):
    """name -> how long it took when it ran, as far as ctest remembers."""
    try:
        with open(os.path.join(build, "Testing", "Temporary", "CTestCostData.txt"),
                  encoding="utf-8") as file:
            rows = [line.split() for line in file]
    except FileNotFoundError:
        return {}
    return {row[0]: float(row[2]) for row in rows if len(row) == 3}


class Scripts:
    """Python files, which find each other by name, in the folders that our tests have."""

    def __init__(self, root, folders=("tests/e2e", "tests/faults", "perf", "tests/rdma",
                                      "tests/tools/latency", "tests/lint", "api/gen")):
        self.root, self.folders = root, folders

    @functools.lru_cache(maxsize=None)
    def parsed(self, path):
        with open(path, encoding="utf-8") as file:
            return list(ast.walk(ast.parse(file.read())))

    @functools.lru_cache(maxsize=None)
    def imports(self, path):
        """The imported files of ours; those of its own folder come first."""
        names = set()
        for node in self.parsed(path):
            if isinstance(node, ast.Import):
                names.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module)
                names.update(f"{node.module}.{alias.name}" for alias in node.names)
        found = set()
        for name in names:
            for folder in (os.path.dirname(path), *self.folders):
                file = os.path.join(self.root, folder, name.replace(".", os.sep) + ".py")
                if os.path.exists(file):
                    found.add(file)
                    break
        return found

    @functools.lru_cache(maxsize=None)
    def closure(self, path):
        """The script and all that it imports."""
        found, open_ends = set(), [path]
        while open_ends:
            at = open_ends.pop()
            if at not in found and os.path.exists(at):
                found.add(at)
                open_ends += self.imports(at)
        return found

    @functools.lru_cache(maxsize=None)
    def runs(self, path):
        """Names of programs that the script or its imports get from the harness."""
        found = set()
        for file in self.closure(path):
            for node in self.parsed(file):
                if (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and
                        node.func.attr in ("path", "program")):
                    found.update(word.value.rsplit("/", 1)[-1] for word in node.args
                                 if isinstance(word, ast.Constant) and isinstance(word.value, str))
        return found

    @functools.lru_cache(maxsize=None)
    def strings(self, path):
        """The strings of the script and its imports, which may be names of files."""
        return {node.value for file in self.closure(path) for node in self.parsed(file)
                if isinstance(node, ast.Constant) and isinstance(node.value, str)}
