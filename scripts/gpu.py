#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All tests that need this machine's real NVIDIA driver, in one call of at most ten minutes.

    ./dev gpu [--driver LIBRARY] [--out NAME]     everything that can run here
    ./dev gpu --pack                              before: make build/release ready to be carried to
                                                  a machine without compiler and packages

Steps: what the design assumes about the driver, the driver contract, the wrong arguments,
instructions next to the software GPU's, the programs of tests/kernels on the driver itself and
through a gpuaasd that serves it, a short bench. Each is bounded in time; one that cannot run says
what is missing. NAME.json and NAME.txt get the
results (perf/results/gpu-DEVICE-DATE unless given). Exit status 1: something failed."""

import argparse
import datetime
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(ROOT, "tests", "e2e"), os.path.join(ROOT, "tests", "arguments")]

import expected  # noqa: E402  (found by the line above)
from lib import harness  # noqa: E402
from lib import programs  # noqa: E402

RELEASE = os.path.join(ROOT, "build", "release")
KERNELS = os.path.join(ROOT, "build", "kernels")
DEPENDENCIES = os.path.join(RELEASE, "dependencies")  # what --pack has put there
TARGETS = ("all", "assumptions", "test_driver_contract_alone")
PASSED, FAILED, NOT_RUN = "passed", "failed", "not run"


class Step:
    """One thing that is run, with its verdict and its output."""

    def __init__(self, name, seconds):
        self.name, self.seconds = name, seconds
        self.verdict, self.text, self.details = NOT_RUN, "", {}

    def command(self, command, env=None, seconds=None):
        """(exit status or None when it took too long, output). Its children end with it."""
        try:
            with subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  errors="replace", start_new_session=True) as program:
                try:
                    words = program.communicate(timeout=seconds or self.seconds)
                    return program.returncode, "".join(words)
                except subprocess.TimeoutExpired as late:
                    os.killpg(program.pid, signal.SIGKILL)
                    words = "".join(program.communicate())
                    return None, f"{words}\nnot ended within {late.timeout:.0f} s"
        except OSError as error:
            return 127, str(error)

    def run(self, command, env=None):
        status, self.text = self.command(command, env)
        self.verdict = PASSED if status == 0 else FAILED

    def missing(self, what):
        self.text = f"cannot run: {what}"


def environment(*folders):
    """Ours finds what --pack has put beside it; NVIDIA's driver is found as always."""
    env = {key: value for key, value in os.environ.items()
           if not key.startswith(("GPUAAS_", "SOFTGPU_", "LD_"))}
    env["LD_LIBRARY_PATH"] = ":".join([*folders, DEPENDENCIES])
    return env


def library_folder(driver):
    return os.path.dirname(driver)


def assumptions(step, driver, out):
    program = os.path.join(RELEASE, "tests", "assumptions")
    if not os.path.exists(program):
        return step.missing(f"{program} is not built")
    step.run([program, "--json", out + ".assumptions.json", driver], environment())
    with open(out + ".assumptions.json", encoding="utf-8") as file:
        step.details = json.load(file)
    os.remove(out + ".assumptions.json")
    # A "no" selects a fallback: it is a result, not a failure.
    step.verdict = PASSED if step.details else FAILED
    return None


def contract(step, driver, _):
    program = os.path.join(RELEASE, "tests", "test_driver_contract_alone")
    if not os.path.exists(program):
        return step.missing(f"{program} is not built")
    return step.run([program], {**environment(), "GPUAAS_TEST_DRIVER": driver})


def wrong_arguments(step, driver, _):
    program = os.path.join(RELEASE, "tests", "wrong_arguments")
    if not os.path.exists(program):
        return step.missing(f"{program} is not built")
    step.run([program, "--real", driver], environment())
    if step.verdict == PASSED:
        # Another error than expected.txt says is a result, not a failure.
        due, got = expected.ran(step.text.splitlines())
        step.details = {"lines": len(got), "different": expected.differences(due, got)}
        step.text = "\n".join([f"{len(got)} lines; -: expected, +: given",
                               *step.details["different"]])
    return None


def instructions(step, driver, out):
    """Exact instructions on the driver and on the software GPU: the same results?"""
    program = [sys.executable, os.path.join(ROOT, "tests", "gpu", "vectors.py")]
    soft = os.path.join(RELEASE, "lib", "softgpu", "libcuda.so.1")
    files = [out + ".vectors.txt", out + ".vectors-soft.txt"]
    for library, file in zip((driver, soft), files):
        status, step.text = step.command([*program, library, file], environment(), step.seconds / 2)
        if status != 0:
            step.verdict = FAILED
            return None
    return step.run([*program, "--compare", *files], environment())


