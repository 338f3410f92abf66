# SPDX-License-Identifier: Apache-2.0
"""The suites that are known: how a checkout of each is built, unmodified, and its programs.

Nothing of theirs is kept here: a checkout is copied into build/compat and built there."""

import json
import os
import re
import shutil
import subprocess

from rodinia import rodinia_programs
from run import Program
from shoc import shoc_programs

# A compiler that makes PTX for one architecture, whatever the suite asks for. Relocatable code
# needs machine code beside it, or nvlink has nothing to link.
NVCC = """#!/usr/bin/env python3
import os, sys
args, out, i, named = sys.argv[1:], [], 0, False
relocatable = any(a in ("-dc", "-dlink", "-rdc=true", "--device-link", "--device-c", "-rdc",
                        "--relocatable-device-code=true") for a in args)
while i < len(args):
    if args[i] in ("-gencode", "--generate-code", "-arch", "-code"):
        named, i = True, i + 2
    elif args[i].startswith(("-gencode", "--generate-code=", "-arch=", "-code=",
                             "--gpu-architecture", "--gpu-code")):
        named, i = True, i + 1
    else:
        out.append(args[i])
        i += 1
if named:
    code = "[sm_{0},compute_{0}]" if relocatable else "compute_{0}"
    out += ["-gencode", "arch=compute_{0},code=".format("%(arch)s") + code.format("%(arch)s")]
out += ["-I" + path for path in ["%(include)s"] if path]
os.execv("%(nvcc)s", ["%(nvcc)s"] + out)
"""


def make_compiler(folder, toolkit, arch, include):
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "nvcc")
    with open(path, "w") as file:
        file.write(NVCC % {"arch": arch, "nvcc": os.path.join(toolkit, "bin/nvcc"), "include":
                           os.path.realpath(include) if include else ""})
    os.chmod(path, 0o755)
    return path


def copy_tree(source, target):
    if not os.path.isdir(target):
        shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns(".git"))


# ---- NVIDIA/cuda-samples: one CMake project ----

def drop(folder, sample):
    """Takes a sample that cannot be configured here out of its parent's list."""
    parent = os.path.join(folder, os.path.dirname(sample), "CMakeLists.txt")
    with open(parent) as file:
        text = file.read()
    name = re.escape(os.path.basename(sample))
    with open(parent, "w") as file:
        file.write(re.sub(r"add_subdirectory\(%s\)" % name, "", text))


def configure(source, build, nvcc, say):
    """The samples that cannot be configured, by name, with the reason. Slow, so done once."""
    known = os.path.join(os.path.dirname(build), "dropped.json")
    if os.path.exists(known):
        with open(known) as file:
            return json.load(file)
    dropped = {}
    for _ in range(8):
        done = subprocess.run(["cmake", "-G", "Ninja", "-S", source, "-B", build,
                               "-DCMAKE_CUDA_COMPILER=" + nvcc, "-DCMAKE_BUILD_TYPE=Release"],
                              capture_output=True, text=True)
        if done.returncode == 0:
            with open(known, "w") as file:
                json.dump(dropped, file)
            return dropped
        text = done.stdout + done.stderr
        wrong = set(re.findall(r"CMake Error at (Samples/[^/\s]+/[^/\s]+)/CMakeLists", text))
        wrong |= {"/".join(path.split("/")[-3:])
                  for path in re.findall(r"in directory (\S*/Samples/\S+)", text)}
        if not wrong:
            raise SystemExit("compat: cmake cannot configure the samples:\n" + text[-2000:])
        for sample in sorted(wrong):
            say(f"{sample} cannot be configured here")
            dropped[os.path.basename(sample)] = "needs a library that is not installed"
            drop(source, sample)
    raise SystemExit("compat: cmake cannot configure the samples")


# Samples whose kernels fail on purpose.
COMPLAINS = ("simpleAssert", "simpleAssert_nvrtc")


def give_data(source, folder):
    """Samples look for their data beside the binary; not all of them are copied there."""
    data, link = os.path.join(source, "data"), os.path.join(folder, "data")
    if os.path.isdir(data) and not os.path.exists(link):
        os.symlink(os.path.realpath(data), link)


def sample_programs(checkout, work, nvcc, pick, say):
    source, build = os.path.join(work, "source"), os.path.join(work, "build")
    copy_tree(checkout, source)
    dropped = configure(source, build, nvcc, say)
    targets = subprocess.run(["ninja", "-C", build, "-t", "targets", "all"], capture_output=True,
                             text=True, check=True).stdout
    binaries = re.findall(r"^(Samples/\S+/([^/\s]+)): C\w*_EXECUTABLE_LINKER\S*", targets, re.M)
    with open(os.path.join(source, "test_args.json")) as file:
        arguments = json.load(file)
    for name, why in dropped.items():
        if pick(name):
            yield Program(name, None, build, reason=why)
    for path, name in sorted(binaries):
        if not pick(name):
            continue
        say(f"building {name}")
        made = subprocess.run(["ninja", "-C", build, path], capture_output=True, text=True)
        folder = os.path.join(build, os.path.dirname(path))
        given = arguments.get(name, {})
        if made.returncode or not os.access(os.path.join(build, path), os.X_OK):
            lines = [line for line in made.stdout.splitlines() if "error" in line.lower()]
            yield Program(name, None, build, reason=(lines or ["does not compile"])[0][-160:])
        elif given.get("skip"):
            yield Program(name, None, build, reason="its own tests skip it: it needs a display")
        else:
            give_data(os.path.join(source, os.path.dirname(path)), folder)
            for number, one in enumerate(given.get("runs", [given])):
                label = name if number == 0 else f"{name} {number + 1}"
                yield Program(label, ["./" + name] + one.get("args", []), folder,
                              complains=name in COMPLAINS)


def commit_of(checkout):
    done = subprocess.run(["git", "-C", checkout, "rev-parse", "HEAD"], capture_output=True,
                          text=True)
    return done.stdout.strip() if done.returncode == 0 else "a copy without history"


def programs_of(checkout, work, nvcc, pick, say):
    """The name of the suite and its programs, each built when it is asked for."""
    if os.path.exists(os.path.join(checkout, "test_args.json")):
        return "cuda-samples", sample_programs(checkout, work, nvcc, pick, say)
    if os.path.isdir(os.path.join(checkout, "cuda/pathfinder")):
        return "rodinia", rodinia_programs(checkout, work, nvcc, pick, say, copy_tree)
    if os.path.isdir(os.path.join(checkout, "src/cuda/level1")):
        return "shoc", shoc_programs(checkout, work, nvcc, pick, say, copy_tree)
    raise SystemExit(f"compat: {checkout} is no checkout of cuda-samples, Rodinia or SHOC")
