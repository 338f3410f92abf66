# SPDX-License-Identifier: Apache-2.0
"""Only client, cmd, jit, server, softgpu and front (and tests, and generated code, which is not
committed) know the driver API's result type. Everybody else speaks enum ga_status. api/cuda_names.h
is what those who know it include."""

import re

import folders

KNOW = {"client", "cmd", "jit", "server", "softgpu", "front"} | folders.FREE
RESULT = re.compile(r"\b(CUresult|CUDA_ERROR_[A-Z_]+|CUDA_SUCCESS)\b")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def check(tree):
    for file in tree.with_suffix(".c", ".h"):
        if (file.folder in KNOW or "/tests/" in file.path
                or file.path == "api/cuda_names.h"):
            continue
        # Comments may speak of it; blanking them keeps the line numbers.
        code = COMMENT.sub(lambda match: "\n" * match.group().count("\n"), file.text)
        for number, line in enumerate(code.splitlines(), 1):
            match = RESULT.search(line)
            if match:
                yield file.finding(number, f"{match.group()}: {file.folder}/ uses enum ga_status")
