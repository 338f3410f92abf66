# SPDX-License-Identifier: Apache-2.0
"""A server with two tenants, one of which may claim a GPU."""

import contextlib

from lib.tokens import guarded, with_token

GPUS = 2


@contextlib.contextmanager
def two_tenants(build, isolation, more=""):
    """The environments of programs of the tenants `lab`, of that isolation, and `other`, an app.
    `more`: lines of the configuration of the server."""
    with guarded(build, more=more, gpus=GPUS) as server:
        server.change("add", "lab", f"isolation={isolation}")
        server.change("add", "other")
        yield server, *(with_token(build, server, server.token(name)[1])
                        for name in ("lab", "other"))


def gpu(env, number):
    """With two devices, the CUDA runtime would take the other one by itself."""
    return {**env, "CUDA_VISIBLE_DEVICES": str(number)}
