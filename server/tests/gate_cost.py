#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cost of the gate for a launch where no policy holds: instructions of the generated handler,
as callgrind counts them, against those of the same handler without the gate. usage: gate_cost.py
GENERATED CUDA_INCLUDE CC"""

import os
import re
import subprocess
import sys
import tempfile

LAUNCHES = 1000
MOST = 4  # instructions per launch
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


def handlers(generated):
    """The handler of a launch, and the same without the gate."""
    with open(f"{generated}/api/server_dispatch.c", encoding="utf-8") as file:
        text = file.read()
    handler = re.search(r"^static bool handle_ga_launch\(.*?^}\n", text, re.M | re.S).group()
    bare, gates = re.subn(r"^    if [^\n]*gate_enter.*?^    }\n", "", handler, flags=re.M | re.S)
    if gates != 1 or "gate" in bare:
        sys.exit(f"no gate in the handler, or more than this test knows of:\n{handler}")
    return handler, bare


def compiled(compiler, source, out, *more):
    subprocess.run([*compiler, *more, "-c", source, "-o", out], check=True)
    return out


def instructions(compiler, folder, name, handler, rest):
    """Counts the instructions of a launch."""
    header, program = f"{folder}/{name}.h", f"{folder}/{name}"
    with open(header, "w", encoding="utf-8") as file:
        file.write(handler)
    unit = compiled(compiler, f"{HERE}/gate_cost.c", f"{program}.o", f'-DLAUNCH="{header}"')
    subprocess.run([*compiler, unit, rest, "-o", program], check=True)
    run = subprocess.run(
        ["valgrind", "--tool=callgrind", "--toggle-collect=launch",
         f"--callgrind-out-file={program}.callgrind", program, str(LAUNCHES)],
        stderr=subprocess.PIPE, text=True, check=False)
    counted = re.search(r"Collected : (\d+)", run.stderr)
    if run.returncode != 0 or counted is None or int(counted.group(1)) < LAUNCHES:
        sys.exit(f"valgrind has counted nothing:\n{run.stderr}")
    return int(counted.group(1)) / LAUNCHES


def measure(generated, cuda, compiler):
    """Instructions of a launch's handler, with the gate and without."""
    compiler = [compiler, "-O2", "-DNDEBUG", "-std=gnu11", "-D_GNU_SOURCE", f"-I{ROOT}",
                f"-I{generated}", "-isystem", cuda]
    with tempfile.TemporaryDirectory(prefix="gpuaas-gate-") as folder:
        rest = compiled(compiler, f"{HERE}/gate_cost.c", f"{folder}/rest.o")
        return [instructions(compiler, folder, name, handler, rest)
                for name, handler in zip(("gated", "bare"), handlers(generated))]


def main():
    gated, bare = measure(*sys.argv[1:])
    print(f"a launch: {gated:g} instructions of its handler, {bare:g} without the gate")
    if gated - bare > MOST:
        sys.exit(f"the gate takes more than {MOST} instructions of a launch")


if __name__ == "__main__":
    main()
