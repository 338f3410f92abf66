#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rules about words, comments and pages, each against samples."""

import os
import subprocess
import unittest

import rule_claims
import rule_paths
import rule_prose
import rule_semantics
import rule_vocabulary
import rule_words
from rule_test import RuleTest


class Paths(RuleTest):
    def test_files_and_folders(self):
        self.write("server/tenants/lending.h", "struct lending;\n")
        self.write("CMakeLists.txt", "add(${dir}/calls.c)\n")
        self.keeps(rule_paths, "base/a.c", "/* As server/tenants/lending.h, tenants/lending.h, "
                   "lending.h; in server/tenants/; made: calls.c; x_more.c, NAME.c. */\n")
        self.keeps(rule_paths, "base/a.c", '#include <sys/mman.h>\n/* sys/mman.h */ "gone.c"\n')
        self.breaks(rule_paths, "base/a.c", "/* One.\n * As in lender.h. */\n", "a.c:2: lender.h")
        self.breaks(rule_paths, "base/a.c", "/* See server/lending.h. */\n", "server/lending.h")
        self.breaks(rule_paths, "docs/a.md", "It is in `server/lending/`.\n", "no folder")
        self.breaks(rule_paths, "scripts/a.py", '"""As not/made.c does."""\n', "not/made.c")

    def test_structs(self):
        self.write("base/list.h", "struct ga_list;\n")
        self.keeps(rule_paths, "base/a.c", "/* A struct ga_list; this struct is one. */\n")
        self.breaks(rule_paths, "base/a.c", "/* A struct gone. */\n", "name what it has become")
        self.breaks(rule_paths, "docs/a.md", "A `struct gone`.\n", "struct gone")

    def test_links(self):
        self.write("docs/b.md", "# One\n\n## Two: `x`, and 3\n")
        self.keeps(rule_paths, "docs/a.md", "# A\n[b](b.md#two-x-and-3) [c](#a) [d](../docs) "
                   "[e](https://example.org/f.md)\n")
        self.breaks(rule_paths, "docs/a.md", "[b](b.md#three)\n", "no title says that")
        self.breaks(rule_paths, "docs/a.md", "[b](../docs/pictures)\n", "is dead")


class Claims(RuleTest):
    def test_claims_name_tests(self):
        self.write("tests/e2e/tls.py", "def test_one(build):\n    pass\n")
        self.write("docs/isolation.md", "## What keeps applications apart\n\n"
                   "| what | how | test |\n|---|---|---|\n| it | so | `tests/e2e/tls.py` |\n\n"
                   "## What a malicious kernel can reach\n")
        page, text = "SECURITY.md", "- **A.** It is\n  so. {}\n\n## And\n\n- more\n"
        title = "# S\n\n## What there is\n\n"
        self.keeps(rule_claims, page, title + text.format("(`tests/e2e/tls.py`, `test_one`)"))
        self.keeps(rule_claims, page, title + text.format("That is not tested."))
        self.breaks(rule_claims, page, title + text.format(""), "name the test that does")
        self.breaks(rule_claims, page, title + text.format("`tests/e2e/ssl.py`"), "no test tests/")
        self.breaks(rule_claims, page, title + text.format("`tests/e2e/tls.py`, `test_two`"),
                    "no test has test_two")
        self.breaks(rule_claims, page, "# S\n", "which one has the claims")


class Format(unittest.TestCase):
    def test_tables_in_comments_stay(self):
        """clang-format leaves the lines of comments as they are."""
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        table = "/* Kinds:\n *   stream    flags, " + "x" * 90 + "\n *   event     flags\n" \
                " *   - of two\n *     lines */\nint x;\n"
        done = subprocess.run(["clang-format-14", f"--style=file:{root}/.clang-format"],
                              input=table, capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, table)


