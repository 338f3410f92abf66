# SPDX-License-Identifier: Apache-2.0
"""One shared CUDA runtime, whose path is the argument, asked as programs ask it: devices, memory,
copies, streams and events, and PTX launched in the three ways that there are: registered as nvcc's
code does it, as a library of the runtime, as a module of the driver. The last line is PASSED."""

import ctypes
import struct
import sys
from ctypes import byref, c_char_p, c_float, c_int, c_size_t, c_uint, c_void_p

COUNT = 1000
TO_DEVICE, TO_HOST = 1, 2
PTX = b"""
.version 7.0
.target sm_50
.address_size 64
.visible .entry triple(.param .u64 values, .param .u32 count)
{
    .reg .pred %p;
    .reg .b32 %r<6>;
    .reg .b64 %d<3>;
    ld.param.u64 %d0, [values];
    ld.param.u32 %r0, [count];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    setp.ge.u32 %p, %r4, %r0;
    @%p ret;
    cvta.to.global.u64 %d0, %d0;
    mul.wide.u32 %d1, %r4, 4;
    add.u64 %d2, %d0, %d1;
    ld.global.u32 %r5, [%d2];
    mul.lo.u32 %r5, %r5, 3;
    st.global.u32 [%d2], %r5;
    ret;
}
"""


class Dim3(ctypes.Structure):
    _fields_ = [("x", c_uint), ("y", c_uint), ("z", c_uint)]


class Wrapper(ctypes.Structure):
    """The record that nvcc's code registers (fatbinary_section.h of the toolkit)."""
    _fields_ = [("magic", c_uint), ("version", c_uint), ("data", c_void_p), ("more", c_void_p)]


def fat_binary(ptx):
    """The PTX as the only entry of a fat binary."""
    text = ptx + bytes(8 - len(ptx) % 8)
    entry = struct.pack("<HHIIIIIIIIIQQQ", 1, 0x101, 64, len(text), 0, 0, 0, 0x70000, 50, 0, 0,
                        0x11, 0, 0)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entry) + len(text)) + entry + text


class Library:
    """Calls are functions that end the program unless they answer 0."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)

    def has(self, name):
        return hasattr(self.library, name)

    def __getattr__(self, name):
        function = getattr(self.library, name)

        def call(*arguments):
            result = function(*arguments)
            assert result == 0, f"{name} has answered {result}"
        return call


def address(of):
    return ctypes.cast(of, c_void_p)


class Values:
    """0, 1, 2... on the device; each launch must have made all of them three times as large."""

    def __init__(self, runtime):
        self.runtime = runtime
        self.kept = None
        self.device = c_void_p()
        self.bytes = c_size_t(4 * COUNT)
        self.want = list(range(COUNT))
        runtime.cudaMalloc(byref(self.device), self.bytes)
        source = (c_uint * COUNT)(*self.want)
        runtime.cudaMemcpy(self.device, source, self.bytes, TO_DEVICE)
        self.words = (self.device, c_uint(COUNT))
        self.arguments = (c_void_p * 2)(*(address(byref(word)) for word in self.words))

    def check(self, how):
        got = (c_uint * COUNT)()
        self.runtime.cudaMemcpy(got, self.device, self.bytes, TO_HOST)
        self.want = [3 * value for value in self.want]
        assert list(got) == self.want, f"{how}: wrong values"


def devices(runtime):
    count, value = c_int(), c_int()
    runtime.cudaGetDeviceCount(byref(count))
    assert count.value == 1, f"{count.value} devices"
    runtime.cudaDeviceGetAttribute(byref(value), 10, 0)
    assert value.value == 32, f"warps of {value.value} threads"
    runtime.cudaSetDevice(0)


def registered(runtime, values, stream):
    """As code made by nvcc does it before main(); the address of anything names the kernel."""
    image = ctypes.create_string_buffer(fat_binary(PTX))
    wrapper = Wrapper(0x466243B1, 1, address(image), None)
    kernel = address(ctypes.create_string_buffer(1))
    library = runtime.library
    library.__cudaRegisterFatBinary.restype = c_void_p
    handle = c_void_p(library.__cudaRegisterFatBinary(byref(wrapper)))
    library.__cudaRegisterFunction(handle, kernel, c_char_p(b"triple"), c_char_p(b"triple"), -1,
                                   None, None, None, None, None)
    library.__cudaRegisterFatBinaryEnd(handle)
    library.cudaLaunchKernel.argtypes = [c_void_p, Dim3, Dim3, c_void_p, c_size_t, c_void_p]
    runtime.cudaLaunchKernel(kernel, Dim3(8, 1, 1), Dim3(128, 1, 1), values.arguments, 0, stream)
    runtime.cudaStreamSynchronize(stream)
    values.check("a registered kernel")
    values.kept = image, wrapper, kernel  # in use until the process ends


def library(runtime, values, stream):
    loaded, kernel = c_void_p(), c_void_p()
    runtime.cudaLibraryLoadData(byref(loaded), PTX, None, None, 0, None, None, 0)
    runtime.cudaLibraryGetKernel(byref(kernel), loaded, b"triple")
    runtime.cudaLaunchKernel(kernel, Dim3(8, 1, 1), Dim3(128, 1, 1), values.arguments, 0, stream)
    runtime.cudaStreamSynchronize(stream)
    values.check("a library's kernel")
    runtime.cudaLibraryUnload(loaded)


def module(driver, values, stream):
    """The driver's own functions, in the context that the runtime has made current."""
    loaded, kernel = c_void_p(), c_void_p()
    driver.cuModuleLoadData(byref(loaded), PTX)
    driver.cuModuleGetFunction(byref(kernel), loaded, b"triple")
    driver.cuLaunchKernel(kernel, 8, 1, 1, 128, 1, 1, 0, stream, values.arguments, None)
    driver.cuStreamSynchronize(stream)
    values.check("a module's kernel")
    driver.cuModuleUnload(loaded)


