# SPDX-License-Identifier: Apache-2.0
"""The steps of a CUDA program: names of steps on stdin, the seconds that each took on stdout, as
JSON. waits.py controls it; libcuda.so.1 is the one that the loader finds."""

import ctypes
import json
import sys
import time

SMALL, LARGE = 4096, 64 << 20
COPIES, COPY_BYTES = 500, 8
LAUNCHES = 100
PAUSE_S, BETWEEN_S = 0.6, 100e-6

PTX = b""".version 6.4
.target sm_75
.address_size 64
.visible .entry add(.param .u64 to) {
    .reg .u64 %address;
    .reg .u32 %value;
    ld.param.u64 %address, [to];
    ld.global.u32 %value, [%address];
    add.u32 %value, %value, 1;
    st.global.u32 [%address], %value;
    ret;
}
"""

cuda = ctypes.CDLL("libcuda.so.1")
pointer, u64, u32 = ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint32


def call(name, *arguments):
    result = getattr(cuda, name)(*arguments)
    if result != 0:
        raise SystemExit(f"{name}: error {result}")


def made(kind, name, *arguments):
    value = kind()
    call(name, ctypes.byref(value), *arguments)
    return value


class Program:
    def __init__(self):
        self.host = (ctypes.c_char * LARGE)()
        self.counter = None
        self.added = 0

    # ---- from nothing

    def first(self):
        call("cuInit", 0)
        device = made(ctypes.c_int, "cuDeviceGet", 0)
        context = made(pointer, "cuDevicePrimaryCtxRetain", device)
        call("cuCtxSetCurrent", context)
        call("cuStreamSynchronize", None)

    def module(self):
        module = made(pointer, "cuModuleLoadData", PTX)
        self.kernel = made(pointer, "cuModuleGetFunction", module, b"add")
        self.stream = made(pointer, "cuStreamCreate", 1)
        self.counter = made(u64, "cuMemAlloc_v2", u64(LARGE))
        call("cuMemsetD32Async", self.counter, 0, u64(1), self.stream)
        self.launch()
        call("cuStreamSynchronize", self.stream)

    def second_device(self):
        device = made(ctypes.c_int, "cuDeviceGet", 1)
        before = made(pointer, "cuCtxGetCurrent")
        self.other = made(pointer, "cuDevicePrimaryCtxRetain", device)
        call("cuCtxSetCurrent", self.other)
        call("cuStreamSynchronize", None)
        call("cuCtxSetCurrent", before)

    def context(self):
        device = made(ctypes.c_int, "cuDeviceGet", 0)
        if made(ctypes.c_int, "cuDriverGetVersion").value >= 13000:
            context = made(pointer, "cuCtxCreate_v4", None, 0, device)
        else:
            context = made(pointer, "cuCtxCreate_v2", 0, device)
        call("cuCtxPopCurrent_v2", ctypes.byref(pointer()))
        call("cuCtxDestroy_v2", context)

    # ---- again and again

    def launch(self):
        parameters = (pointer * 1)(ctypes.addressof(self.counter))
        call("cuLaunchKernel", self.kernel, 1, 1, 1, 1, 1, 1, 0, self.stream, parameters, None)
        self.added += 1

    def wait(self):
        call("cuStreamSynchronize", self.stream)

    def launches(self):
        for _ in range(LAUNCHES):
            self.launch()
        call("cuStreamSynchronize", self.stream)

    def slow_launches(self):
        """After a pause, in which TCP forgets what the way carries; with time between them."""
        time.sleep(PAUSE_S)
        for _ in range(LAUNCHES):
            self.launch()
            time.sleep(BETWEEN_S)
        call("cuStreamSynchronize", self.stream)

    def copies(self):
        to = self.counter.value + SMALL
        for i in range(COPIES):
            call("cuMemcpyHtoDAsync_v2", u64(to + i * COPY_BYTES), self.host, u64(COPY_BYTES),
                 self.stream)
        call("cuStreamSynchronize", self.stream)

    def alloc(self):
        """Allocates and frees a small and a large block, again and again."""
        for size in (SMALL, 8 << 20):
            for _ in range(4):
                call("cuMemFree_v2", made(u64, "cuMemAlloc_v2", u64(size)))

    def pool(self):
        for _ in range(4):
            block = made(u64, "cuMemAllocAsync", u64(SMALL), self.stream)
            call("cuMemFreeAsync", block, self.stream)

    def objects(self):
        for _ in range(4):
            stream = made(pointer, "cuStreamCreate", 1)
            event = made(pointer, "cuEventCreate", 0)
            call("cuEventRecord", event, stream)
            call("cuStreamWaitEvent", self.stream, event, 0)
            call("cuEventDestroy_v2", event)
            call("cuStreamDestroy_v2", stream)

    def event_wait(self):
        event = made(pointer, "cuEventCreate", 0)
        call("cuEventRecord", event, self.stream)
        call("cuEventSynchronize", event)
        call("cuEventDestroy_v2", event)

    def graph(self):
        """Captured, made executable, launched ten times, waited for once."""
        graph, executable = pointer(), pointer()
        call("cuStreamBeginCapture_v2", self.stream, 0)
        for _ in range(10):
            self.launch()
        call("cuStreamEndCapture", self.stream, ctypes.byref(graph))
        call("cuGraphInstantiateWithFlags", ctypes.byref(executable), graph, u64(0))
        for _ in range(10):
            call("cuGraphLaunch", executable, self.stream)
        self.added += 90
        call("cuStreamSynchronize", self.stream)
        call("cuGraphExecDestroy", executable)
        call("cuGraphDestroy", graph)

    def small_in(self):
        call("cuMemcpyHtoD_v2", u64(self.counter.value + SMALL), self.host, u64(SMALL))

    def small_out(self):
        call("cuMemcpyDtoH_v2", self.host, u64(self.counter.value + SMALL), u64(SMALL))

    def check(self):
        """That all launches have been done, once."""
        count = u32()
        call("cuMemcpyDtoH_v2", ctypes.byref(count), self.counter, u64(4))
        if count.value != self.added:
            raise SystemExit(f"{count.value} launches have been done, {self.added} are due")


def main():
    program = Program()
    for line in sys.stdin:
        start = time.monotonic()
        getattr(program, line.strip())()
        print(json.dumps(time.monotonic() - start), flush=True)


if __name__ == "__main__":
    main()