# Prints devices and the first one's capability: "2 9.0".
FACTS = """
import ctypes, sys
driver = ctypes.CDLL(sys.argv[1])
count, parts = ctypes.c_int(), (ctypes.c_int(), ctypes.c_int())
if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
    sys.exit("cuInit or cuDeviceGetCount failed")
for attribute, part in zip((75, 76), parts): # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR
    driver.cuDeviceGetAttribute(ctypes.byref(part), attribute, 0)
print(count.value, f"{parts[0].value}.{parts[1].value}")
"""


def run_programs(step, driver, env, most=None):
    """`most`: the number of the driver's devices for the programs; None: all."""
    status, text = step.command([sys.executable, "-c", FACTS, driver], environment(), 30)
    if status != 0:
        step.verdict, step.text = FAILED, f"{driver}: {text}"
        return
    devices, capability = text.split()
    devices = min(int(devices), most or int(devices))
    deadline = time.monotonic() + step.seconds
    cuda = [path for path in ("/usr/local/cuda/lib64", "/usr/local/cuda/targets/x86_64-linux/lib")
            if os.path.isdir(path)]
    env["LD_LIBRARY_PATH"] += "".join(":" + path for path in cuda)
    with open(os.path.join(KERNELS, "programs.txt"), encoding="utf-8") as file:
        names = file.read().split()
    for name in [name for plain in names for name in (plain, plain + "_shared")]:
        lacks = programs.lacks(name.removesuffix("_shared"), devices, capability)
        left = deadline - time.monotonic()
        if lacks or left < 1:
            step.details[name] = NOT_RUN
            step.text += f"--- {name}: {lacks or 'no time is left'}\n"
            continue
        status, text = step.command([os.path.join(KERNELS, name)], env, min(left, 30))
        good = status == 0 and "PASSED" in text.splitlines()
        step.details[name] = PASSED if good else FAILED
        if status == 127 or "error while loading shared libraries" in text:
            step.details[name] = NOT_RUN
        if not good:
            step.text += f"--- {name}: exit status {status}\n{text}\n"
    counts = {word: list(step.details.values()).count(word) for word in (PASSED, FAILED, NOT_RUN)}
    step.text = ", ".join(f"{n} {word}" for word, n in counts.items()) + "\n" + step.text
    step.verdict = FAILED if counts[FAILED] or not counts[PASSED] else PASSED


def programs_here(step, driver, _):
    if not os.path.isdir(KERNELS):
        return step.missing(f"{KERNELS} is not built")
    return run_programs(step, driver, environment(library_folder(driver)))


def programs_served(step, driver, _):
    if not os.path.isdir(KERNELS):
        return step.missing(f"{KERNELS} is not built")
    build = harness.Build(RELEASE, KERNELS, "none", "/usr/local/cuda")
    config = "\n".join(["[server]", "listen = tcp://127.0.0.1:0", "data_ports = 0", "[gpu.0]",
                        "driver = nvidia", f"driver_path = {driver}"]) + "\n"
    server = harness.Server(build, config=config, extra={"LD_LIBRARY_PATH": DEPENDENCIES})
    try:
        server.wait_ready()
        env = environment(os.path.join(RELEASE, "lib", "gpuaas"))
        env["GPUAAS_SERVERS"] = server.address
        run_programs(step, driver, env, 1)
        server.stop()
    except harness.Failure as failure:
        step.verdict, step.text = FAILED, f"{step.text}\n{failure}"
    finally:
        server.end()
        step.text += "\n--- gpuaasd\n" + server.err.text
        server.folder.cleanup()
    return None


# The costs of calls and copies, without figures that need minutes or the software GPU.
BENCH = "^(wait|launch|record|fill|query|in_|out_|shm_|tls_|first_call|hello)"


def bench(step, _, out):
    if not os.path.exists(os.path.join(RELEASE, "perf", "perf_loops")):
        return step.missing("the programs of perf/ are not built")
    return step.run([sys.executable, os.path.join(ROOT, "perf", "bench.py"), "--build", RELEASE,
                     "--kernels", KERNELS, "--sanitize", "none", "--cuda", "/usr/local/cuda",
                     "--quick", "--out", out + "-bench", BENCH], environment())


# name, seconds at most, action; less than ten minutes in sum
STEPS = (("assumptions", 120, assumptions), ("contract", 100, contract),
         ("wrong arguments", 60, wrong_arguments), ("instructions", 60, instructions),
         ("programs on the driver", 70, programs_here),
         ("programs through gpuaasd", 100, programs_served), ("bench", 80, bench))


