# SPDX-License-Identifier: Apache-2.0
"""Which files differ from a revision: in the commits since, in the work tree, and new ones."""

import subprocess


class Unknown(Exception):
    """Git does not know the revision; the text says it."""


def git(root, *arguments):
    done = subprocess.run(["git", "-C", root, *arguments], check=False, capture_output=True,
                          text=True)
    if done.returncode != 0:
        raise Unknown(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def base(root):
    """(revision, how it was found): where this branch left the one that it goes to."""
    for branch in ("@{upstream}", "origin/main", "main"):
        try:
            return git(root, "merge-base", "HEAD", branch).strip(), f"where it left {branch}"
        except Unknown:
            continue
    return git(root, "rev-parse", "HEAD").strip(), "the last commit: there is no branch main"


def files(root, revision):
    """A file that was moved counts under both of its names."""
    changed = git(root, "diff", "--name-only", "--no-renames", "-z", revision, "--")
    new = git(root, "ls-files", "-z", "--others", "--exclude-standard")
    return sorted(set(filter(None, (changed + new).split("\0"))))
