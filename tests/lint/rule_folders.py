# SPDX-License-Identifier: Apache-2.0
"""A folder has at most 25 source files (STYLE.md): more of them are divided into rooms of one idea.
LARGER lists the folders that have more, with the most that they may have and the reason; one that
shrinks gets a smaller number. Unit tests are found by the names of what they test, so their folders
may have any number."""

from collections import Counter

from tree import Finding

FILES = 25

TABLE = "a file for each family of instructions, which is found by its name"
CALLS = "a file for each chapter of CUDA's calls, which is found by its name"
FLAT = "not divided yet"

# folder -> (most files, why)
LARGER = {
    "api": (33, "the description of the CUDA API and its generators: one idea"),
    "base": (47, "small pieces that know nothing of each other"),
    "client/memory": (38, FLAT),
    "client/session": (26, FLAT),
    "ctl": (44, "a file for each family of commands"),
    "front/graph": (34, FLAT),
    "server/admin": (31, "a file for each family of verbs"),
    "server/backend": (30, FLAT),
    "server/calls": (46, CALLS),
    "sim": (38, FLAT),
    "softgpu/calls": (38, CALLS),
    "softgpu/exec": (97, TABLE),
    "softgpu/ptx": (86, TABLE),
    "softgpu/stream": (28, FLAT),
    "store": (31, FLAT),
    "tests/fuzz": (36, "what fuzz targets share: a pair of files for each"),
    "tests/fuzz/targets": (27, "a file for each target"),
}


def check(tree):
    count = Counter(file.path.rpartition("/")[0] for file in tree.with_suffix(".c", ".h"))
    for folder, files in sorted(count.items()):
        most, _ = LARGER.get(folder, (FILES, ""))
        if files > most and not folder.endswith("/tests"):
            yield Finding(folder, 0, f"{files} source files, {most} allowed: divide the folder "
                          "into rooms of one idea, or give the reason in "
                          "tests/lint/rule_folders.py")
