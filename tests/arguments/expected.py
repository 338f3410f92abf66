#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The expected output of wrong_arguments, from expected.txt, calls.txt and the toolkit's cuda.h.

    expected.py compare OUTPUT    what a run (on a real driver: --real) says otherwise
    expected.py write OUTPUT      makes expected.txt of a run on softgpu
"""
import difflib
import os
import re
import sys

import generate

FOLDER = os.path.dirname(os.path.abspath(__file__))
EXPECTED = os.path.join(FOLDER, "expected.txt")
CALLS = os.path.join(FOLDER, "calls.txt")
HEAD = """\
# CALL PARAMETER HOW -> CODE (without CUDA_ERROR_), as softgpu and gpuaas answer. `./dev gpu` says
# what the machine's own driver answers otherwise. No line has been compared with one yet.
"""
# Any call may answer these, whether cuda.h lists them for it or not; the last one once condemned.
GENERAL = {"SUCCESS", "NOT_INITIALIZED", "INVALID_CONTEXT", "CONTEXT_IS_DESTROYED",
           "INVALID_HANDLE", "INVALID_VALUE", "NOT_SUPPORTED", "ILLEGAL_ADDRESS"}


def lines():
    with open(EXPECTED, encoding="utf-8") as file:
        return [line for line in file.read().splitlines() if not line.startswith("#")]


def call_of(line):
    return line.split(" ", 1)[0]


def case_of(line):
    return line.split(" -> ", 1)[0]


def remotely(got):
    """Without the calls that the client library has not, and with the differences that calls.txt
    gives a reason for."""
    rows, right = generate.read_rows(CALLS), {}
    here = {call_of(line) for line in got}
    for line in lines():
        row = rows.get(call_of(line))
        if " - right -> " in line:
            right[call_of(line)] = line
        if row and row.alive and " - condemned -> " in line:
            line = right[row.name].replace(" - right -> ", " - condemned -> ")
        if row and row.remote and line.endswith("-> SUCCESS"):
            line = line.replace("-> SUCCESS", f"-> {row.remote}")
        if row and tuple(line.split()[1:3]) in row.remote_cases:
            line = f"{case_of(line)} -> {row.remote_cases[tuple(line.split()[1:3])]}"
        if call_of(line) in here:
            yield line


def ran(got):
    """The lines that were due for the cases that were run, and the lines that they gave; without
    other lines."""
    got = [line for line in got if " -> " in line]
    here = {case_of(line) for line in got}
    return [line for line in lines() if case_of(line) in here], got


def differences(due, got):
    return [line for line in difflib.unified_diff(list(due), got, lineterm="", n=0)
            if not line.startswith(("---", "+++", "@@"))]


def documented(cuda_root):
    """Call without its version -> the codes that cuda.h lists for it."""
    out = {}
    for name in ("cuda.h", "cudaProfiler.h"):
        with open(os.path.join(cuda_root, "include", name), encoding="latin-1") as file:
            text = file.read()
        for match in re.finditer(r"/\*\*((?:(?!\*/).)*)\*/\s*(?:__CUDA_DEPRECATED\s+)?"
                                 r"CUresult\s+CUDAAPI\s+(\w+)\s*\(", text, re.S):
            returned = re.split(r"\\sa|\\note", match.group(1).partition("\\return")[2])[0]
            call = re.sub(r"_v\d+$", "", match.group(2))
            out.setdefault(call, set()).update(re.findall(r"::CUDA_(?:ERROR_)?(\w+)", returned))
    return out


def not_right():
    """Lines with right arguments that give an error, without a `fails` line of calls.txt."""
    rows = generate.read_rows(CALLS)
    return [line for line in lines() if " - right -> " in line and
            line.rsplit(" ", 1)[1] not in ("SUCCESS", rows[call_of(line)].fails)]


def undocumented(cuda_root):
    """Lines with a code that neither cuda.h nor calls.txt knows of this call."""
    documents, rows = documented(cuda_root), generate.read_rows(CALLS)
    out = []
    for line in lines():
        call, code = call_of(line), line.partition(" -> ")[2].partition(" ")[0]
        known = documents.get(re.sub(r"_v\d+$", "", call), set()) | GENERAL
        if call in rows:
            known |= rows[call].beyond
        if code and code not in known:
            out.append(line)
    return out


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("compare", "write"):
        print(__doc__, file=sys.stderr)
        return 2
    with open(sys.argv[2], encoding="utf-8") as file:
        got = file.read().splitlines()
    if sys.argv[1] == "write":
        with open(EXPECTED, "w", encoding="utf-8") as file:
            file.write(HEAD + "".join(line + "\n" for line in got))
        return 0
    different = differences(*ran(got))
    print("\n".join(different))
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
