# SPDX-License-Identifier: Apache-2.0
"""Every source file names its licence in its first line (behind a script's "#!"), in the form that
https://spdx.dev/learn/handling-license-info/ gives."""

LINE = "SPDX-License-Identifier: Apache-2.0"
SUFFIXES = (".api", ".c", ".cmake", ".cu", ".cuh", ".def", ".h", ".py", ".sh")


def check(tree):
    for file in tree.files:
        lines = file.lines[:2]
        script = bool(lines) and lines[0].startswith("#!")
        source = file.suffix in SUFFIXES or file.path.endswith("CMakeLists.txt")
        made = "/golden/" in file.path or "/released/" in file.path
        if made or not lines or not (source or script):
            continue
        if LINE not in lines[-1 if script else 0]:
            yield file.finding(1, f"the first line is not: {LINE}")
