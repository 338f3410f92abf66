#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Device code travels once: a program that loads again what its owner has sent before does not send
it. The owner is a client certificate, a user of this machine over shm:name, or else the one
program; nobody else has any use of it."""

import os
import re
import signal

from lib import harness
from lib.harness import expect, wait_until

MIB = 20
FEW = 64 << 10  # bytes that the second start may send, all in all


def sent(build, env, mib=MIB, times=1):
    """Bytes that load_image sends to backend processes."""
    env = {**env, "GPUAAS_TRACE": "summary"}
    process = harness.run_passing([build.program("load_image"), str(mib), str(times)], env)
    return int(re.search(r"bytes out (\d+)", process.err.text).group(1))


def expect_sent(build, env, whole, what, **options):
    bytes_out = sent(build, env, **options)
    due = "all of the image" if whole else f"less than {FEW} bytes"
    good = bytes_out >= MIB << 20 if whole else bytes_out < FEW
    expect(good, f"{what}: {bytes_out} bytes sent, {due} is due")


def kept(server):
    """Bytes of images that gpuaasd says it has."""
    begin = len(server.err.lines)

    def told():
        lines = "\n".join(server.err.lines[begin:])
        return re.search(r"report: (\d+) bytes of images kept", lines)
    server.kill(signal.SIGUSR1)
    return int(wait_until(told, 20, "gpuaasd reports").group(1))


def test_a_user_over_shared_memory(build):
    name = f"gpuaas-images-{os.getpid()}"
    config = harness.configuration(1, keys=[f"listen = shm:{name}"])
    with harness.serving(build, config=config) as server:
        env = {**build.remote([server], GPUAAS_TRANSPORT="auto"), "GPUAAS_SERVERS": f"shm:{name}"}
        expect_sent(build, env, True, "the first start")
        expect_sent(build, env, False, "the second start")
        expect(kept(server) >= MIB << 20, server.report())
        env = build.remote([server], GPUAAS_TRANSPORT="auto")
        if harness.TRANSPORT != "tls":
            expect_sent(build, env, True, "a program that has not proved whose it is")


def test_a_client_certificate(build):
    authority = harness.authority()
    config = harness.configuration(1, keys=[f"tls_client_ca = {authority.ca}"])
    with harness.serving(build, config=harness.with_tls(config)) as server:
        def of(name):
            cert, key = authority.sign(name, "DNS:client")
            return build.remote([server], GPUAAS_TRANSPORT="tls", GPUAAS_CA=authority.ca,
                                GPUAAS_CERT=cert, GPUAAS_KEY=key)
        ann, ben = of("ann"), of("ben")
        expect_sent(build, ann, True, "the first start")
        expect_sent(build, ann, False, "the second start")
        expect_sent(build, {**ann, "GPUAAS_TRANSPORT": "auto"}, False, "the third, over shm")
        expect_sent(build, ben, True, "the first start of somebody else")
        expect_sent(build, ben, False, "his second start")


def test_nobody_in_particular(build):
    """Over TCP, or TLS without certificates of clients, a program has what it has sent itself."""
    with harness.serving(build, gpus=1) as server:
        env = build.remote([server])
        once = sent(build, env)
        expect(once >= MIB << 20, f"{once} bytes sent by the first start")
        more = sent(build, env, times=3) - once
        expect(abs(more) < FEW, f"{more} bytes more for three times")
        wait_until(lambda: kept(server) == 0, 10, "they go with their program")


def test_a_server_that_keeps_nothing(build):
    config = harness.configuration(1, keys=["image_store = 0"])
    with harness.serving(build, config=config) as server:
        env = build.remote([server])
        expect(sent(build, env, times=2) >= 2 * MIB << 20, "each time all of it is due")


def test_larger_than_the_store(build):
    config = harness.configuration(1, keys=["image_store = 10MiB"])
    with harness.serving(build, config=config) as server:
        env = build.remote([server])
        expect(sent(build, env, times=2) >= 2 * MIB << 20, "it is not kept")
        expect(sent(build, env, mib=5, times=2) < 6 << 20, "a smaller one is")


if __name__ == "__main__":
    harness.main(globals())
