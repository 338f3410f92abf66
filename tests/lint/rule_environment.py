# SPDX-License-Identifier: Apache-2.0
"""Environment variables of users: texts of the product name only those of api/environment.def, and
some code names each of them."""

import re

import folders
from tree import Finding

TABLE = "api/environment.def"
ROW = re.compile(r"(?m)^ENVIRONMENT\((\w+),")
TEXT = re.compile(r'"(?:[^"\\\n]|\\.)*"')
NAME = re.compile(r"\b(?:GPUAAS|SOFTGPU)_[A-Z][A-Z_]*\b")
USED = re.compile(r'"([A-Z_]+)"|\bVARIABLE_(\w+)')
# Only tests set these.
FOR_TESTS = {"GPUAAS_FAILPOINT", "GPUAAS_TEST_FAULT", "GPUAAS_TEST_REBUILD",
             "GPUAAS_TEST_SEATS",
             "SOFTGPU_ISA"}


def check(tree):
    files = {file.path: file for file in tree.with_suffix(".c", ".h", ".def")
             if file.folder in folders.MAY_INCLUDE and "/tests/" not in file.path}
    table = files.pop(TABLE, None)
    if table is None:
        return
    rows = set(ROW.findall(table.text))
    used = set()
    for file in files.values():
        for number, line in enumerate(file.lines, 1):
            names = {name for text in TEXT.findall(line) for name in NAME.findall(text)}
            for name in sorted(names - rows - FOR_TESTS):
                yield file.finding(number, f"{name} is not in {TABLE}")
            used.update(name for match in USED.findall(line) for name in match)
    for name in sorted(rows - used):
        yield Finding(TABLE, 0, f"no code reads {name}")
