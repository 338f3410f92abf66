#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A wrong secret of a token takes the same time wherever it is wrong: instructions of auth_admit,
as callgrind counts them. An unknown id takes no more. usage: token_cost.py ROOT CC"""

import glob
import os
import re
import subprocess
import sys
import tempfile

TIMES = 20
HERE = os.path.dirname(os.path.abspath(__file__))


def instructions(program, folder, what):
    """All counts but the first one, which prepares the statements of SQLite."""
    counts = []
    for times in (1, 1 + TIMES):
        run = subprocess.run(
            ["valgrind", "--tool=callgrind", "--toggle-collect=auth_admit",
             f"--callgrind-out-file={folder}/{what}.callgrind", program, what, str(times)],
            stderr=subprocess.PIPE, text=True, check=False)
        counted = re.search(r"Collected : (\d+)", run.stderr)
        if run.returncode != 0 or counted is None:
            sys.exit(f"valgrind has counted nothing:\n{run.stderr}")
        counts.append(int(counted.group(1)))
    if counts[1] - counts[0] < TIMES * 1000:
        sys.exit(f"{what}: {counts} instructions are no admission")
    return counts[1] - counts[0]


def main():
    root, compiler = sys.argv[1:]
    sources = [f"{HERE}/token_cost.c", *(f"{root}/auth/{name}.c" for name in
                                         ("admit", "penalty", "token")),
               *glob.glob(f"{root}/store/*.c"), *glob.glob(f"{root}/api/limits*.c"),
               *(f"{root}/base/{name}.c" for name in ("log", "log_line", "moment", "nearest",
                                                      "private_file", "text"))]
    with tempfile.TemporaryDirectory(prefix="gpuaas-token-") as folder:
        program = f"{folder}/token_cost"
        subprocess.run([compiler, "-O2", "-DNDEBUG", "-std=gnu11", "-D_GNU_SOURCE", f"-I{root}",
                        *sources, "-lcrypto", "-lsqlite3", "-lpthread", "-o", program], check=True)
        counts = {what: instructions(program, folder, what)
                  for what in ("first", "last", "all", "unknown")}
    print(f"instructions of {TIMES} admissions that are refused: {counts}")
    if not counts["first"] == counts["last"] == counts["all"]:
        sys.exit("where a secret is wrong can be told by the time")
    if counts["unknown"] > counts["first"]:
        sys.exit("an unknown id takes more than a known one")


if __name__ == "__main__":
    main()