class Prose(RuleTest):
    def test_beginnings_of_sentences(self):
        self.keeps(rule_prose, "base/a.c", "/* The list. It is what it is. */\nint Of;\n")
        self.keeps(rule_prose, "api/gen/a.py", "# What a generator writes.\n")
        self.keeps(rule_prose, "docs/a.md", "# What it is\n\nIt is a page.\n\n    So it goes\n")
        self.breaks(rule_prose, "base/a.c", "/* A list.\n * Of these, one. */\n", "with Of")
        self.breaks(rule_prose, "scripts/a.py", '"""Runs.\n\nSo it ends."""\n', "with So")
        self.breaks(rule_prose, "scripts/a.sh", "#!/bin/sh\n# Who runs it waits.\n", "with Who")
        self.breaks(rule_prose, "docs/a.md", "# A page\n\nIt is.\nWhat it says.\n", "with What")
        self.breaks(rule_prose, "base/a.c", "/* One. Two. So three. */\n", "with So")

    def test_comments_that_need_their_neighbour(self):
        self.keeps(rule_prose, "base/a.c", "/* The list. It has members. The same twice. */\n")
        for beginning in ("It has members.", "The same for a list.", "They end."):
            self.breaks(rule_prose, "base/a.c", f"/* {beginning} */\n", "name the thing")

    def test_programs_are_no_people(self):
        self.keeps(rule_prose, "base/a.c", "/* The tenant has its turn. */\nint he;\n")
        self.breaks(rule_prose, "base/a.c", "/* The tenant has his turn. */\n", "is it")
        self.breaks(rule_prose, "docs/a.md", "The tenant has\nhis turn.\n", "a.md:2: his")

    def test_texts_that_users_read(self):
        self.keeps(rule_prose, "server/a.c", 'ga_warn("it is late: %s. It is " PRIu64 "s", a);\n')
        self.keeps(rule_prose, "server/tests/a.c", 'say("What it is. So it ends");\n')
        self.breaks(rule_prose, "server/a.c", 'ga_warn("it is late. "\n        "So it ends");\n',
                    "with So")
        self.breaks(rule_prose, "conf/a.def", 'KEY(a, "What the key does.")\n', "with What")
        self.breaks(rule_prose, "docs/man/a.1", ".B a\nWhat it does.\n", "with What")


class Vocabulary(RuleTest):
    PAGE = "docs/vocabulary.md"
    TERMS = "| term | in the code |\n|---|---|\n| conn | {} |\n"
    WORDS = rule_vocabulary.REPLACED + """

| not | but | not in |
|---|---|---|
| `arena` | shared buffer | `client/`, `server/` |
"""

    def test_names_are_there(self):
        self.write("client/conn/conn.h", "struct client_conn { int fd; };\n")
        there = ("`struct client_conn` (`client/conn/conn.h`), `fd`, `client_*`, `client/conn/`, "
                 "`client/*/conn.h`")
        self.keeps(rule_vocabulary, self.PAGE, self.TERMS.format(there))
        for name in ("`struct conn`", "`client/conn.h`", "`server_*`", "`file`"):
            self.breaks(rule_vocabulary, self.PAGE, self.TERMS.format(name), name.strip("`"))

    def test_words_are_replaced(self):
        self.write(self.PAGE, self.WORDS)
        self.keeps(rule_vocabulary, "client/a.c", '/* an arena */ char *a = "arena";\n')
        self.keeps(rule_vocabulary, "softgpu/a.c", "int arena;\n")
        self.keeps(rule_vocabulary, "server/tests/a.c", "Test(a, an_arena_is_none)\n")
        self.breaks(rule_vocabulary, "server/a.c", "\nint the_arena;\n", "a.c:2: the_arena")
        self.breaks(rule_vocabulary, "client/a.h", "#define ARENA_MAX 3\n", "shared buffer")
        self.breaks(rule_vocabulary, "client/arena_slots.c", "\n", "the file's name")


class Semantics(RuleTest):
    def test_claims(self):
        page, test = "docs/semantics.md", "tests/e2e/a.py"
        claim = '"""seman' 'tics S1, S2"""\n'
        self.write(page, "[S1] It waits.\n\n[S2] It does not.\n")
        self.keeps(rule_semantics, test, claim)
        self.breaks(rule_semantics, test, claim + '# seman' "tics S3\n", "has no S3")
        self.write(test, claim)
        self.breaks(rule_semantics, page, "[S1] a\n[S2] b\n[S3] c\n", "no test claims S3")
        self.breaks(rule_semantics, page, "[S1] a\n[S2] b\n[S1] c\n", "S1 stands here twice")


class Words(RuleTest):
    def test_words(self):
        self.keeps(rule_words, "README.md", "it works / and the network/lab is at work\n")
        self.keeps(rule_words, "README.md", "the driver lies in /usr/lib/x86_64-linux-gnu\n")
        self.breaks(rule_words, "README.md", "see /wo" + "rk/main\n", "somebody's machine")
        self.breaks(rule_words, "base/a.c", "// as in iss" + "ue 12\n", "tracker")
        self.breaks(rule_words, "docs/a.md", "from py" + "pi.org\n", "registry")


if __name__ == "__main__":
    unittest.main()
