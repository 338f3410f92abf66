# SPDX-License-Identifier: Apache-2.0
"""The pages that scripts/tables.py makes are what the tables make now; the pages that people write
have each row."""

import os
import sys

from tree import Finding

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts"))

import tables  # noqa: E402


def check(tree):
    paths = {file.path for file in tree.files}
    if not set(tables.PAGES) <= paths:
        return
    try:
        for path, text in tables.findings(tree.root):
            yield Finding(path, 0, text)
    except tables.Wrong as wrong:
        yield Finding("scripts/tables.py", 0, str(wrong))
