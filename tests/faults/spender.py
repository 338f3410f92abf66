# SPDX-License-Identifier: Apache-2.0
"""A CUDA program that takes as much as it gets. It evaluates each line that it reads, an expression
of the names below, and prints what came out. A helper of spends.py."""

import ctypes
import sys

OUT_OF_MEMORY = 2
KEY_BYTES = 64

cuda = ctypes.CDLL("libcuda.so.1")
memory = []


def check(code, what):
    if code != 0:
        raise RuntimeError(f"{what}: error {code}")


def start():
    context = ctypes.c_void_p()
    check(cuda.cuInit(0), "cuInit")
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), "cuDevicePrimaryCtxRetain")
    check(cuda.cuCtxSetCurrent(context), "cuCtxSetCurrent")
    return "started"


def allocate(size):
    address = ctypes.c_uint64()
    code = cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size))
    if code == 0:
        memory.append(address.value)
    return code


def free_all():
    while memory:
        check(cuda.cuMemFree_v2(ctypes.c_uint64(memory.pop())), "cuMemFree")
    return 0


def copies(size=1 << 20):
    """Whether bytes come back as they went."""
    check(allocate(size), "cuMemAlloc")
    address = ctypes.c_uint64(memory.pop())
    data = bytes(range(256)) * (size // 256)
    back = ctypes.create_string_buffer(size)
    check(cuda.cuMemcpyHtoD_v2(address, data, ctypes.c_size_t(size)), "cuMemcpyHtoD")
    check(cuda.cuMemcpyDtoH_v2(back, address, ctypes.c_size_t(size)), "cuMemcpyDtoH")
    check(cuda.cuMemFree_v2(address), "cuMemFree")
    return back.raw == data


def share(most):
    """Exports allocations until one cannot be: how many, the error, and one of the keys."""
    key, last = (ctypes.c_char * KEY_BYTES)(), b""
    for count in range(most):
        check(allocate(512), "cuMemAlloc")
        code = cuda.cuIpcGetMemHandle(key, ctypes.c_uint64(memory[-1]))
        if code != 0:
            return count, code, last.hex()
        last = bytes(key)
    return most, 0, last.hex()


class Handle(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_ubyte * KEY_BYTES)]


def open_shared(key):
    address = ctypes.c_uint64()
    handle = Handle.from_buffer_copy(bytes.fromhex(key))
    code = cuda.cuIpcOpenMemHandle_v2(ctypes.byref(address), handle, 1)
    if code == 0:
        check(cuda.cuIpcCloseMemHandle(address), "cuIpcCloseMemHandle")
    return code


def main():
    for line in sys.stdin:
        try:
            answer = eval(line)  # pylint: disable=eval-used
        except RuntimeError as error:
            answer = str(error)
        print(answer, flush=True)


if __name__ == "__main__":
    main()
