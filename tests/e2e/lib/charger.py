# SPDX-License-Identifier: Apache-2.0
"""A CUDA program that makes things, of which each takes something of a GPU or of its node. It
evaluates each line that it reads, an expression of the names below, and prints what came out: the
error of the call, or what the function says. A helper of charges.py."""

import ctypes
import sys
from ctypes import byref, c_size_t, c_uint64, c_void_p

cuda = ctypes.CDLL("libcuda.so.1")
made = []  # what end() ends: functions without arguments
HEAD = ".version 6.4\n.target sm_75\n.address_size 64\n"
EMPTY = ".visible .entry {name}()\n{{\n    ret;\n}}\n"
MALLOCS = """.extern .func (.param .b64 at) malloc (.param .b64 bytes);
.visible .global .u64 kept;
.visible .entry start()
{
    .reg .u64 %a;
    {
        .param .b64 bytes;
        .param .b64 at;
        st.param.b64 [bytes], 100000;
        call.uni (at), malloc, (bytes);
        ld.param.b64 %a, [at];
    }
    st.global.u64 [kept], %a;
    ret;
}
"""
# The device run time, of which kernels may ask for launches.
LAUNCHES = """.extern .func (.param .b32 error) cudaGetLastError ();
.visible .entry start()
{
    {
        .param .b32 error;
        call.uni (error), cudaGetLastError, ();
    }
    ret;
}
"""
# Each of its threads has so much local memory.
WIDE = """.visible .entry start()
{{
    .local .align 8 .b8 room[{bytes}];
    .reg .u64 %s;
    .reg .u32 %v;
    mov.u64 %s, room;
    mov.u32 %v, 1;
    st.local.u32 [%s], %v;
    ret;
}}
"""


def must(name, *arguments):
    code = getattr(cuda, name)(*arguments)
    if code != 0:
        raise RuntimeError(f"{name}: error {code}")


def start():
    primary = c_void_p()
    must("cuInit", 0)
    must("cuDevicePrimaryCtxRetain", byref(primary), 0)
    must("cuCtxSetCurrent", primary)
    return "started"


def free():
    """Bytes that cuMemGetInfo tells."""
    now, total = c_size_t(), c_size_t()
    must("cuMemGetInfo_v2", byref(now), byref(total))
    return now.value


def end():
    """All that was made, the last first; and nothing is under way any more."""
    while made:
        made.pop()()
    must("cuCtxSynchronize")
    return "ended"


def ends(name, *arguments):
    made.append(lambda: must(name, *arguments))


def several(count, function, *arguments):
    """The first error, or 0."""
    return next((code for code in (function(*arguments) for _ in range(count)) if code), 0)


def context(version="cuCtxCreate_v2", *more):
    current, handle = c_void_p(), c_void_p()
    must("cuCtxGetCurrent", byref(current))
    code = getattr(cuda, version)(byref(handle), *more, 0, 0)
    if code == 0:
        ends("cuCtxDestroy_v2", handle)
        must("cuCtxSetCurrent", current)
    return code


def part_of_context():
    affinity = (ctypes.c_int * 2)(0, 2)  # CU_EXEC_AFFINITY_TYPE_SM_COUNT, two of them
    return context("cuCtxCreate_v3", affinity, 1)


def green():
    resource, description, handle = ctypes.create_string_buffer(256), c_void_p(), c_void_p()
    must("cuDeviceGetDevResource", 0, resource, 1)
    must("cuDevResourceGenerateDesc", byref(description), resource, 1)
    code = cuda.cuGreenCtxCreate(byref(handle), description, 0, 1)
    if code == 0:
        ends("cuGreenCtxDestroy", handle)
    return code


def waits():
    """The work of a stream from now on, for ever."""
    word, stream = c_void_p(), c_void_p()
    must("cuMemHostAlloc", byref(word), c_size_t(4), 2)
    must("cuStreamCreate", byref(stream), 1)
    return cuda.cuStreamWaitValue32_v2(stream, word, 1, 0)


def load(text, kernel=None, head=HEAD):
    """With `kernel` it is launched, too."""
    module, function = c_void_p(), c_void_p()
    image = text if isinstance(text, bytes) else (head + text).encode()
    code = cuda.cuModuleLoadData(byref(module), image)
    if code != 0:
        return code
    ends("cuModuleUnload", module)
    if kernel is not None:
        code = cuda.cuModuleGetFunction(byref(function), module, kernel.encode())
        code = code or cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, None, None)
    return code or cuda.cuCtxSynchronize()


def load_file(path):
    with open(path, "rb") as f:
        return load(f.read() + bytes(1))


def variables(count, declaration):
    """A module with so many of them."""
    return load("".join(f".visible .global {declaration.format(i)};\n" for i in range(count)))


