#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_changed.py BUILD: what ./dev test --changed chooses, of a small build whose files are known
here, and of this one: every folder of the product has end-to-end tests, every row of
tests/changed.txt fits a file and names tests, and a change in a folder is not a run of all."""

import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "scripts", "changed"))

import choose  # noqa: E402
import graph  # noqa: E402
import needs  # noqa: E402
import suite  # noqa: E402
import table  # noqa: E402
import touched  # noqa: E402

NINJA = """rule ignored
  command = $in
build client/a.o: C_COMPILER__client_ /root/client/a.c || order_only
build other.o: C_COMPILER__other_ /root/other$ name.c $
    /root/other$:2.c || order_only
build libclient.a: C_STATIC_LIBRARY_LINKER__client_ client/a.o
build lib/libcuda.so.1: C_SHARED_LIBRARY_LINKER__cuda_ other.o | libclient.a || libclient.a
build lib/libcuda.so: CMAKE_SYMLINK_LIBRARY lib/libcuda.so.1
build tests/test_a: C_EXECUTABLE_LINKER__test_a_ t.o | libclient.a || libclient.a
build tests/test_run: C_EXECUTABLE_LINKER__test_run_ u.o || lib/libcuda.so data
build tests/helper: C_EXECUTABLE_LINKER__helper_ client/a.o
build data: phony data.bin
build data.bin: CUSTOM_COMMAND /root/client/data.txt
build tests/jit/made | ${cmake_ninja_workdir}tests/jit/made: CUSTOM_COMMAND /root/tests/made.c
build build.ninja: RERUN_CMAKE /root/client/a.c
"""
DEPS = """client/a.o: #deps 2, deps mtime 1 (VALID)
    /root/client/a.c
    /root/client/a.h

u.o: #deps 1, deps mtime 1 (VALID)
    /root/client/u.h
