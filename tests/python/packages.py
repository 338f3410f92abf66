#!/usr/bin/env python3
"""Makes the virtual environment FOLDER with the packages of requirements.txt beside this file,
unless it has them already."""

import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def main(folder):
    with open(os.path.join(HERE, "requirements.txt"), encoding="utf-8") as file:
        wanted = file.read()
    mark = os.path.join(folder, "installed.txt")
    if os.path.exists(mark):
        with open(mark, encoding="utf-8") as file:
            if file.read() == wanted:
                return 0
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    done = subprocess.run([os.path.join(folder, "bin", "pip"), "install", "--quiet", "--no-input",
                           "--disable-pip-version-check", "-r",
                           os.path.join(HERE, "requirements.txt")], check=False)
    if done.returncode != 0:
        sys.stderr.write("packages: pip could not install them (its own words are above); is the "
                         "package index reachable?\n")
        return 1
    with open(mark, "w", encoding="utf-8") as file:
        file.write(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
