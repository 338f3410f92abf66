# SPDX-License-Identifier: Apache-2.0
"""The files that have to be built before tests can run. A test needs the programs that its command
and its environment name. A script needs what users load besides, and the program that it is told,
or each whose name is a string in it or in what it imports: rather one too many than an old one."""

import os

USERS = "installed"          # the target with all that users load
ALL_PROGRAMS = "programs.txt"  # who reads this list runs all programs of tests/kernels


class Needs:
    def __init__(self, graph, scripts):
        self.graph, self.scripts = graph, scripts
        self.tests = os.path.join(scripts.root, "tests") + "/"
        self.by_name = {}
        for path in graph.linked | graph.commanded:
            name = os.path.basename(path).removesuffix("_shared")
            self.by_name.setdefault(name, set()).add(path)
        self.kernels = {path for path in graph.commanded if os.path.basename(
            os.path.dirname(path)) == "kernels" and not path.startswith(graph.build + "/")}

    def of(self, test):
        """Files, and perhaps USERS; None: all that there is."""
        found = test.words & (self.graph.linked | self.graph.commanded)
        if test.script is None:
            return None if self.graph.build in test.words else found
        if self.graph.build not in test.words:
            return found
        if not test.script.startswith(self.tests):
            return None
        told = [word for word in test.command if word in self.by_name]
        strings = told or self.scripts.strings(test.script)
        if ALL_PROGRAMS in strings:
            found |= self.kernels
        for word in strings:
            found |= self.by_name.get(os.path.basename(word), set())
        return found | {USERS}

    def targets(self, tests):
        """As ninja calls them."""
        found = set()
        for test in tests:
            files = self.of(test)
            if files is None:
                return {"all"}
            found |= files
        inside = self.graph.build + "/"
        return {path.removeprefix(inside) for path in found}
