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


HEAD = ".version 6.4\n.target sm_75\n.address_size 64\n"


def load(text, kernel=None):
    """The error of loading PTX; or the function, if it is to be used."""
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    code = cuda.cuModuleLoadData(ctypes.byref(module), (HEAD + text).encode())
    if code != 0 or kernel is None:
        return code
    check(cuda.cuModuleGetFunction(ctypes.byref(function), module, kernel.encode()),
          "cuModuleGetFunction")
    return function


def launch(text, threads, blocks=1):
    """The error of a kernel `start` without parameters, told by the launch or by the wait."""
    function = load(text, "start")
    code = cuda.cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, None, None, None)
    return code if code != 0 else cuda.cuCtxSynchronize()


def loads(most):
    """Loads a module that takes some megabytes while it is there, until one cannot be loaded."""
    body = "".join(f"    add.u32 %r{i % 500}, %r{(i + 7) % 500}, {i};\n" for i in range(4000))
    text = ".visible .entry start()\n{\n    .reg .u32 %r<500>;\n" + body + "    ret;\n}\n"
    for count in range(most):
        code = load(text)
        if code != 0:
            return count, code
    return most, 0


def limit(which, value):
    return cuda.cuCtxSetLimit(which, ctypes.c_size_t(value))


def events(most):
    """Makes events until one cannot be made, which the program learns when it waits: roughly how
    many, and the error."""
    event = ctypes.c_void_p()
    for count in range(0, most, 1000):
        codes = {cuda.cuEventCreate(ctypes.byref(event), 0) for _ in range(1000)}
        codes |= {cuda.cuEventRecord(event, None), cuda.cuEventSynchronize(event)}
        if codes != {0}:
            return count, max(codes)
    return most, 0


class Fill(ctypes.Structure):
    """CUDA_MEMSET_NODE_PARAMS"""
    _fields_ = [("address", ctypes.c_uint64), ("pitch", ctypes.c_size_t),
                ("value", ctypes.c_uint), ("element_bytes", ctypes.c_uint),
                ("width", ctypes.c_size_t), ("height", ctypes.c_size_t)]


def graph(nodes):
    """The error of making a graph of so many nodes executable, which it is no more afterwards."""
    context = ctypes.c_void_p()
    check(cuda.cuCtxGetCurrent(ctypes.byref(context)), "cuCtxGetCurrent")
    check(allocate(16 * nodes), "cuMemAlloc")
    made, node, executable = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    check(cuda.cuGraphCreate(ctypes.byref(made), 0), "cuGraphCreate")
    for number in range(nodes):
        # Each its own bytes, since they run side by side
        fill = Fill(memory[-1] + 16 * number, 0, 7, 1, 16, 1)
        check(cuda.cuGraphAddMemsetNode(ctypes.byref(node), made, None, ctypes.c_size_t(0),
                                        ctypes.byref(fill), context), "cuGraphAddMemsetNode")
    code = cuda.cuGraphInstantiateWithFlags(ctypes.byref(executable), made, ctypes.c_ulonglong(0))
    check(cuda.cuGraphDestroy(made), "cuGraphDestroy")
    if code == 0:
        code = cuda.cuGraphLaunch(executable, None)
        code = code if code != 0 else cuda.cuCtxSynchronize()
        check(cuda.cuGraphExecDestroy(executable), "cuGraphExecDestroy")
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
