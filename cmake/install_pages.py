#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lays out the pages of share/doc: install_pages.py FOLDER. These are the README, the pages that it
links to, and all of docs/ but the manual pages. A link to anything else becomes plain text, so no
link is dead. Prints the path of each file, for CMake's list of installed files."""

import os
import re
import shutil
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")
LEFT_OUT = ("docs/man/", "docs/compat/")


def target(page, link):
    """The path of what a link of the page leads to; None: elsewhere."""
    path = link.partition("#")[0]
    if re.match(r"\w+:", link):
        return None
    return os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def installed():
    files = {"README.md", "CHANGELOG.md"}
    files |= {path for _, link in LINK.findall(read("README.md"))
              if os.path.isfile(os.path.join(ROOT, path := target("README.md", link) or ""))}
    for folder, _, names in os.walk(os.path.join(ROOT, "docs")):
        files |= {os.path.relpath(os.path.join(folder, name), ROOT) for name in names}
    return sorted(path for path in files if not path.startswith(LEFT_OUT))


def kept(page, files):
    def link(match):
        to = target(page, match.group(2))
        return match.group() if to is None or to in files else match.group(1)
    return LINK.sub(link, read(page))


def main():
    files = installed()
    for path in files:
        to = os.path.join(sys.argv[1], path)
        os.makedirs(os.path.dirname(to), exist_ok=True)
        if path.endswith(".md"):
            with open(to, "w", encoding="utf-8") as file:
                file.write(kept(path, files))
        else:
            shutil.copyfile(os.path.join(ROOT, path), to)
        print(to)


if __name__ == "__main__":
    main()
