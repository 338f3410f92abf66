# SPDX-License-Identifier: Apache-2.0
"""A Python program that uses the driver API by ctypes, alone and in children made by fork and by
spawn. A helper of guests.py; its last line is PASSED."""

import ctypes
import multiprocessing
import os

BYTES = 1 << 20
NOT_INITIALIZED = 3


def check(code, what):
    if code != 0:
        raise RuntimeError(f"{what}: error {code}")


def session():
    """Memory there and back on the first device."""
    cuda = ctypes.CDLL("libcuda.so.1")
    check(cuda.cuInit(0), "cuInit")
    context, memory = ctypes.c_void_p(), ctypes.c_uint64()
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), "cuDevicePrimaryCtxRetain")
    check(cuda.cuCtxSetCurrent(context), "cuCtxSetCurrent")
    check(cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(BYTES)), "cuMemAlloc")
    data = os.urandom(BYTES)
    back = ctypes.create_string_buffer(BYTES)
    size = ctypes.c_size_t(BYTES)
    check(cuda.cuMemcpyHtoD_v2(memory, data, size), "cuMemcpyHtoD")
    check(cuda.cuMemcpyDtoH_v2(back, memory, size), "cuMemcpyDtoH")
    if back.raw != data:
        raise RuntimeError("other bytes came back")
    check(cuda.cuMemFree_v2(memory), "cuMemFree")
    return "worked"


def refused():
    """In the child of a process that has used CUDA: there is none here."""
    cuda = ctypes.CDLL("libcuda.so.1")
    return cuda.cuInit(0)


def in_children(method, function, count=2):
    with multiprocessing.get_context(method).Pool(count) as pool:
        return pool.starmap(function, [()] * count)


def main():
    assert in_children("fork", session) == ["worked"] * 2, "fork before the first call"
    assert session() == "worked"
    assert in_children("fork", refused) == [NOT_INITIALIZED] * 2, "fork after it"
    assert in_children("spawn", session) == ["worked"] * 2, "spawn"
    assert session() == "worked", "and the parent goes on"
    print("PASSED")


if __name__ == "__main__":
    main()
