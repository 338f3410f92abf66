#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`gpuaas run --local`: software GPUs without a server, from the build and from where it was
installed."""

import json
import os
import tempfile

from lib import harness
from lib.harness import expect


def local(build, program, *options, status=0, gpuaas=None, words=(), env=None):
    command = [gpuaas or build.path("bin", "gpuaas"), "run", "--local", *options, "--", program]
    return harness.run(command + list(words), build.environment(extra=env), status=status)


def names(process):
    return [line.split(": ")[1].split(",")[0] for line in process.out.lines
            if line.startswith("device ")]


def test_program(build):
    for shared in (False, True):
        process = local(build, build.program("vector_add", shared))
        expect(process.out.lines[-1] == "PASSED" and not process.err.text, process.report())


def test_servers_are_left_alone(build):
    process = local(build, build.program("vector_add"), env={"GPUAAS_SERVERS": "127.0.0.1:1"})
    expect(process.out.lines[-1] == "PASSED" and not process.err.text, process.report())


def test_devices(build):
    """Which GPUs there are: by the option, or by the environment, which it goes before."""
    spec = "name=A,memory=64MiB;name=B,sms=3"
    env = {"SOFTGPU_DEVICES": "name=C"}
    for process in (local(build, build.program("devices"), "--gpus", spec),
                    local(build, build.program("devices"), "--gpus=" + spec, env=env)):
        expect(names(process) == ["A", "B"], process.report())
    expect(names(local(build, build.program("devices"), env=env)) == ["C"], "C is due")


def test_visible_devices(build):
    """CUDA_VISIBLE_DEVICES chooses, as with servers and as NVIDIA's driver takes it: through
    `gpuaas run --local`, and for a program that loads the software GPUs itself."""
    spec = {"SOFTGPU_DEVICES": "name=A;name=B;name=C"}

    def seen(text, status=0):
        env = {**spec, "CUDA_VISIBLE_DEVICES": text}
        run = local(build, build.program("devices"), env=env, status=status or None)
        direct = harness.run([build.program("devices")],
                             build.environment(build.path("lib", "softgpu"), env), status=None)
        expect(names(run) == names(direct), f"{run.report()}\n{direct.report()}")
        return names(run)
    expect(seen("2,0") == ["C", "A"], "in this order")
    expect(seen("0,1x,2") == ["A", "B", "C"], "the leading number of an entry counts")
    expect(seen("1,7,0") == ["B"], "what stands before the first entry that names none")
    for text in ("", "7", "-1", "1,1"):
        expect(seen(text, 125) == [], text)
    uuid = json.loads(harness.run([build.path("bin", "gpuaas"), "devices", "--local", "--json"],
                                  build.environment(extra=spec)).out.text)["devices"][1]["uuid"]
    expect(seen(uuid) == seen(uuid[:12]) == ["B"], "a UUID, or its beginning")
    process = local(build, "true", env={**spec, "CUDA_VISIBLE_DEVICES": ""}, status=125)
    expect("CUDA_VISIBLE_DEVICES is set and empty" in process.err.text, process.report())


def test_list(build):
    command = [build.path("bin", "gpuaas"), "devices", "--local", "--gpus",
               "name=A \"1\",memory=64MiB;name=B"]
    process = harness.run(command, build.environment())
    expect([line.split(" (")[0] for line in process.out.lines] == ['GPU 0: A "1"', "GPU 1: B"],
           process.report())
    devices = json.loads(harness.run([*command, "--json"], build.environment()).out.text)["devices"]
    expect([device["name"] for device in devices] == ['A "1"', "B"], f"{devices}")
    expect(devices[0]["memory_bytes"] == 64 << 20 and devices[0]["software"] is True and
           devices[0]["compute_capability"] == "7.5" and devices[1]["number"] == 1 and
           devices[1]["uuid"].startswith("GPU-"), f"{devices}")


def test_wrong_gpus(build):
    process = local(build, "true", "--gpus", "memry=64MiB", status=125)
    expect("memry" in process.err.text and "true was not started" in process.err.lines[-1],
           process.report())


def test_what_compiles_at_run_time(build):
    process = local(build, build.path("tests", "jit", "compiles"))
    expect(process.out.lines[-1] == "PASSED", process.report())
    local(build, build.path("tests", "jit", "compiles"), "--compilers", "machine", status=1)


def test_arguments_and_status(build):
    process = local(build, "sh", status=7, words=["-c", 'echo "$1"; exit 7', "x", "--local"])
    expect(process.out.lines == ["--local"], process.report())


def test_installed(build):
    with tempfile.TemporaryDirectory() as prefix:
        harness.run(["cmake", "--install", build.folder, "--prefix", prefix],
                    build.environment(preload=False))
        gpuaas = os.path.join(prefix, "bin", "gpuaas")
        process = local(build, build.program("vector_add"), gpuaas=gpuaas)
        expect(process.out.lines[-1] == "PASSED", process.report())
        process = local(build, build.path("tests", "jit", "compiles"), gpuaas=gpuaas)
        expect(process.out.lines[-1] == "PASSED", process.report())
        library = os.path.join(prefix, "lib", "softgpu", "libcuda.so.1")
        os.rename(library, library + ".gone")
        process = local(build, "true", gpuaas=gpuaas, status=125)
        expect(library in process.err.text and "cmake --install" in process.err.text,
               process.report())


if __name__ == "__main__":
    harness.main(globals())
