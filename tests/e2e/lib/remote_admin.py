# SPDX-License-Identifier: Apache-2.0
"""A server that administrators reach from other machines, and their certificates."""

import contextlib
import tempfile

from lib import ctl, harness


class Remote(ctl.Ctl):
    """The command as somebody elsewhere runs it."""

    def __init__(self, build, folder, url, name=None):
        super().__init__(build, folder)
        self.url = url
        self.env["GPUAAS_CA"] = f"{folder}/ca/ca.pem"
        if name:
            self.env["GPUAAS_CERT"] = f"{folder}/{name}.crt"
            self.env["GPUAAS_KEY"] = f"{folder}/{name}.key"


@contextlib.contextmanager
def reachable(build, keys="auth = on"):
    """A server with tls, and its command over the admin socket; an authority in its folder."""
    with tempfile.TemporaryDirectory(prefix="gpuaas-ctl-") as folder:
        local = ctl.Ctl(build, folder)
        local.run("ca", "init", "--ca", f"{folder}/ca", server=False)
        local.run("cert", "issue-server", "127.0.0.1", "--ca", f"{folder}/ca", "--out",
                  f"{folder}/server")
        config = ctl.configuration(folder, listen="tls://127.0.0.1:0", keys=f"""{keys}
store = {folder}/gpuaas.db
audit_log = {folder}/audit
tls_cert = {folder}/server.crt
tls_key = {folder}/server.key
tls_client_ca = {folder}/ca/ca.pem""")
        with harness.serving(build, config=config) as server:
            yield server, local, folder


def issue(local, folder, *words, name, **options):
    return local.run("cert", *words, "--ca", f"{folder}/ca", "--out", f"{folder}/{name}",
                     **options)
