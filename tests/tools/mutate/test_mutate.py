#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of scripts/mutate: faults are put where they belong, one is active at a time, reached
places are recorded, and nothing that a test starts is left behind."""

import glob
import os
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
sys.path.insert(0, os.path.join(ROOT, "scripts", "mutate"))
# Where ./dev mutate keeps clang's Python module
sys.path += glob.glob(os.path.join(ROOT, "build", "mutate", "venv", "lib", "python*",
                                   "site-packages"))

import campaign  # noqa: E402
import cases  # noqa: E402
import report  # noqa: E402
import rewrite  # noqa: E402
import run  # noqa: E402
import tree  # noqa: E402
from place import KINDS, Site, line_of  # noqa: E402

try:
    import find
except ImportError:
    find = None

PROGRAM = """#include <stdio.h>
#include <string.h>
#define TWICE(x) ((x) + (x))
#define LIMIT 7
enum { SIZE = 3 + 1 };
static int table[] = {4, 5};
static int below(int a, int b)
{
    return a < b;
}
static int minus(int a, int b) { return a - b; }
int main(void)
{
    char room[SIZE + 2] = "";
    int sum = 0;
    for (int i = 0; i < 3; i++) {
        sum += i;
    }
    if (sum == 3)
        sum = TWICE(sum - 1);
    switch (sum) {
    case 4:
        sum = table[0] < LIMIT ? sum : minus(9, 8);
        break;
    }
    memset(room, 'x', 2);
    printf("%d %d %s\\n", sum, below(2, 2), room);
    return 0;
}
"""


def site(kind, original, fault, text=PROGRAM, after=""):
    start = text.index(original, text.index(after))
    return Site("program.c", start, start + len(original), text.count("\n", 0, start) + 1, kind,
                fault)


class Built:
    """A program with faults in it, compiled."""

    def __init__(self, numbered, text=PROGRAM):
        self.folder = tempfile.TemporaryDirectory()
        source, self.program = self.path("program.c"), self.path("program")
        with open(source, "w", encoding="latin-1") as file:
            file.write(rewrite.rewritten(text, numbered))
        with open(self.path("mutant.h"), "w", encoding="latin-1") as file:
            file.write(rewrite.header(100))
        subprocess.run(["cc", "-w", "-include", self.path("mutant.h"), source, "-o",
                        self.program], check=True)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def says(self, number, **more):
        env = {**os.environ, rewrite.VARIABLE: str(number), **more}
        return subprocess.run([self.program], env=env, check=True, capture_output=True,
                              text=True).stdout.strip()


class Rewriting(unittest.TestCase):
    faults = [(1, site("comparison", "a < b", "a <= b")),
              (2, site("off by one", "sum - 1", "(sum - 1) + 1")),
              (3, site("dropped", "sum += i;", "")),
              (4, site("swapped", "a - b", "(b) - (a)")),
              (5, site("constant", "3", "4", after="i = 0")),
              (6, site("dropped", "memset(room, 'x', 2);", ""))]

    def test_one_fault_is_on_at_a_time(self):
        built = Built(self.faults)
        self.assertEqual(built.says(0), "4 0 xx")
        self.assertEqual([built.says(number) for number in range(1, 7)],
                         ["4 1 xx", "6 0 xx", "0 0 xx", "4 0 xx", "6 0 xx", "4 0"])
        self.assertEqual(built.says(77), "4 0 xx")

    def test_what_is_reached_is_noted(self):
        built = Built(self.faults)
        reached = built.path("reached")
        with open(reached, "wb") as file:
            file.truncate(rewrite.reached_bytes(100))
        built.says(0, **{rewrite.REACHED: reached})
        with open(reached, "rb") as file:
            found = [number for number, byte in enumerate(file.read()) if byte]
        self.assertEqual(found, [1, 2, 3, 5, 6], "nobody calls minus()")

    def test_lines_stay_where_they_are(self):
        text = rewrite.rewritten(PROGRAM, self.faults)
        self.assertEqual(text.count("\n"), PROGRAM.count("\n"))
        self.assertRaises(AssertionError, rewrite.rewritten, PROGRAM,
                          [self.faults[0], (9, site("constant", "b;", "c;"))])

    def test_a_fault_for_people(self):
        text = rewrite.broken(PROGRAM, self.faults[0][1])
        self.assertEqual(report.lines(PROGRAM, self.faults[0][1]),
                         ("return a < b;", "return a <= b;"))
        self.assertEqual(line_of(text, self.faults[0][1]), "return a <= b;")


@unittest.skipIf(find is None, "clang's Python module is there when ./dev mutate has run")
class Finding(unittest.TestCase):
    def found(self, text=PROGRAM):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "program.c")
            with open(path, "w", encoding="latin-1") as file:
                file.write(text)
            return find.sites_of([(path, [])], {path: ("program.c", text)})

    def test_the_faults_above_are_found(self):
        sites = {(each.kind, each.start, each.end) for each in self.found()}
        for _, wanted in Rewriting.faults:
            self.assertIn((wanted.kind, wanted.start, wanted.end), sites, wanted)

    def test_what_has_to_be_constant_is_left_alone(self):
        lines = {each.line for each in self.found() if each.kind == "constant"}
        rows = PROGRAM.splitlines()
        for row in ("enum {", "static int table", "case 4:", "char room", "#define"):
            self.assertFalse([at for at in lines if rows[at - 1].strip().startswith(row)], row)

    def test_all_of_them_compile_and_change_nothing_by_themselves(self):
        taken = campaign.choose(self.found(), 1, 1000)
        self.assertGreater(len(taken), 10)
        self.assertEqual({each.kind for each in taken}, set(KINDS))
        built = Built(list(enumerate(taken, 1)))
        self.assertEqual(built.says(0), "4 0 xx")

    def test_rows_of_a_table_are_found_where_they_are_written(self):
        text = ("#define OP(name, expression) static int name(int a, int b) "
                "{ return expression; }\nOP(less, a < b)\nint main(void) { return less(1, 1); }\n")
        compared = [each for each in self.found(text) if each.kind == "comparison"]
        self.assertEqual([text[each.start:each.end] for each in compared], ["a < b"])

    def test_asserts_and_logs_are_left_alone(self):
        text = ("#include <assert.h>\nvoid ga_error(const char *text, ...);\n"
                "void f(int a)\n{\n    assert(a < 3);\n    ga_error(\"%d\", a + 4);\n}\n")
        self.assertEqual(self.found(text), [])


class Choosing(unittest.TestCase):
    sites = [Site("f.c", 10 * at, 10 * at + 15, at, KINDS[at % 5], "x") for at in range(100)]

    def test_no_two_at_one_place(self):
        taken = campaign.choose(self.sites, 3, 40)
        self.assertGreater(len(taken), 20)
        self.assertFalse([1 for one in taken for other in taken
                          if one is not other and one.overlaps(other)])
        self.assertEqual(taken, campaign.choose(self.sites, 3, 40))
        self.assertNotEqual(taken, campaign.choose(self.sites, 4, 40))

    def test_tests_that_look_come_first(self):
        state = campaign.State()
        state.sites = {1: Site("server/access/audit.c", 0, 9, 1, KINDS[0], "x")}
        state.tests = {name: {"seconds": seconds, "verdict": verdict, "reached": reached}
                       for name, seconds, verdict, reached in (
                           ("e2e.remote.fills", 1, "passed", [1]),
                           ("e2e.audit", 30, "passed", [1]), ("test_server", 20, "passed", [1]),
                           ("e2e.full_disk", 9, "passed", [1, 2]), ("e2e.tls", 2, "failed", [1]),
                           ("test_auth", 1, "passed", [2]))}
        self.assertEqual(state.reaching(1),
                         ["e2e.full_disk", "test_server", "e2e.audit", "e2e.remote.fills"])

    def test_judgements(self):
        known = report.judged("# why\n\na/b.c: x < y;\nbecomes: x <= y;\nbecause: never equal\n")
        self.assertEqual(known, {("a/b.c", "x < y;", "x <= y;"): "never equal"})
        self.assertEqual(report.judged("a.c: f();\nbecomes:\nbecause: it is done\n"),
                         {("a.c", "f();", ""): "it is done"})
        self.assertRaises(ValueError, report.judged, "a/b.c: x;\nbecause: y\nbecomes: z\n")

    def test_judged_lines_stand(self):
        with open(report.JUDGED, encoding="utf-8") as file:
            judged = report.judged(file.read())
        for path, line, _ in judged:
            with open(os.path.join(ROOT, path), encoding="latin-1") as file:
                stands = any(each.strip() == line for each in file)
            self.assertTrue(stands, f"{path} has no such line: {line}")


LISTING = """absent: 2 tests
├── a_cap_is_paid
└── what_a_tenant_owes (skipped)

