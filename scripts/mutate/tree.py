# SPDX-License-Identifier: Apache-2.0
"""The copy of the tree for faults: made, rewritten and built. A fault that does not compile (a
size, a case, a type) is left out, with its number."""

import json
import os
import re
import shlex
import shutil
import subprocess

import rewrite

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HOME = os.path.join(ROOT, "build", "mutate")
TREE = os.path.join(HOME, "tree")
BUILD = os.path.join(TREE, "build", "mutants")
# No test of these is run against mutants.
LEFT_OUT = ("perf/CMakeLists.txt", "tests/fuzz/", "tests/rdma/", "tests/lint/", "tests/gpu/",
            "tests/tools/latency/", "tests/tools/mutate/", "tests/tools/against/",
            "tests/tools/changed/")
ROUNDS = 12  # of leaving out


class Broken(Exception):
    """The build fails for another reason than a fault of ours; the text says it."""


def read(path):
    with open(path, encoding="latin-1", newline="") as file:
        return file.read()


def write(path, text):
    with open(path, "w", encoding="latin-1", newline="") as file:
        file.write(text)


def tracked():
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others",
                             "--exclude-standard"], cwd=ROOT, check=True, capture_output=True,
                            text=True).stdout.split("\0")
    return [path for path in listed if path and not path.startswith(LEFT_OUT) and
            os.path.isfile(os.path.join(ROOT, path))]


def is_test(path):
    return path.startswith("tests/") or "/tests/" in path or path.endswith((".cmake", "Lists.txt"))


def copy(besides=()):
    """Updates the copy to the tree, except the files `besides`, which only have to exist.
    Compiled programs of tests/kernels stay as they were first copied, and may be older than the
    tree."""
    wanted = set(tracked())
    besides = set(besides)
    os.makedirs(TREE, exist_ok=True)
    for folder, folders, names in os.walk(TREE):
        if folder == TREE and "build" in folders:
            folders.remove("build")
        for name in names:
            path = os.path.relpath(os.path.join(folder, name), TREE)
            if path not in wanted and path != "mutant.h":
                os.unlink(os.path.join(folder, name))
    for path in wanted:
        source, target = os.path.join(ROOT, path), os.path.join(TREE, path)
        if not os.path.exists(target) or path not in besides and read(source) != read(target):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy2(source, target)
    kernels = os.path.join(ROOT, "build", "kernels")
    if not os.path.exists(os.path.join(TREE, "build", "kernels")) and os.path.exists(kernels):
        shutil.copytree(kernels, os.path.join(TREE, "build", "kernels"))


def originals(paths):
    return {path: read(os.path.join(ROOT, path)) for path in paths}


def put(numbered, sources, most):
    """Writes the sources with these faults in them. `sources`: path -> text without."""
    def update(path, text):
        target = os.path.join(TREE, path)
        if not os.path.exists(target) or read(target) != text:
            write(target, text)
    update("mutant.h", rewrite.header(most))
    for path, text in sources.items():
        update(path, rewrite.rewritten(text, [(number, site) for number, site in numbered
                                              if site.file == path]))


def configure():
    if not os.path.exists(os.path.join(TREE, "mutant.h")):
        write(os.path.join(TREE, "mutant.h"), rewrite.header(1))
    subprocess.run(["cmake", "-S", TREE, "-B", BUILD, "-G", "Ninja", "-DGPUAAS_SANITIZE=mutants",
                    "-DCMAKE_BUILD_TYPE=", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"], check=True,
                   stdout=subprocess.DEVNULL)


def ninja(*arguments):
    return subprocess.run(["ninja", "-C", BUILD, *arguments], check=False, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def compile_jobs(folders):
    """(path, arguments for clang) of the sources in these folders; generated files exist by
    then."""
    done = ninja("-t", "targets", "rule", "CUSTOM_COMMAND")
    generated = [line for line in done.stdout.splitlines()
                 if re.search(r"/gen/|^gen/", line) and not line.endswith(".util")]
    done = ninja("-k", "0", *generated)
    if done.returncode != 0:
        raise Broken(done.stdout[-3000:])
    with open(os.path.join(BUILD, "compile_commands.json"), encoding="utf-8") as file:
        commands = json.load(file)
    jobs = {}
    for command in commands:
        path = os.path.relpath(command["file"], TREE)
        if within(path, folders) and path.endswith(".c") and "/tests/" not in path:
            words = shlex.split(command["command"])
            kept = [word for word in words if word.startswith(("-I", "-D", "-std=", "-march="))]
            system = [part for at, word in enumerate(words) if word == "-isystem"
                      for part in ("-isystem", words[at + 1])]
            jobs.setdefault(command["file"], [*kept, *system, "-include",
                                              os.path.join(TREE, "mutant.h")])
    return sorted(jobs.items())


def within(path, folders):
    return any(path.startswith(folder.rstrip("/") + "/") for folder in folders)


def complained(output):
    """Places that the compiler names where it says that something is wrong: {(file, line)}."""
    found = set()
    for name, line in re.findall(r"(?m)^(?:In file included from )?([^\s:]+):(\d+)[:,]", output):
        path = os.path.normpath(os.path.join(BUILD, name))
        found.add((os.path.relpath(path, TREE), int(line)))
    return found


def build(numbered, sources, most, targets, say):
    """Builds the targets (none: all) with as many of the faults as compile; those."""
    for _ in range(ROUNDS):
        put(numbered, sources, most)
        done = ninja("-k", "0", *targets)
        if done.returncode == 0:
            return numbered
        named = complained(done.stdout)
        wrong = {number for number, site in numbered if any(
            (site.file, line) in named
            for line in range(site.line, site.line + 1 + sources[site.file].count(
                "\n", site.start, site.end)))}
        if not wrong:
            raise Broken(done.stdout[-6000:])
        say(f"{len(wrong)} faults do not compile and are left out")
        numbered = [pair for pair in numbered if pair[0] not in wrong]
    raise Broken("it does not compile, whatever is left out")
