#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The client library is a guest: fork and exit at bad moments, choosing devices."""

import re

from lib import harness
from lib.harness import expect


def test_fork(build):
    """semantics S35"""
    with harness.serving(build) as server:
        for shared in (False, True):
            process = harness.run_passing([build.program("guest", shared), "fork"],
                                          build.remote([server]))
            expect("error 3, 0 sockets" in process.out.text, process.report())


def test_exit_in_a_kernel(build):
    """semantics S36"""
    with harness.serving(build) as server:
        traces = harness.Traces(server)
        for shared in (False, True):
            process = harness.run_passing([build.program("guest", shared), "exit"],
                                          build.remote([server]))
            expect(not process.err.lines, f"nothing to complain about\n{process.report()}")
        traces.expect_none()


def devices(build, server, **choice):
    process = harness.run([build.program("devices")], build.remote([server], **choice))
    return re.findall(r"^device \d+: ([^,]*)", process.out.text, re.M)


def test_choosing_devices(build):
    with harness.serving(build, gpus=2) as server:
        both = devices(build, server)
        expect(len(both) == 2 and both[0] != both[1], f"two devices with two names: {both}")
        expect(devices(build, server, GPUAAS_DEVICES="1,0") == both[::-1], "GPUAAS_DEVICES=1,0")
        expect(devices(build, server, GPUAAS_DEVICES="1,0", CUDA_VISIBLE_DEVICES="0") == both[1:],
               "CUDA_VISIBLE_DEVICES chooses among those")
        expect(devices(build, server, CUDA_VISIBLE_DEVICES="0,7,1") == both[:1],
               "the first entry that means no device ends the list")


if __name__ == "__main__":
    harness.main(globals())
