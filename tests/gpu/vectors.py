#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""vectors.py DRIVER FILE: runs every instruction of instructions.txt on a driver, on 2048 sets of
operands, and writes a line with the checksum of its results, or why the driver refused it.
vectors.py --compare FILE FILE: which instructions of two such files give different results."""

import ctypes
import os
import re
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
THREADS, BLOCKS = 128, 16
EDGES = [0, 1, 2, 31, 32, 33, 0x3ff, 0x400, 0x3c00, 0x7bff, 0x7c00, 0x7e00, 0x8000, 0x8001, 0xbc00,
         0xfc00, 0x3f80, 0x7f80, 0x7fffffff, 0x80000000, 0xffffffff, 0x3f800000, 0xbf800000,
         0x7f800000, 0xff800000, 0x7fc00000, 0x7f7fffff, 0x007fffff, 0x00800000, 0x80000001,
         0x4f000000, 0xcf000000, 0x5f000000, 0x40200000, 0x477fefff, 0x477ff000, 0x43e80000,
         0x7fff8000, 0x80017fff, 1 << 63, (1 << 63) - 1, (1 << 64) - 1, 0x3ff0000000000000,
         0xbff0000000000000, 0x7ff0000000000000, 0x7ff8000000000000, 0x000fffffffffffff,
         0x0010000000000000, 0x41dfffffffe00000, 0xc1e0000000000000, 0x40effe0000000000]
OUT = {"h": "cvt.u64.u16 %x0, %h0;", "r": "cvt.u64.u32 %x0, %r0;", "x": "",
       "f": "mov.b32 %r0, %f0; cvt.u64.u32 %x0, %r0;", # which NaN a double gets is open
       "d": "mov.b64 %x0, %d0; testp.notanumber.f64 %p1, %d0; @%p1 mov.b64 %x0, -1;",
       "p": "selp.u64 %x0, 1, 0, %p0;"}


def expand(text):
    found = re.search(r"\{([^{}]*)\}", text)
    if not found:
        return [text]
    return [line for word in found.group(1).split(",")
            for line in expand(text[:found.start()] + word + text[found.end():])]


def instructions():
    """(instruction, letter of its destination)"""
    with open(os.path.join(HERE, "instructions.txt"), encoding="utf-8") as file:
        lines = [line.split() for line in file if line.strip() and line[0] != "#"]
    for pattern, letters, *rest in lines:
        operands = [f"%{letter}{i}" for i, letter in enumerate(letters)] + rest
        for opcode in expand(pattern):
            yield f"{opcode} {', '.join(operands)};", letters[0]


def kernel(instruction, letter, target):
    loads = "".join(
        f"ld.global.u64 %x{i}, [%in+{8 * i - 8}]; cvt.u32.u64 %r{i}, %x{i}; "
        f"cvt.u16.u64 %h{i}, %x{i}; mov.b32 %f{i}, %r{i}; mov.b64 %d{i}, %x{i};\n"
        for i in range(1, 5))
    return (f".version 8.1\n.target sm_{target}\n.address_size 64\n"
            ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
            ".reg .b16 %h<5>; .reg .b32 %r<6>; .reg .b64 %x<5>, %in, %to, %at; .reg .f32 %f<5>;\n"
            ".reg .f64 %d<5>; .reg .pred %p<2>;\n"
            "ld.param.u64 %in, [in]; ld.param.u64 %to, [out];\n"
            "mov.u32 %r0, %ctaid.x; mov.u32 %r5, %tid.x;\n"
            f"mad.lo.u32 %r0, %r0, {THREADS}, %r5; mul.wide.u32 %at, %r0, 32;\n"
            "add.u64 %in, %in, %at; mul.wide.u32 %at, %r0, 8; add.u64 %to, %to, %at;\n"
            f"{loads}{instruction}\n{OUT[letter]}\nst.global.u64 [%to], %x0;\nret;\n}}\n").encode()


def operands():
    state, values = 88172645463325252, []
    for i in range(THREADS * BLOCKS * 4):
        state = (state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        word = state ^ state >> 29
        values.append(EDGES[word % len(EDGES)] if i % 3 else word >> (state >> 58 if i % 2 else 0))
    return struct.pack(f"<{len(values)}Q", *values)


class Driver:
    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        device, self.context = ctypes.c_int(), ctypes.c_void_p()
        self.need("cuInit", 0)
        self.need("cuDeviceGet", ctypes.byref(device), 0)
        self.need("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), device)
        self.need("cuCtxSetCurrent", self.context)
        major, minor = ctypes.c_int(), ctypes.c_int()
        self.need("cuDeviceGetAttribute", ctypes.byref(major), 75, device)
        self.need("cuDeviceGetAttribute", ctypes.byref(minor), 76, device)
        self.target = min(major.value * 10 + minor.value, 90)
        self.places = [ctypes.c_uint64(), ctypes.c_uint64()]
        data = operands()
        for place in self.places:
            self.need("cuMemAlloc_v2", ctypes.byref(place), ctypes.c_size_t(len(data)))
        self.need("cuMemcpyHtoD_v2", self.places[0], data, ctypes.c_size_t(len(data)))

    def call(self, name, *arguments):
        return getattr(self.library, name)(*arguments)

    def need(self, name, *arguments):
        result = self.call(name, *arguments)
        if result:
            sys.exit(f"vectors: {name} gives {result}")

    def checksum(self, text):
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        refused = self.call("cuModuleLoadData", ctypes.byref(module), text)
        if refused:
            return f"refused with {refused}"
        self.need("cuModuleGetFunction", ctypes.byref(function), module, b"k")
        parameters = (ctypes.c_void_p * 2)(*(ctypes.addressof(place) for place in self.places))
        self.need("cuLaunchKernel", function, BLOCKS, 1, 1, THREADS, 1, 1, 0, None, parameters,
                  None)
        results = ctypes.create_string_buffer(THREADS * BLOCKS * 8)
        self.need("cuMemcpyDtoH_v2", results, self.places[1], ctypes.c_size_t(len(results)))
        self.need("cuModuleUnload", module)
        value = 14695981039346656037
        for word in struct.unpack(f"<{THREADS * BLOCKS}Q", results.raw):
            value = (value ^ word) * 1099511628211 % (1 << 64)
        return f"{value:016x}"


def record(path, out):
    driver = Driver(path)
    with open(out, "w", encoding="utf-8") as file:
        for instruction, letter in instructions():
            answer = driver.checksum(kernel(instruction, letter, driver.target))
            file.write(f"{instruction}\t{answer}\n")


def compare(first, second):
    with open(first, encoding="utf-8") as one, open(second, encoding="utf-8") as two:
        a, b = (dict(line.rstrip("\n").split("\t") for line in file) for file in (one, two))
    both = [key for key in a if key in b and not (a[key] + b[key]).count("refused")]
    different = [key for key in both if a[key] != b[key]]
    for key in different:
        print(f"different: {key}")
    print(f"{len(both)} instructions on both, {len(different)} different, "
          f"{len(set(a) | set(b)) - len(both)} not on both")
    return 1 if different or not both else 0


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] == "--compare":
        sys.exit(compare(sys.argv[2], sys.argv[3]))
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    record(sys.argv[1], sys.argv[2])
