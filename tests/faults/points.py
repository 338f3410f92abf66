# SPDX-License-Identifier: Apache-2.0
"""The failpoints of the source (base/failpoint.h): found in it, so that a new one is tested without
further ado, and armed by a file."""

import fcntl
import glob
import os
import re
import tempfile
from dataclasses import dataclass

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
CALL = re.compile(r'(\(void\))?GA_FAILPOINT\("([^"]+)"\)')

FOLDERS = ("client", "server", "transport")
# The number of different names: a change that adds or removes one changes it, so that none is lost
# unseen.
COUNT = 62

# Steps that are only taken where a tenant has limits: lending.py goes there.
LENDING = ("backend: before it borrows", "backend: borrowed", "backend: before it returns",
           "backend: returned", "gpuaasd: before lending", "gpuaasd: lent", "gpuaasd: recalled")

# Steps that are only taken where a GPU has a policy: turn_taking.py goes there.
TURNS = ("backend: turn wanted", "backend: in a turn", "backend: before a turn is returned",
         "backend: turn returned", "gpuaasd: before turns are told")

# Steps that are only taken when somebody else's claim is in the way: claims.py goes there.
CLAIMS = ("gpuaasd: before a claim is taken back", "backend: before a claim is taken back",
          "backend: claim taken back", "gpuaasd: claim taken back")

# No fault: the driver has no such thing. tests/e2e/quotas.py asks for them.
KINDS = ("backend: kernels can be stopped", "backend: variables are told")

# Only where a GPU is checked: tests/e2e/monitoring.py fails it.
CHECKS = ("backend: device checked",)

# A backend process whose client has gone may end before gpuaasd has come to ending it; usage is
# written now and then (tests/e2e/accounting.py).
UNSURE = ("gpuaasd: before a backend process is ended", "gpuaasd: before usage is written",
          "gpuaasd: usage written")


@dataclass(frozen=True)
class Point:
    name: str
    can_fail: bool  # its caller takes it as failure

    @property
    def program(self):
        return self.name.split(":")[0]  # gpuaasd, backend, client, tcp, rdma


def found_points():
    points = {}
    for folder in FOLDERS:
        for path in glob.glob(os.path.join(ROOT, folder, "**", "*.c"), recursive=True):
            with open(path, encoding="utf-8") as f:
                for void, point in CALL.findall(f.read()):
                    can_fail = not void or points.get(point, Point("", False)).can_fail
                    points[point] = Point(point, can_fail)
    known = COUNT + len(LENDING) + len(TURNS) + len(CLAIMS) + len(KINDS) + len(CHECKS)
    assert len(points) == known, f"{len(points)} failpoints are found, {known} are known"
    return sorted(points.values(), key=lambda point: point.name)


def all_points():
    apart = LENDING + TURNS + CLAIMS + KINDS + CHECKS
    return [point for point in found_points() if point.name not in apart]


def lending_points():
    points = [point for point in found_points() if point.name in LENDING]
    assert len(points) == len(LENDING), "a step of lending has another name"
    return points


def turns_points():
    points = [point for point in found_points() if point.name in TURNS]
    assert len(points) == len(TURNS), "a step of turns has another name"
    return points


def claims_points(program):
    points = [point for point in found_points() if point.name in CLAIMS]
    assert len(points) == len(CLAIMS), "a step of claims has another name"
    return [point for point in points if point.program == program]


class Fuse:
    """The file that arms a failpoint: write it, let programs run, see whether it has fired."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="gpuaas-fault-")
        self.file = os.path.join(self.folder.name, "failpoint")
        self.env = {"GPUAAS_FAILPOINT": self.file}
        self.dud = False

    def arm(self, name, action, count=1):
        self.disarm()
        whole = self.file + ".new"
        with open(whole, "w", encoding="utf-8") as f:
            f.write(f"{count} {action} {name}\n")
        os.rename(whole, self.file)
        self.dud = False

    def fired(self):
        try:
            return not self.dud and os.stat(self.file).st_size == 0
        except FileNotFoundError:
            return not self.dud

    def disarm(self):
        """From here on it does not fire; whether it had."""
        try:
            with open(self.file, "r+b") as f:  # processes have it open
                fcntl.lockf(f, fcntl.LOCK_EX)
                self.dud = os.fstat(f.fileno()).st_size != 0
                f.truncate(0)
            os.unlink(self.file)
        except FileNotFoundError:
            pass
        return self.fired()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.folder.cleanup()
