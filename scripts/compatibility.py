#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/compatibility.md: the CUDA calls that work, generated from the description of the API
(api/cuda/*.api), the lists of docs/semantics.md, the tests, and what ./dev compat has recorded.

    scripts/compatibility.py TOOLKIT          writes it
    scripts/compatibility.py TOOLKIT --check  says whether it is as it should be
"""

import glob
import json
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = os.path.join(ROOT, "docs", "compatibility.md")
RESULTS = os.path.join(ROOT, "docs", "compat")
sys.path.insert(0, os.path.join(ROOT, "api", "gen"))

import generate  # noqa: E402
import toolkit  # noqa: E402

# The lists of docs/semantics.md, and the behaviour of their calls through a server.
MODES = {"S1": "local", "S2": "asynchronous", "S3": "waits at first", "S4": "waits for the server",
         "S5": "waits for the GPU", "S6": "makes or ends a context", "S60": "waits at first",
         "S66": "waits for the server", "S113": "waits at first", "S114": "asynchronous"}

# Where tests stand, the most telling first; tests/arguments has every call that works.
TESTS = ("tests/contract/*.c", "tests/kernels/*.cu", "*/tests/test_*.c", "tests/guests/*.c",
         "tests/arguments/calls.txt", "tests/e2e/*.py", "tests/e2e/lib/*.py")

HEAD = """# CUDA calls that work

Made by `scripts/compatibility.py` of the description of the API, the tests and the results of
`./dev compat`; do not edit. Symbols are those that NVIDIA's `libcuda.so` exports. A call that
is not supported answers `CUDA_ERROR_NOT_SUPPORTED` (801) and names itself on stderr.
"""


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def modes():
    """call -> mode, from the lists of docs/semantics.md."""
    found = {}
    parts = re.split(r"^\[(S\d+)\]", read(os.path.join(ROOT, "docs", "semantics.md")), flags=re.M)
    for number, text in zip(parts[1::2], parts[2::2]):
        for block in re.findall(r"```calls\n(.*?)```", text, re.S):
            for name in block.split():
                found.setdefault(name, MODES[number])
    return found


def test_texts():
    for pattern in TESTS:
        for path in sorted(glob.glob(os.path.join(ROOT, pattern))):
            yield os.path.relpath(path, ROOT), set(re.findall(r"\bcu[A-Z]\w*", read(path)))


def base_name(symbol):
    return re.sub(r"(_v\d+)?(_pt[sd][sz])?$", "", symbol)


def tested_by(names, texts):
    """The first two tests that call one of these symbols."""
    wanted = set(names) | {base_name(name) for name in names}
    return [path for path, called in texts if called & wanted][:2]


def reasons():
    """unsupported or absent symbol -> the comment above its stanza."""
    found = {}
    for path in sorted(glob.glob(os.path.join(ROOT, "api", "cuda", "*.api"))):
        comment, inside = [], None
        for line in read(path).splitlines():
            if line.startswith("#"):
                comment = [] if inside is not None or not comment else comment
                comment.append(line[1:].strip())
                inside = None
            elif re.match(r"(unsupported|absent)\b", line):
                inside = " ".join(comment)
                found.update(dict.fromkeys(line.split()[1:], inside))
            elif inside is not None and line.startswith(" "):
                found.update(dict.fromkeys(line.split(), inside))
            else:
                comment, inside = [], None
    return found


def cuda_version(number):
    return f"{number // 1000}.{number % 1000 // 10}"


def call_rows(model, versions):
    mode, texts = modes(), list(test_texts())
    older = {base_name(name): what for name, what in mode.items()}
    for call in sorted(model.calls, key=lambda one: one.name):
        names = call.exported()
        others = ", ".join(name.replace(base_name(call.name), "") or name for name in names[1:])
        soft = "no" if call.soft == "no" else "yes"
        remote = "no" if call.client == "no" else mode.get(call.name) or older[base_name(call.name)]
        tests = ", ".join(tested_by(names, texts)) or "-"
        yield (f"| {call.name} | {others} | {cuda_version(versions[call.name][1])} | {remote} | "
               f"{soft} | {tests} |")


def missing_rows(model, versions):
    why, groups = reasons(), {}
    for name in sorted([*model.unsupported, *model.absent]):
        groups.setdefault(why.get(name) or "Others", []).append(name)
    for reason, names in sorted(groups.items()):
        first = min(versions[name][1] for name in names)
        yield f"| {reason} | {cuda_version(first)} | {' '.join(names)} |"


def suites():
    """The tables that ./dev compat --record has left."""
    for path in sorted(glob.glob(os.path.join(RESULTS, "*.json"))):
        suite = json.loads(read(path))
        yield f"### {suite['name']}, commit {suite['commit'][:12]}\n\n{suite['summary']}\n"
        yield ("| program | software GPU | through a server | why not |\n|---|---|---|---|\n" +
               "\n".join(f"| {row['name']} | {row['direct']} | {row['server']} | {row['why']} |"
                         for row in suite["programs"]) + "\n")


def page(root):
    model = generate.load(os.path.join(ROOT, "api", "cuda"), 10 ** 6)
    versions = toolkit.versions(root, set(generate.described(model)))
    total = len(generate.described(model))
    works = sum(len(call.exported()) for call in model.calls)
    parts = [HEAD, f"## The driver API\n\n{works} of {total} symbols work.\n",
             "| function | also as | since CUDA | through a server | software GPU | tested by |\n"
             "|---|---|---|---|---|---|\n" + "\n".join(call_rows(model, versions)) + "\n",
             "### Not supported\n\n| what | since CUDA | symbols |\n|---|---|---|\n" +
             "\n".join(missing_rows(model, versions)) + "\n"]
    programs = list(suites())
    if programs:
        parts += ["## Programs\n\n`./dev compat` builds them unmodified and runs them on the "
                  "software GPU, in\ntheir own process and through a server.\n", *programs]
    return "\n".join(parts)


def main(arguments):
    text = page(arguments[0])
    if "--check" in arguments:
        if not os.path.exists(PAGE) or read(PAGE) != text:
            print("docs/compatibility.md is old: write it with scripts/compatibility.py TOOLKIT")
            return 1
        print("docs/compatibility.md is as it should be")
        return 0
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(text)
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