def library(text):
    handle, module = c_void_p(), c_void_p()
    code = cuda.cuLibraryLoadData(byref(handle), (HEAD + text).encode(), None, None, 0, None,
                                  None, 0)
    if code == 0:
        ends("cuLibraryUnload", handle)
        code = cuda.cuLibraryGetModule(byref(module), handle)
    return code


def functions(count):
    names = [f"kernel{i}" for i in range(count)]
    module, function = c_void_p(), c_void_p()
    text = HEAD + "".join(EMPTY.format(name=name) for name in names)
    must("cuModuleLoadData", byref(module), text.encode())
    ends("cuModuleUnload", module)
    return next((code for code in (cuda.cuModuleGetFunction(byref(function), module, name.encode())
                                   for name in names) if code), 0)


def memory(size, call="cuMemAlloc_v2", *more, release="cuMemFree_v2"):
    address = c_uint64()
    code = getattr(cuda, call)(byref(address), c_size_t(size), *more)
    if code == 0:
        ends(release, address)
    return code


def pooled(size):
    address = c_uint64()
    code = cuda.cuMemAllocAsync(byref(address), c_size_t(size), None)
    if code == 0:
        made.append(lambda: (must("cuMemFreeAsync", address, None), must("cuCtxSynchronize")))
    return code


class Location(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]


class Properties(ctypes.Structure):
    """CUmemAllocationProp"""
    _fields_ = [("type", ctypes.c_int), ("handles", ctypes.c_int), ("location", Location),
                ("windows", c_void_p), ("flags", ctypes.c_ubyte * 8)]


def physical(size):
    handle, wanted = c_uint64(), Properties(type=1, location=Location(1, 0))
    code = cuda.cuMemCreate(byref(handle), c_size_t(size), byref(wanted), c_uint64(0))
    if code == 0:
        ends("cuMemRelease", handle)
    return code


class Shape(ctypes.Structure):
    """CUDA_ARRAY3D_DESCRIPTOR"""
    _fields_ = [("width", c_size_t), ("height", c_size_t), ("depth", c_size_t),
                ("format", ctypes.c_int), ("channels", ctypes.c_uint), ("flags", ctypes.c_uint)]


U8 = 1  # CU_AD_FORMAT_UNSIGNED_INT8


def array(width, height=0, depth=0):
    handle, shape = c_void_p(), Shape(width, height, depth, U8, 1, 0)
    code = cuda.cuArray3DCreate_v2(byref(handle), byref(shape))
    if code == 0:
        ends("cuArrayDestroy", handle)
    return code


def mipmap(width, height, levels):
    handle, shape = c_void_p(), Shape(width, height, 0, U8, 1, 0)
    code = cuda.cuMipmappedArrayCreate(byref(handle), byref(shape), levels)
    if code == 0:
        ends("cuMipmappedArrayDestroy", handle)
    return code


def graph():
    handle = c_void_p()
    must("cuGraphCreate", byref(handle), 0)
    ends("cuGraphDestroy", handle)
    return handle


def conditions(count):
    within, handle, current = graph(), c_uint64(), c_void_p()
    must("cuCtxGetCurrent", byref(current))
    return several(count, lambda: cuda.cuGraphConditionalHandleCreate(byref(handle), within,
                                                                      current, 0, 0))


def limit(which, value):
    return cuda.cuCtxSetLimit(which, c_size_t(value))


def objects(count, make, destroy, *more):
    def one():
        handle = c_void_p()
        code = getattr(cuda, make)(byref(handle), *more)
        if code == 0:
            ends(destroy, handle)
        return code
    return several(count, one) or cuda.cuCtxSynchronize()


def executables(count):
    """Graphs of one empty kernel."""
    module, function, node, handle = c_void_p(), c_void_p(), c_void_p(), c_void_p()
    must("cuModuleLoadData", byref(module), (HEAD + EMPTY.format(name="start")).encode())
    ends("cuModuleUnload", module)
    must("cuModuleGetFunction", byref(function), module, b"start")
    within = graph()

    class Kernel(ctypes.Structure):
        """CUDA_KERNEL_NODE_PARAMS_v1"""
        _fields_ = [("function", c_void_p), ("shape", ctypes.c_uint * 7), ("parameters", c_void_p),
                    ("extra", c_void_p)]
    shape = (ctypes.c_uint * 7)(1, 1, 1, 1, 1, 1, 0)
    must("cuGraphAddKernelNode", byref(node), within, None, c_size_t(0),
         byref(Kernel(function, shape)))

    def one():
        handle = c_void_p()
        code = cuda.cuGraphInstantiateWithFlags(byref(handle), within, ctypes.c_ulonglong(0))
        if code == 0:
            ends("cuGraphExecDestroy", handle)
        return code
    return several(count, one) or cuda.cuCtxSynchronize()


def main():
    for line in sys.stdin:
        try:
            answer = eval(line)  # pylint: disable=eval-used
        except RuntimeError as error:
            answer = str(error)
        print(answer, flush=True)


if __name__ == "__main__":
    main()
