# SPDX-License-Identifier: Apache-2.0
"""The audit log of a server, as lines."""

import glob
import json
import os
import tempfile

from lib import ctl
from lib.harness import wait_until

LINES_SECONDS = 10


def scratch():
    return tempfile.TemporaryDirectory(prefix="gpuaas-audit-")


class Audited:
    """A server with tokens, an admin socket and an audit log."""

    def __init__(self, build, folder, server):
        self.server, self.folder = server, os.path.join(folder, "audit")
        self.ctl = ctl.Ctl(build, folder)

    def lines(self):
        found = []
        for path in sorted(glob.glob(os.path.join(self.folder, "audit-*.log"))):
            with open(path, encoding="ascii") as file:
                found += [json.loads(line) for line in file]
        return found

    def wait_for(self, event, **members):
        """The line of this event with these members."""
        def find():
            return [line for line in self.lines() if line["event"] == event and
                    all(line.get(name) == value for name, value in members.items())]
        return wait_until(find, LINES_SECONDS, f"a line {event} {members}: {self.lines()}")[-1]

    def verify(self):
        return self.ctl.text("audit", "verify", "--log", self.folder, server=False)

    def newest(self):
        return sorted(glob.glob(os.path.join(self.folder, "audit-*.log")))[-1]
