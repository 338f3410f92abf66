# SPDX-License-Identifier: Apache-2.0
"""Servers that ask who a program is, and programs that show a token."""

from lib import harness
from lib.harness import expect


class Guarded(harness.Server):
    """A server with a store, and the commands that change it."""

    def __init__(self, build, scheme="tcp", more="", gpus=1, **options):
        self.build = build
        config = harness.configuration(gpus, keys=["auth = on", "store = STORE", more])
        if scheme == "tls":
            config = harness.with_tls(config)
        super().__init__(build, config=config, **options)

    def change(self, *words, status=0):
        process = harness.run([self.build.path("tests", "tenants"), self.store, *words],
                              self.build.environment(preload=False), status=status)
        return process.out.text

    def token(self, *words):
        """Its id, and the token."""
        return self.change("token", *words).split()


def guarded(build, scheme="tcp", more="", **options):
    return harness.serving(build, kind=lambda build, **o: Guarded(build, scheme, more, **o),
                           **options)


def with_token(build, server, token, **extra):
    env = build.remote([server], GPUAAS_TOKEN=token, **extra)
    env.setdefault("GPUAAS_CA", harness.authority().ca)
    return env


def expect_refused(build, env, *words):
    """Error 800, and one line with the words."""
    process = harness.run([build.program("devices")], env, status=1)
    expect("(800," in process.out.text, f"error 800 is due\n{process.report()}")
    lines = harness.logged(process)
    expect(len(lines) == 1 and all(word in lines[0] for word in words),
           f"one line with {words}\n{process.report()}")
    return lines[0]


NOT_ACCEPTED = "does not accept the token or certificate"
