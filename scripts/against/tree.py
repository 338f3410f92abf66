# SPDX-License-Identifier: Apache-2.0
"""Another revision, built beside this one: a work tree of git in build/against/COMMIT, which stays
there for the next time (git worktree remove takes it away)."""

import os
import subprocess

TARGETS = ("gpuaasd", "client_cuda", "softgpu_cuda", "perf")


class Failed(Exception):
    """There is no such revision, or it cannot be built; the text says it."""


def do(command, what, **options):
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, **options)
    if done.returncode != 0:
        raise Failed(f"{what}: {done.stdout.strip()[-3000:]}")
    return done.stdout


def commit_of(root, revision):
    return do(["git", "-C", root, "rev-parse", "--verify", "--quiet", revision + "^{commit}"],
              f"git knows no revision {revision}").strip()


def checked_out(root, commit):
    """The folder of that work tree, as it was committed."""
    folder = os.path.join(root, "build", "against", commit[:12])
    if not os.path.exists(os.path.join(folder, ".git")):
        do(["git", "-C", root, "worktree", "prune"], "git worktree prune")
        do(["git", "-C", root, "worktree", "add", "--detach", folder, commit], "git worktree add")
    else:
        do(["git", "-C", folder, "checkout", "--force", "--detach", commit], "git checkout")
    return folder


def built(folder, jobs):
    """The folder of its release build."""
    build = os.path.join(folder, "build", "release")
    # Makes ccache reuse objects that were compiled in this tree.
    env = {**os.environ, "CCACHE_BASEDIR": folder, "CCACHE_NOHASHDIR": "1"}
    if not os.path.exists(os.path.join(build, "build.ninja")):
        do(["cmake", "--preset", "release"], f"configuring {folder}", cwd=folder, env=env)
    do(["cmake", "--build", build, "-j", str(jobs), "--target", *TARGETS], f"building {folder}",
       env=env)
    return build