def events(runtime, stream):
    first, last, waited, passed = c_void_p(), c_void_p(), c_void_p(), c_float(-1)
    pinned, device, size = c_void_p(), c_void_p(), c_size_t(1 << 20)
    for event in (first, last):
        runtime.cudaEventCreate(byref(event))
    runtime.cudaEventCreateWithFlags(byref(waited), 2)
    runtime.cudaMallocHost(byref(pinned), size)
    runtime.cudaMallocAsync(byref(device), size, stream)
    runtime.cudaEventRecord(first, stream)
    runtime.cudaMemsetAsync(device, 0x5A, size, stream)
    runtime.cudaMemcpyAsync(pinned, device, size, TO_HOST, stream)
    runtime.cudaEventRecord(last, stream)
    runtime.cudaStreamWaitEvent(stream, last, 0)
    runtime.cudaEventRecord(waited, stream)
    runtime.cudaEventSynchronize(waited)
    runtime.cudaEventQuery(last)
    assert ctypes.string_at(pinned, size.value) == b"\x5a" * size.value, "a copy behind a memset"
    runtime.cudaEventElapsedTime(byref(passed), first, last)
    assert passed.value > 0, f"{passed.value} ms between two events"
    runtime.cudaFreeAsync(device, stream)
    runtime.cudaFreeHost(pinned)
    for event in (first, last, waited):
        runtime.cudaEventDestroy(event)


def main(path):
    runtime = Library(path)
    driver = Library("libcuda.so.1")
    version, stream = c_int(), c_void_p()
    runtime.cudaRuntimeGetVersion(byref(version))
    print("runtime", version.value)
    devices(runtime)
    values = Values(runtime)
    runtime.cudaStreamCreate(byref(stream))
    registered(runtime, values, stream)
    if runtime.has("cudaLibraryLoadData"):  # since 12.8
        library(runtime, values, stream)
    module(driver, values, stream)
    events(runtime, stream)
    runtime.cudaStreamDestroy(stream)
    runtime.cudaDeviceSynchronize()
    runtime.cudaFree(values.device)
    runtime.cudaDeviceReset()
    print("PASSED")


if __name__ == "__main__":
    main(sys.argv[1])