def find_driver():
    done = subprocess.run(["/bin/sh", "-c", "PATH=$PATH:/sbin:/usr/sbin ldconfig -p"],
                          capture_output=True, text=True, check=False)
    for line in done.stdout.splitlines():
        words = line.split()
        if words and words[0] == "libcuda.so.1" and "x86-64" in line and "stubs" not in words[-1]:
            return os.path.realpath(words[-1])
    return None


def device_name():
    try:
        done = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version",
                               "--format=csv,noheader"], capture_output=True, text=True,
                              timeout=30, check=False)
        lines = done.stdout.strip().splitlines()
        return lines[0] if done.returncode == 0 and lines else "unknown device"
    except (OSError, subprocess.TimeoutExpired):
        return "unknown device"


def build():
    """Builds if there is a compiler and all that a build needs; otherwise uses what is built."""
    tools = [tool for tool in ("cmake", "ninja", "cc") if not shutil.which(tool)]
    if not tools:
        command = (f"cd {ROOT} && . scripts/lib.sh && configure_and_build release "
                   + " ".join(TARGETS))
        if subprocess.run(["bash", "-ec", command], check=False).returncode == 0:
            return
        print("gpu: the build failed: what is in build/release is used as it is", file=sys.stderr)
    else:
        print(f"gpu: no {', '.join(tools)} here: what is in build/release is used as it is",
              file=sys.stderr)
    if not os.path.exists(os.path.join(RELEASE, "bin", "gpuaasd")):
        sys.exit("gpu: there is no build/release/bin/gpuaasd; build where there is a compiler "
                 "(./dev gpu --pack) and bring build/release and build/kernels here")


def pack():
    build()
    os.makedirs(DEPENDENCIES, exist_ok=True)
    files = [os.path.join(RELEASE, "bin", "gpuaasd"),
             os.path.join(RELEASE, "lib", "softgpu", "libcuda.so.1")]
    for file in files:
        done = subprocess.run(["ldd", file], capture_output=True, text=True, check=True)
        for name, path in re.findall(r"^\s*(\S+) => (/\S+)", done.stdout, re.MULTILINE):
            if not re.match(r"(libc|libm|libdl|libpthread|librt)\.so", name):
                shutil.copy(path, os.path.join(DEPENDENCIES, name))
    print(f"packed: carry {os.path.relpath(RELEASE, ROOT)} and {os.path.relpath(KERNELS, ROOT)}")


def main():
    parser = argparse.ArgumentParser(prog="./dev gpu", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--driver", type=os.path.abspath,
                        default=os.environ.get("GPUAAS_TEST_DRIVER"))
    parser.add_argument("--out")
    parser.add_argument("--pack", action="store_true")
    arguments = parser.parse_args()
    if arguments.pack:
        return pack()
    driver = arguments.driver or find_driver()
    if not driver:
        sys.exit("gpu: no NVIDIA driver found: the loader knows no libcuda.so.1 on this machine; "
                 "nothing was run")
    if not os.path.exists(driver):
        sys.exit(f"gpu: {driver}: there is no such file; nothing was run")
    build()
    name = device_name()
    today = datetime.date.today().isoformat()
    slug = re.sub(r"[^a-z0-9]+", "-", name.split(",")[0].lower()).strip("-")
    out = os.path.abspath(arguments.out or os.path.join(ROOT, "perf", "results",
                                                        f"gpu-{slug}-{today}"))
    os.makedirs(os.path.dirname(out), exist_ok=True)
    print(f"gpu: {name}, driver {driver}", flush=True)
    steps = []
    for title, seconds, function in STEPS:
        step = Step(title, seconds)
        started = time.monotonic()
        function(step, driver, out)
        print(f"== {title}: {step.verdict} ({time.monotonic() - started:.0f} s)\n{step.text}",
              flush=True)
        steps.append(step)
    with open(out + ".json", "w", encoding="utf-8") as file:
        json.dump({"device": name, "driver": driver, "date": today,
                   "steps": {step.name: {"verdict": step.verdict, "details": step.details}
                             for step in steps}}, file, indent=1)
        file.write("\n")
    with open(out + ".txt", "w", encoding="utf-8") as file:
        for step in steps:
            file.write(f"== {step.name}: {step.verdict}\n{step.text}\n")
    print("gpu: " + ", ".join(f"{step.name} {step.verdict}" for step in steps))
    return 1 if any(step.verdict == FAILED for step in steps) else 0


if __name__ == "__main__":
    sys.exit(main())
