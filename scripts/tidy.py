#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clang-tidy over the C files of a build, only where something has changed.

    tidy.py BUILD [FILE...]

A file is clean when it was clean with the same bytes of itself, of every header of ours that it
includes (as ninja knows them), of .clang-tidy and of the same clang-tidy; BUILD/tidy/ remembers
that. Exit status 1: findings, on stdout."""

import concurrent.futures
import hashlib
import json
import os
import shlex
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TIDY = "clang-tidy-14"


def sources(build, only):
    """path -> object file, for C files of the repository."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        commands = json.load(file)
    found = {}
    for command in commands:
        path = os.path.realpath(command["file"])
        generated = path.startswith(os.path.realpath(build) + os.sep)
        if path.startswith(ROOT + os.sep) and not generated and (not only or path in only):
            words = shlex.split(command["command"])
            found.setdefault(path, words[words.index("-o") + 1])
    return found


def dependencies(build):
    """object file -> headers of ours"""
    text = subprocess.run(["ninja", "-C", build, "-t", "deps"], check=True, capture_output=True,
                          text=True).stdout
    found, current = {}, None
    for line in text.splitlines():
        if line and not line.startswith(" "):
            current = found.setdefault(line.split(":")[0], [])
        elif line.strip():
            path = os.path.normpath(os.path.join(build, line.strip()))
            if path.startswith(ROOT + os.sep):
                current.append(path)
    return found


class Hashes:
    def __init__(self, *given):
        self.base = hashlib.sha256("\0".join(given).encode()).digest()
        self.files = {}

    def of(self, path):
        if path not in self.files:
            with open(path, "rb") as file:
                self.files[path] = hashlib.sha256(file.read()).digest()
        return self.files[path]

    def key(self, paths):
        total = hashlib.sha256(self.base)
        for path in paths:
            total.update(self.of(path))
        return total.hexdigest()


def examine(build, path):
    done = subprocess.run([TIDY, "-p", build, "--quiet", path], capture_output=True, text=True,
                          check=False)
    return done.returncode == 0, done.stdout.replace(ROOT + os.sep, "")


def main():
    build = os.path.abspath(sys.argv[1])
    files = sources(build, {os.path.realpath(path) for path in sys.argv[2:]})
    known = dependencies(build)
    version = subprocess.run([TIDY, "--version"], check=True, capture_output=True,
                             text=True).stdout
    with open(os.path.join(ROOT, ".clang-tidy"), encoding="utf-8") as file:
        hashes = Hashes(version, file.read())
    memory = os.path.join(build, "tidy")
    os.makedirs(memory, exist_ok=True)
    marks = {path: os.path.join(memory, hashes.key([path, *known.get(output, [])]))
             for path, output in files.items()}
    todo = sorted(path for path in files if not os.path.exists(marks[path]))
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, (clean, text) in zip(todo, pool.map(lambda p: examine(build, p), todo)):
            if clean:
                with open(marks[path], "w", encoding="utf-8"):
                    pass
            else:
                bad += 1
                print(text, end="", flush=True)
    print(f"clang-tidy: {len(files)} files, {len(todo)} examined, {bad} with findings")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