golden: 1 tests
└── las_order
"""


class Cases(unittest.TestCase):
    def test_cases_of_a_program(self):
        self.assertEqual(list(cases.names(LISTING)),
                         [("absent", "a_cap_is_paid"), ("golden", "las_order")])

    def test_each_case_is_a_test_and_a_script_stays_as_it_is(self):
        with tempfile.TemporaryDirectory() as folder, \
                unittest.mock.patch.object(tree, "BUILD", folder):
            os.mkdir(os.path.join(folder, "tests"))
            path = os.path.join(folder, "tests", "test_x")
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"#!/bin/sh\ncat <<'END'\n{LISTING}END\n")
            os.chmod(path, 0o700)
            unit = run.Test("test_x", (path,), ("A=5",), "/", 77, 60)
            script = run.Test("e2e.x", ("python3", "x.py"), (), "/", 77, 60)
            split = cases.split([unit, script])
        self.assertEqual([test.name for test in split],
                         ["test_x:absent.a_cap_is_paid", "test_x:golden.las_order", "e2e.x"])
        self.assertEqual(split[1].command, (path, "--filter", "golden/las_order"))
        self.assertEqual(split[1].env, unit.env)
        self.assertEqual([cases.is_case(test) for test in split], [True, True, False])

    def test_only_programs_that_are_asked_for_are_built(self):
        known = subprocess.CompletedProcess((), 0, "tests/test_x: LINKS\ntests/test_y: LINKS\n")
        tests = [run.Test(name, (), (), "/", 77, 60) for name in ("test_x", "e2e.x")]
        with unittest.mock.patch.object(tree, "ninja", return_value=known):
            self.assertEqual(cases.targets(tests[:1]), ["tests/test_x"])
            self.assertEqual(cases.targets(tests), [], "nobody knows what a script needs: all")


class Running(unittest.TestCase):
    def run_shell(self, text, seconds=30):
        return run.run(run.Test("t", ("sh", "-c", text), ("A=5",), "/", 77, 60), 8, seconds)[0]

    def test_verdicts(self):
        self.assertEqual(self.run_shell("exit 0"), "passed")
        self.assertEqual(self.run_shell("exit 77"), "skipped")
        self.assertEqual(self.run_shell("exit 1"), "failed")
        self.assertEqual(self.run_shell("kill -9 $$"), "failed")
        self.assertEqual(self.run_shell("sleep 50", 0.2), "late")
        self.assertEqual(self.run_shell(f"test $A.${rewrite.VARIABLE} = 5.8"), "passed")

    def test_nothing_is_left_behind(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "pid")
            self.run_shell(f"setsid sh -c 'echo $$ >{file}.new; mv {file}.new {file}; "
                           f"exec sleep 60' & while [ ! -e {file} ]; do sleep 0.01; done")
            with open(file, encoding="ascii") as pid:
                number = int(pid.read())
            for _ in range(500):
                try:
                    os.kill(number, 0)
                except ProcessLookupError:
                    break
                with open(f"/proc/{number}/stat", encoding="ascii") as stat:
                    if stat.read().split()[2] == "Z":
                        break
                time.sleep(0.01)
            else:
                self.fail("it is still there")


if __name__ == "__main__":
    unittest.main()
