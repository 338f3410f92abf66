# SPDX-License-Identifier: Apache-2.0
"""The tests that can see a change, and why. A test is chosen because its program is linked with the
file or needs such a program, because it is a script that uses the file, or because
tests/changed.txt says so. A file that none of these knows selects all tests of its folder."""

import os
from dataclasses import dataclass, field

import table


@dataclass
class Choice:
    reasons: list = field(default_factory=list)   # (why, names of tests)
    products: set = field(default_factory=set)    # what users load, with something new in it
    notes: list = field(default_factory=list)

    def names(self):
        return set().union(*(names for _, names in self.reasons))


class Chooser:
    def __init__(self, root, graph, tests, scripts, rows):
        self.root, self.graph, self.tests = root, graph, tests
        self.scripts, self.rows = scripts, rows
        self.paths = [(test, [word for word in test.words if word.startswith(root + "/")])
                      for test in tests]
        self.shipped = tuple(os.path.join(graph.build, folder) + "/" for folder in ("bin", "lib"))

    def is_product(self, path):
        return path in self.graph.linked and path.startswith(self.shipped)

    def programs(self, reached):
        """Names of the test programs that contain the file."""
        taken = {os.path.basename(path) for path in self.graph.linked if self.is_product(path)}
        names = {os.path.basename(path).removesuffix("_shared") for path in reached
                 if path in self.graph.linked or path in self.graph.commanded}
        return names - taken

    def linked(self, reached):
        return {test.name for test in self.tests if not test.words.isdisjoint(reached)}

    def beside(self, reached):
        """Programs that want another one to be built before, which they start."""
        return {test.name for test in self.tests if test.command and
                self.graph.before.get(test.command[0], set()) & reached}

    def running(self, names):
        """Scripts that run one of the programs."""
        return {test.name for test in self.tests if names and test.script and
                not (names.isdisjoint(test.command) and
                     names.isdisjoint(self.scripts.runs(test.script)))}

    def naming(self, path):
        """Scripts that are the file, import it or say its name, and tests that are given it or its
        folder."""
        def near(word):
            return word == path or (path.startswith(word + "/") and os.path.relpath(
                word, self.root).count("/") >= 1)
        def uses(script):
            return path in self.scripts.closure(script) or (
                "." in name and name != "CMakeLists.txt" and name in self.scripts.strings(script))
        name = os.path.basename(path)
        return {test.name for test, paths in self.paths
                if any(map(near, paths)) or (test.script and uses(test.script))}

    def added(self, path):
        """Tests that a file of cmake's adds, as far as its folder says it."""
        if not path.endswith(("CMakeLists.txt", ".cmake")):
            return set()
        return {test.name for test in self.tests if test.folder == os.path.dirname(path)}

    def folder_tests(self, path):
        """(folder, names): of the nearest folder that has tests."""
        folder = os.path.dirname(path)
        while folder.startswith(self.root + "/"):
            names = {test.name for test in self.tests if test.folder == folder}
            if names:
                return os.path.relpath(folder, self.root), names
            folder = os.path.dirname(folder)
        return None, {test.name for test in self.tests}

    def derived(self, path, choice):
        """(why, names) of what build and scripts say; and what of the product it is in."""
        full = os.path.join(self.root, path)
        reached = self.graph.reached(full)
        products = {file for file in reached if self.is_product(file)}
        choice.products |= {os.path.relpath(file, self.graph.build) for file in products}
        linked = self.linked(reached)
        beside = self.beside(reached) - linked
        running = self.running(self.programs(reached)) - linked - beside
        naming = self.naming(full) - linked - beside - running
        return bool(products), [(f"{path} is in the program", linked),
                                (f"{path} is in a program that they start", beside),
                                (f"{path} is in a program that the script runs", running),
                                (f"{path} is part of the test", naming),
                                (f"{path} adds the test", self.added(full))]

    def one(self, path, choice):
        fitting = [row for row in self.rows if row.fits(path)]
        in_product, reasons = False, []
        if os.path.exists(os.path.join(self.root, path)):
            in_product, reasons = self.derived(path, choice)
            reasons = [(why, names) for why, names in reasons if names]
        elif not fitting:
            choice.notes.append(f"{path} is gone: who used it has changed, too, or does not build")
            return
        if any(row.only for row in fitting):
            left = set().union(*(names for _, names in reasons))
            for row in fitting:
                left -= row.names(self.tests, path)
            if left:
                choice.notes.append(f"{path} is used by {len(left)} tests more, left out by "
                                    "tests/changed.txt")
            reasons = []
        reasons += [(f"tests/changed.txt, line {row.line}, for {path}",
                     row.names(self.tests, path)) for row in fitting]
        if in_product and not fitting:
            reasons += [(f"tests/changed.txt, line {row.line}: {path} is in the product",
                         row.names(self.tests)) for row in self.rows if row.path == table.PRODUCT]
        if not reasons:
            folder, names = self.folder_tests(os.path.join(self.root, path))
            what = f"all tests of {folder}" if folder else "all tests"
            reasons.append((f"nothing says what sees {path}: {what}", names))
        choice.reasons += reasons

    def choose(self, paths):
        choice = Choice()
        for path in paths:
            self.one(path, choice)
        if paths:
            choice.reasons += [(f"tests/changed.txt, line {row.line}: always",
                                row.names(self.tests))
                               for row in self.rows if row.path == table.ALWAYS]
        return choice
