# SPDX-License-Identifier: Apache-2.0
"""Programs that pass memory on to others (tests/kernels/ipc.cu)."""

import ast
import subprocess
import sys

from lib import harness
from lib.player import Player

OUT_OF_MEMORY = 2


# It evaluates each line that it reads, and prints what came out.
PROGRAM = """
import ctypes, os, sys
from ctypes import byref, c_int, c_size_t, c_uint64, c_void_p
cuda = ctypes.CDLL("libcuda.so.1")
made, opened, physicals = [], [], []

class Handle(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_ubyte * 64)]

class Location(ctypes.Structure):
    _fields_ = [("type", c_int), ("id", c_int)]

class Properties(ctypes.Structure):
    _fields_ = [("type", c_int), ("handles", c_int), ("location", Location),
                ("win32", c_void_p), ("flags", ctypes.c_ubyte * 8)]

def must(code):
    assert code == 0, code

def start():
    context = c_void_p()
    must(cuda.cuInit(0))
    must(cuda.cuDevicePrimaryCtxRetain(byref(context), 0))
    must(cuda.cuCtxSetCurrent(context))

def take(mib):
    address = c_uint64()
    code = cuda.cuMemAlloc_v2(byref(address), c_size_t(mib << 20))
    if code == 0:
        made.append(address)
    return code

def give():
    while made:
        must(cuda.cuMemFree_v2(made.pop()))

def share():
    handle = Handle()
    must(cuda.cuIpcGetMemHandle(byref(handle), made[-1]))
    return bytes(handle).hex()

def open_shared(text):
    address = c_uint64()
    handle = Handle.from_buffer_copy(bytes.fromhex(text))
    must(cuda.cuIpcOpenMemHandle_v2(byref(address), handle, 1))
    opened.append(address)

def close_shared():
    must(cuda.cuIpcCloseMemHandle(opened.pop(0)))

def create(mib):
    physical = c_uint64()
    properties = Properties(1, 1, Location(1, 0), None)
    code = cuda.cuMemCreate(byref(physical), c_size_t(mib << 20), byref(properties), c_uint64(0))
    if code == 0:
        physicals.append(physical)
    return code

def export():
    fd = c_int()
    must(cuda.cuMemExportToShareableHandle(byref(fd), physicals[-1], 1, c_uint64(0)))
    return os.getpid(), fd.value

def import_from(pid, number):
    fd, physical = os.open(f"/proc/{pid}/fd/{number}", os.O_RDONLY), c_uint64()
    must(cuda.cuMemImportFromShareableHandle(byref(physical), c_void_p(fd), 1))
    os.close(fd)
    physicals.append(physical)

def release():
    must(cuda.cuMemRelease(physicals.pop()))

for line in sys.stdin:
    print(repr(eval(line)), flush=True)
"""


class Program(Player):
    def __init__(self, build, server):
        harness.Process.__init__(self, [sys.executable, "-c", PROGRAM], build.remote([server]),
                                 stdin=subprocess.PIPE)
        self.answers = 0
        self.get("start()")

    def get(self, words):
        return ast.literal_eval(self.ask(words))
