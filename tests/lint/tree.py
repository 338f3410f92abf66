# SPDX-License-Identifier: Apache-2.0
"""The files of the repository as the rules see them. Only what git tracks or would track counts, so
build folders and editors' leftovers do not; outside a git work tree every file counts."""

import os
import subprocess
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Finding:
    path: str
    line: int  # from 1; 0 means the file as a whole
    message: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.message}"


class File:
    def __init__(self, root, path):
        self.root = root
        self.path = path  # relative to the root, with slashes

    @property
    def folder(self):
        """The first component: the folder whose rules hold. "" for files in the root."""
        return self.path.split("/")[0] if "/" in self.path else ""

    @property
    def suffix(self):
        return os.path.splitext(self.path)[1]

    @cached_property
    def text(self):
        with open(os.path.join(self.root, self.path), encoding="utf-8", errors="replace") as f:
            return f.read()

    @property
    def lines(self):
        return self.text.splitlines()

    def finding(self, line, message):
        return Finding(self.path, line, message)


class Tree:
    def __init__(self, root):
        self.root = root

    @cached_property
    def files(self):
        return [File(self.root, path) for path in sorted(self._paths())
                if os.path.isfile(os.path.join(self.root, path))]

    def _paths(self):
        if os.path.exists(os.path.join(self.root, ".git")):
            listed = subprocess.run(
                ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                cwd=self.root, check=True, capture_output=True, text=True)
            return [path for path in listed.stdout.split("\0") if path]
        return [os.path.relpath(os.path.join(folder, name), self.root)
                for folder, _, names in os.walk(self.root) for name in names]

    def with_suffix(self, *suffixes):
        return [file for file in self.files if file.suffix in suffixes]
