# SPDX-License-Identifier: Apache-2.0
"""A tree made for the test of a rule, with a sample that keeps it and one that breaks it."""

import os
import tempfile
import unittest

from tree import Tree


class RuleTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name

    def write(self, path, text):
        full = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as f:
            f.write(text)
        return full

    def findings(self, rule):
        return [str(finding) for finding in rule.check(Tree(self.root))]

    def breaks(self, rule, path, text, words):
        """The sample gives exactly one finding, which says `words`."""
        full = self.write(path, text)
        findings = self.findings(rule)
        self.assertEqual(len(findings), 1, findings)
        self.assertIn(words, findings[0])
        self.assertIn(path, findings[0])
        os.remove(full)

    def keeps(self, rule, path, text):
        full = self.write(path, text)
        self.assertEqual(self.findings(rule), [])
        os.remove(full)
