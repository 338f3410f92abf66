# SPDX-License-Identifier: Apache-2.0
"""A tenant with users."""

import contextlib
import re
import tempfile

from lib import ctl, harness
from lib.player import Player

CONFIG = """[server]
listen = tcp://127.0.0.1:0
data_ports = 0
admin_socket = {folder}/admin.sock
store = {folder}/store.db
auth = on
[gpu.0]
driver = soft
memory = 512MiB
sms = 2
[gpu.1]
driver = soft
memory = 512MiB
sms = 2
"""


class Lab:
    """A tenant with the users ana, who has limits, and ben, who has none."""

    def __init__(self, build, folder, server, of_tenant, of_ana):
        self.build, self.server = build, server
        self.admin = ctl.Ctl(build, folder)
        self.admin.run("tenant", "add", "lab", *of_tenant)
        self.tokens = {}
        for user, limits in (("ana", of_ana), ("ben", ())):
            self.admin.run("user", "add", "lab", user, *limits)
            text = self.admin.text("token", "issue", "lab", "--user", user)
            self.tokens[user] = re.search(r"gpuaas[._]\S+", text).group(0)

    def env(self, user):
        return self.build.remote([self.server], GPUAAS_TOKEN=self.tokens[user])

    @contextlib.contextmanager
    def players(self, *users):
        with contextlib.ExitStack() as stack:
            yield [stack.enter_context(contextlib.closing(Player(self.build, self.env(user))))
                   for user in users]


@contextlib.contextmanager
def lab(build, of_tenant=(), of_ana=()):
    with tempfile.TemporaryDirectory(prefix="gpuaas-quotas-") as folder:
        with harness.serving(build, config=CONFIG.format(folder=folder)) as server:
            yield Lab(build, folder, server, of_tenant, of_ana)
