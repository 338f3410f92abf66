#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rule `tables`, in copies of the tables and pages of this repository."""

import os
import unittest

import rule_tables
from rule_test import RuleTest


class Tables(RuleTest):
    def setUp(self):
        super().setUp()
        here = os.path.dirname(os.path.abspath(__file__))
        self.copies = {}
        for path in (*rule_tables.tables.PAGES, "api/limits.def", "docs/quotas.md",
                     "store/usage.h", "server/admin/admin_verbs.def"):
            with open(os.path.join(here, "..", "..", path), encoding="utf-8") as file:
                self.copies[path] = file.read()
            self.write(path, self.copies[path])

    def changed(self, path, old, new, words):
        """One finding each for `words`, if the copy has `new` for `old`."""
        self.assertEqual(self.copies[path].count(old), 1, old)
        self.write(path, self.copies[path].replace(old, new))
        findings = self.findings(rule_tables)
        self.assertEqual(len(findings), len(words), findings)
        for finding, text in zip(findings, words):
            self.assertIn(text, finding)
        self.write(path, self.copies[path])

    def test_pages_are_what_the_tables_make(self):
        self.assertEqual(self.findings(rule_tables), [])
        self.changed("docs/gpuaasctl.schema.json", '"latency_goal_ms"]', '"latency_goal"]',
                     ["schema.json:0: is not what"])
        self.changed("docs/gpuaasctl.schema.json", '{"$ref": "#/definitions/Top"}\n',
                     '{"$ref": "#/definitions/Tops"}\n', ["schema.json:0: is not what"])
        self.changed("store/usage.h", '"out_bytes"', '"bytes_out"', ["schema.json:0: is not what"])
        self.changed("docs/admin-protocol.md", "| `gpus` | | |", "| `gpu` | | |",
                     ["protocol.md:0: is not what"])
        self.changed("docs/gpuaasctl.schema.json", '"limits": {\n      "type"',
                     '"limit": {\n      "type"', ["scripts/tables.py:0: there is no"])

    def test_each_row_is_told(self):
        self.changed("api/limits.def", 'LIMIT(OBJECTS, "objects"', 'LIMIT(OBJECTS, "things"',
                     ["quotas.md:0: the limit things"])
        self.changed("server/admin/admin_verbs.def", '"`id`, `reason`"', '"`id`, `why`"',
                     ["protocol.md:0: is not what", "names the arguments id, why"])


if __name__ == "__main__":
    unittest.main()