"""
SCRIPTS = {"tests/e2e/lib/harness.py": "import os\n",
           "tests/e2e/one.py": "from lib import harness\n"
                               "def test(build):\n    build.path('tests', 'helper')\n",
           "tests/e2e/two.py": "FILE = 'two.txt'\n"
                               "def test(build):\n    build.path('lib', 'libcuda.so.1')\n",
           "tests/e2e/two.txt": "", "client/a.c": "", "client/a.h": "", "client/u.h": "",
           "client/data.txt": "", "other name.c": "", "tests/made.c": "", "strange/x": "",
           "tests/e2e/strange": "", "client/CMakeLists.txt": "", "tests/fuzz/corpus/one.tar": ""}


class Written(unittest.TestCase):
    def test_commands_before_anything_is_built(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "below"))
            for name, text in (
                    ("", 'add_test([=[a]=] "/b/tests/a" "two words")\nsubdirs("below")\n'),
                    ("below", 'add_test([=[b.c]=] "/b/tests/b")\n')):
                with open(os.path.join(folder, name, "CTestTestfile.cmake"), "w",
                          encoding="utf-8") as file:
                    file.write(text)
            self.assertEqual(suite.commands(folder), {"a": ("/b/tests/a", "two words"),
                                                      "b.c": ("/b/tests/b",)})


class Small(unittest.TestCase):
    """A tree of SCRIPTS, built as NINJA says."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = os.path.realpath(folder.name)
        for path, text in SCRIPTS.items():
            os.makedirs(os.path.dirname(self.at(path)), exist_ok=True)
            with open(self.at(path), "w", encoding="utf-8") as file:
                file.write(text)
        self.build = self.at("build/dev")

    def at(self, path):
        return os.path.join(self.root, path)

    def chooser(self, rows="always lint\nproduct e2e.two"):
        def test(name, folder, *command):
            return suite.Test(name, command, (), self.at(folder))
        tests = [test("test_a", "client", self.build + "/tests/test_a"),
                 test("test_run", "client", self.build + "/tests/test_run"),
                 test("fuzz.one", "tests/fuzz", "/bin/true", self.at("tests/fuzz/corpus/one.tar")),
                 test("e2e.one", "tests/e2e", "python3", self.at("tests/e2e/one.py")),
                 test("e2e.two", "tests/e2e", "python3", self.at("tests/e2e/two.py")),
                 test("lint", "tests/lint", "/bin/true")]
        built = graph.Graph(self.build, NINJA.replace("/root", self.root),
                            DEPS.replace("/root", self.root))
        return choose.Chooser(self.root, built, tests, suite.Scripts(self.root),
                              table.rows(rows))

    def chosen(self, *paths, rows="always lint\nproduct e2e.two"):
        return self.chooser(rows).choose(paths).names()

    def test_a_source_and_a_header(self):
        for path in ("client/a.c", "client/a.h"):
            choice = self.chooser().choose([path])
            self.assertEqual(choice.names(), {"test_a", "test_run", "e2e.one", "e2e.two", "lint"})
            self.assertEqual(choice.products, {"lib/libcuda.so.1"})
            by_why = {why: names for why, names in choice.reasons}
            self.assertEqual(by_why[f"{path} is in the program"], {"test_a"})
            self.assertEqual(by_why[f"{path} is in a program that they start"], {"test_run"})
            self.assertEqual(by_why[f"{path} is in a program that the script runs"], {"e2e.one"})

    def test_no_more_than_what_can_see_it(self):
        self.assertEqual(self.chosen("client/u.h"), {"test_run", "lint"})
        self.assertEqual(self.chosen("client/data.txt"), {"test_run", "lint"})
        self.assertEqual(self.chosen("other name.c"), {"test_run", "e2e.two", "lint"})
        self.assertEqual(self.chosen(), set())

    def test_scripts(self):
        self.assertEqual(self.chosen("tests/e2e/one.py"), {"e2e.one", "lint"})
        self.assertEqual(self.chosen("tests/e2e/lib/harness.py"), {"e2e.one", "lint"})
        self.assertEqual(self.chosen("tests/e2e/two.txt"), {"e2e.two", "lint"})
        self.assertEqual(self.chosen("tests/fuzz/corpus/one.tar"), {"fuzz.one", "lint"})
        self.assertEqual(self.chosen("client/CMakeLists.txt"), {"test_a", "test_run", "lint"})

    def test_rows(self):
        self.assertEqual(self.chosen("client/u.h", rows="client/ e2e.two\nclient/u e2e.one"),
                         {"test_run", "e2e.one", "e2e.two"})
        self.assertEqual(self.chosen("client/a.c", rows="product e2e.two\nclient/ e2e.one"),
                         {"test_a", "test_run", "e2e.one"}, "a folder that is named")
        choice = self.chooser("client/u e2e.two only").choose(["client/u.h"])
        self.assertEqual(choice.names(), {"e2e.two"})
        self.assertIn("1 tests more", choice.notes[0])
        self.assertEqual(self.chosen("strange/x", rows="strange -"), set())
        self.assertEqual(self.chosen("strange/two", rows=r"strange/(\w+) e2e\.\1"), {"e2e.two"})
        for wrong in ("one", "a b c", "( e2e", r"a e2e\.\1"):
            self.assertRaises(table.Wrong, table.rows, wrong)

    def test_what_nothing_is_known_of(self):
        choice = self.chooser().choose(["tests/e2e/strange"])
        self.assertEqual(choice.names(), {"e2e.one", "e2e.two", "lint"})
        self.assertTrue(any("nothing says" in why for why, _ in choice.reasons))
        self.assertEqual(len(self.chosen("strange/x")), 6, "all")
        choice = self.chooser().choose(["strange/gone"])
        self.assertEqual(choice.names(), {"lint"})
        self.assertIn("is gone", choice.notes[0])


class Touched(unittest.TestCase):
    def test_commits_the_work_tree_and_new_files(self):
        with tempfile.TemporaryDirectory() as root:
            def git(*words):
                subprocess.run(["git", "-C", root, "-c", "user.name=n", "-c", "user.email=e",
                                *words], check=True, capture_output=True)

            def write(name, text):
                with open(os.path.join(root, name), "w", encoding="utf-8") as file:
                    file.write(text)
            git("init", "-b", "main")
            write("moved", "a\n")
            write("same", "a\n")
            write("changed", "a\n")
            git("add", ".")
            git("commit", "-m", "one")
            git("checkout", "-b", "work")
            git("mv", "moved", "here")
            git("commit", "-m", "two")
            write("changed", "b\n")
            write("new", "")
            revision, how = touched.base(root)
            self.assertIn("main", how)
            self.assertEqual(touched.files(root, revision), ["changed", "here", "moved", "new"])
            self.assertEqual(touched.files(root, "HEAD"), ["changed", "new"])
            self.assertRaises(touched.Unknown, touched.files, root, "nowhere")


