# SPDX-License-Identifier: Apache-2.0
"""A CUDA program in Python that evaluates each line that it reads."""

import subprocess
import sys

from lib import harness
from lib.harness import expect, wait_until

# Evaluates each line that it reads, and prints what came out.
PROGRAM = """
import ctypes, sys, time
cuda = ctypes.CDLL("libcuda.so.1")
count, context = ctypes.c_int(), ctypes.c_void_p()

def look():
    return cuda.cuInit(0), cuda.cuDeviceGetCount(ctypes.byref(count)), count.value

def open_it():
    return (cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0),
            cuda.cuCtxSetCurrent(context))

def work(seconds): # fills memory for so long
    memory, size, end = ctypes.c_uint64(), ctypes.c_size_t(64 << 20), time.monotonic() + seconds
    rc = cuda.cuMemAlloc_v2(ctypes.byref(memory), size)
    while rc == 0 and time.monotonic() < end:
        rc = cuda.cuMemsetD8_v2(memory, 1, size) or cuda.cuCtxSynchronize()
    return rc

for line in sys.stdin:
    print(repr(eval(line)), flush=True)
"""


class Program(harness.Process):
    def __init__(self, env):
        super().__init__([sys.executable, "-c", PROGRAM], env, stdin=subprocess.PIPE)
        self.answers = 0

    def ask(self, line):
        self.popen.stdin.write(line + "\n")
        self.popen.stdin.flush()
        self.answers += 1
        wait_until(lambda: len(self.out.lines) >= self.answers or not self.running(),
                   harness.PROGRAM_SECONDS, f"an answer\n{self.report()}")
        expect(len(self.out.lines) >= self.answers, self.report())
        return eval(self.out.lines[self.answers - 1])  # pylint: disable=eval-used

    close = harness.Process.end
