#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the virtual environment FOLDER with the packages of requirements.txt beside this file, and
in FOLDER/runtimes a folder for each CUDA runtime of runtimes.txt, unless they are there already."""

import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ENVIRONMENT = os.path.join(HERE, "requirements.txt")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def runtimes():
    """The packages of runtimes.txt: a line each, (name of its folder, line)."""
    lines = read(os.path.join(HERE, "runtimes.txt")).splitlines()
    return [(line.split("==")[1].split()[0], line)
            for line in lines if line and not line.startswith("#")]


def install(python, arguments):
    """Whether pip could do it."""
    done = subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-input",
                           "--disable-pip-version-check", *arguments], check=False)
    if done.returncode != 0:
        sys.stderr.write("packages: pip could not install them (its own words are above); is the "
                         "package index reachable?\n")
    return done.returncode == 0


def made(folder, wanted, make):
    """Makes `folder` anew, unless what lies there was made from the same text."""
    mark = os.path.join(folder, "installed.txt")
    if os.path.exists(mark) and read(mark) == wanted:
        return True
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    if not make():
        return False
    with open(mark, "w", encoding="utf-8") as file:
        file.write(wanted)
    return True


def main(folder):
    python = os.path.join(folder, "bin", "python")

    def environment():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        return install(python, ["-r", ENVIRONMENT])
    if not made(folder, read(ENVIRONMENT), environment):
        return 1
    for name, line in runtimes():
        target = os.path.join(folder, "runtimes", name)

        def runtime(target=target, line=line):
            only = os.path.join(target, "wanted.txt")
            with open(only, "w", encoding="utf-8") as file:
                file.write(line + "\n")
            return install(python, ["--no-deps", "--target", target, "-r", only])
        if not made(target, line, runtime):
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
