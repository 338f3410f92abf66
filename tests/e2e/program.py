#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""program.py local|remote NAME: the unmodified program NAME of tests/kernels, with the static and
with the shared CUDA runtime, on the software GPU in its own process or on a server's: over TCP the
one, through shared memory the other."""

import argparse
import sys

from lib import harness
from lib.programs import ARGUMENTS, PARTS, capabilities

DEVICES = "name=Soft A,memory=1GiB,capability={0};name=Soft B,memory=2GiB,capability={0}"


def run_both(build, name, env, shared_env=None):
    arguments = ARGUMENTS.get(name, []) if build.sanitize != "none" else []
    for shared in (False, True):
        process = harness.run_passing([build.program(name, shared), *arguments],
                                      shared_env if shared and shared_env else env)
        print(f"{'shared' if shared else 'static'}: {process.seconds:.2f} s: "
              f"{process.out.lines[-2] if len(process.out.lines) > 1 else ''}")


def run_local(build, name, capability):
    devices = DEVICES.format(capability)
    if name in PARTS:
        devices = devices.replace(",memory", f",sms={PARTS[name]},memory")
    run_both(build, name, build.local(devices))


def run_remote(build, name, capability):
    keys = [f"capability = {capability}", *([f"sms = {PARTS[name]}"] if name in PARTS else [])]
    with harness.serving(build, gpu_keys=keys) as server:
        traces = harness.Traces(server)
        run_both(build, name, build.remote([server]),
                 build.remote([server], GPUAAS_TRANSPORT="auto"))
        traces.expect_none()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mode", choices=("local", "remote"))
    parser.add_argument("name")
    build, arguments = harness.parse_arguments(parser)
    name = arguments.name

    run = run_local if arguments.mode == "local" else run_remote
    sys.exit(harness.run_tests([(f"{arguments.mode} {name} on {capability}",
                                 lambda capability=capability: run(build, name, capability))
                                for capability in capabilities(name)]))


if __name__ == "__main__":
    main()