@unittest.skipUnless(os.path.exists(os.path.join(ROOT, ".git")), "git says what files there are")
class ThisTree(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rows = table.read(os.path.join(ROOT, "tests", "changed.txt"))
        cls.tests = suite.of(BUILD)
        cls.graph = graph.Graph.of(BUILD)
        cls.files = subprocess.run(["git", "-C", ROOT, "ls-files", "--cached", "--others",
                                    "--exclude-standard"], check=True, capture_output=True,
                                   text=True).stdout.split()
        cls.chooser = choose.Chooser(ROOT, cls.graph, cls.tests, suite.Scripts(ROOT), cls.rows)

    def test_each_row_fits_a_file_and_names_tests(self):
        there = {test.name for test in self.tests}
        for row in self.rows:
            files = [path for path in self.files if row.fits(path)]
            if row.path not in (table.ALWAYS, table.PRODUCT):
                self.assertTrue(files, f"line {row.line} fits no file")
            # No headers of verbs, no rdma.
            if row.tests != "-" and (row.tests != "rdma" or "rdma" in there):
                found = [row.names(self.tests, path) for path in files] or [row.names(self.tests)]
                self.assertTrue(set().union(*found), f"line {row.line} names no test")

    def test_a_source_of_each_folder_of_the_product(self):
        folders = {}
        for path in self.files:
            if path.endswith(".c") and any(self.chooser.is_product(file) for file in
                                           self.graph.reached(os.path.join(ROOT, path))):
                folders.setdefault(os.path.dirname(path), path)
        self.assertGreater(len(folders), 30)
        for path in folders.values():
            names = self.chooser.choose([path]).names()
            for kinds in (("e2e.", "perf."), ("lint.",)):
                self.assertTrue(any(name.startswith(kinds) for name in names), path)
            self.assertLess(len(names), len(self.tests) / 2, path)

    def test_no_file_is_unknown(self):
        for path in self.files:
            if not os.path.exists(os.path.join(ROOT, path)):
                continue
            for why, _ in self.chooser.choose([path]).reasons:
                self.assertNotIn("nothing says", why, path)

    def needed(self, name):
        test, = (test for test in self.tests if test.name == name)
        return needs.Needs(self.graph, suite.Scripts(ROOT)).targets([test])

    def test_what_has_to_be_built(self):
        kernels = os.path.join(ROOT, "build", "kernels") + "/"
        users = {"installed"}
        for name, there, not_there in (
                ("test_sched", {"tests/test_sched"}, users),
                ("fuzz.sched", {"fuzz/fuzz_sched"}, users),
                ("lint.words", set(), users),
                ("e2e.remote.hello", {*users, kernels + "hello", kernels + "hello_shared"},
                 {kernels + "scan", "tests/test_server"}),
                ("e2e.auth", {*users, "tests/tenants", kernels + "devices"}, {kernels + "scan"}),
                ("e2e.rebuilt", {*users, kernels + "scan"}, {"tests/test_server"}),
                ("e2e.guests", {*users, "tests/guests/guest"}, {kernels + "scan"}),
                ("faults.scribbled", {*users, "tests/scribble", kernels + "ipc_events"},
                 set())):
            targets = self.needed(name)
            self.assertLessEqual(there, targets, name)
            self.assertFalse(not_there & targets, name)
        for test in self.tests:
            if test.command and test.command[0] in self.graph.linked:
                self.assertIn(os.path.relpath(test.command[0], BUILD), self.needed(test.name))

    def test_some_that_are_known(self):
        for path, there, not_there in (
                ("client/graph/graph.c", {"test_conn", "e2e.graphs"}, {"test_server_life"}),
                ("softgpu/exec/alu_half.c", {"e2e.local.reduction"}, {"test_conn"}),
                ("server/processes/warm_pool.c", {"test_server_life", "e2e.warm_pool"},
                 {"test_conn"}),
                ("tests/e2e/warm_pool.py", {"e2e.warm_pool", "e2e.tls.warm_pool"}, {"e2e.life"}),
                ("tests/kernels/scan.cu", {"e2e.remote.scan"}, {"e2e.life"}),
                ("dev", {"lint.words"}, {"faults.cut", "e2e.install"}),
                ("tests/kernels/prints.cu", {"e2e.output"}, {"e2e.life"}),
                ("scripts/mutate/find.py", {"mutate"}, {"changed"})):
            names = self.chooser.choose([path]).names()
            self.assertLessEqual(there, names, path)
            self.assertFalse(not_there & names, path)


if __name__ == "__main__":
    BUILD = os.path.abspath(sys.argv.pop(1))
    unittest.main()
