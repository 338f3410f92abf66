// SPDX-License-Identifier: Apache-2.0
// Copies between devices 0 and 1 that need not be able to reach each other: every call that may do
// so, in the order of the streams. Run on devices of two servers (tests/e2e/two_servers.py), and on
// two of one. semantics S19
#include <stdlib.h>
#include <string.h>
#include <vector>

#include "check_driver.h"

static const unsigned count = 3 * (1 << 20) + 77; // more than goes through the client at once

__global__ void fill(unsigned *data, unsigned n, unsigned seed)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        data[i] = i * 2654435761u + seed;
}

__global__ void wrong_ones(const unsigned *data, unsigned n, unsigned seed, unsigned *wrong)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        if (data[i] != i * 2654435761u + seed)
            atomicAdd(wrong, 1);
}

static unsigned *data[2], *wrong;
static cudaStream_t streams[2], waiting[2];
static CUcontext contexts[2];
static bool apart;

static void on(int device)
{
    CHECK(cudaSetDevice(device));
}

// Checks the bytes that device 1 has got, by its own stream and without any other wait.
static void verify(unsigned seed, cudaStream_t stream, const char *what)
{
    unsigned counted = 1;
    on(1);
    wrong_ones<<<16, 128, 0, stream>>>(data[1], count, seed, wrong);
    CHECK(cudaMemcpyAsync(&counted, wrong, sizeof counted, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    if (counted != 0)
        fail("%s: %u wrong values", what, counted);
}

// A copy in the legacy stream is complete when the call returns; within a server only when the
// devices have been waited for.
static void settle()
{
    for (int i = 0; !apart && i < 2; i++) {
        on(i);
        CHECK(cudaDeviceSynchronize());
    }
}

static void prepare(unsigned seed, cudaStream_t stream)
{
    on(0);
    for (int round = 0; round < 20; round++) // the last one counts
        fill<<<16, 128, 0, stream>>>(data[0], count, seed + 20 - 1 - round);
    CHECK(cudaGetLastError());
}

static void asynchronous()
{
    // By a stream of the source: it has been filled there, and the copy must be seen everywhere
    // when that stream has ended.
    prepare(100, streams[0]);
    CHECK(cudaMemcpyPeerAsync(data[1], 1, data[0], 0, count * 4, streams[0]));
    CHECK(cudaMemsetAsync(data[0], 0, count * 4, streams[0])); // behind it
    CHECK(cudaStreamSynchronize(streams[0]));
    verify(100, streams[1], "cudaMemcpyPeerAsync in the source's stream");

    // By a stream of the destination: who reads there comes behind it, without a wait.
    prepare(200, streams[0]);
    CHECK(cudaStreamSynchronize(streams[0]));
    on(1);
    CHECK(cudaMemsetAsync(data[1], 0, count * 4, streams[1])); // ahead of it
    CHECK(cudaMemcpyPeerAsync(data[1], 1, data[0], 0, count * 4, streams[1]));
    verify(200, streams[1], "cudaMemcpyPeerAsync in the destination's stream");

    prepare(300, streams[0]);
    CHECK(cudaMemcpyAsync(data[1], data[0], count * 4, cudaMemcpyDefault, streams[0]));
    CHECK(cudaStreamSynchronize(streams[0]));
    verify(300, streams[1], "cudaMemcpyAsync");

    // A source of its own stream's work, and a kernel that changes it behind the copy.
    prepare(400, streams[0]);
    on(0);
    CHECK_DRIVER(cuMemcpyDtoDAsync((CUdeviceptr)data[1], (CUdeviceptr)data[0], count * 4,
                                   streams[0]));
    fill<<<16, 128, 0, streams[0]>>>(data[0], count, 9);
    CHECK(cudaStreamSynchronize(streams[0]));
    verify(400, streams[1], "cuMemcpyDtoDAsync");
}

static void synchronous()
{
    // In the legacy stream it comes behind all work of both devices.
    prepare(500, waiting[0]);
    CHECK(cudaMemcpyPeer(data[1], 1, data[0], 0, count * 4));
    settle();
    verify(500, waiting[1], "cudaMemcpyPeer");
    prepare(600, nullptr);
    CHECK(cudaMemcpy(data[1], data[0], count * 4, cudaMemcpyDefault));
    settle();
    verify(600, waiting[1], "cudaMemcpy");
    prepare(700, waiting[0]);
    settle();
    on(1);
    CHECK(cudaMemcpy(data[1], data[0], count * 4, cudaMemcpyDeviceToDevice));
    settle();
    verify(700, nullptr, "cudaMemcpy, device to device");
    prepare(800, waiting[0]);
    CHECK_DRIVER(cuMemcpyDtoD((CUdeviceptr)data[1], (CUdeviceptr)data[0], count * 4));
    settle();
    verify(800, streams[1], "cuMemcpyDtoD");
    prepare(900, waiting[0]);
    CHECK_DRIVER(cuMemcpyPeer((CUdeviceptr)data[1], contexts[1], (CUdeviceptr)data[0], contexts[0],
                              count * 4));
    settle();
    verify(900, streams[1], "cuMemcpyPeer");
}

// The host's memory and a device that is not the current one's.
static void host()
{
    std::vector<unsigned> all(count), back(count);
    for (unsigned i = 0; i < count; i++)
        all[i] = i * 2654435761u + 5;
    on(0);
    CHECK(cudaMemcpy(data[1], all.data(), count * 4, cudaMemcpyDefault));
    settle();
    verify(5, streams[1], "cudaMemcpy from the host");
    on(0);
    CHECK(cudaMemcpy(back.data(), data[1], count * 4, cudaMemcpyDefault));
    if (back != all)
        fail("cudaMemcpy to the host is wrong");
    CHECK_DRIVER(cuMemcpyHtoDAsync((CUdeviceptr)data[1], all.data(), count * 4, streams[0]));
    CHECK(cudaStreamSynchronize(streams[0]));
    verify(5, streams[1], "cuMemcpyHtoDAsync by a stream of another device");
}

static const size_t width = 300, height = 40, depth = 7; // bytes, rows, slices
static const cudaExtent extent = make_cudaExtent(width, height, depth);
static cudaPitchedPtr linear[2];
static cudaArray_t arrays[2];

static void linear_boxes(const std::vector<unsigned char> &all)
{
    std::vector<unsigned char> back(all.size());
    on(0);
    CHECK(cudaMemcpy2D(linear[0].ptr, linear[0].pitch, all.data(), width, width, height * depth,
                       cudaMemcpyHostToDevice));
    CHECK(cudaDeviceSynchronize());
    cudaMemcpy3DPeerParms peer = {};
    peer.srcDevice = 0;
    peer.dstDevice = 1;
    peer.srcPtr = linear[0];
    peer.dstPtr = linear[1];
    peer.extent = extent;
    CHECK(cudaMemcpy3DPeer(&peer));
    on(1);
    CHECK(cudaMemcpy2D(back.data(), width, linear[1].ptr, linear[1].pitch, width, height * depth,
                       cudaMemcpyDeviceToHost));
    if (back != all)
        fail("cudaMemcpy3DPeer is wrong");
}

// Linear memory there, an array here, and the other way round; a part of it.
static void array_boxes(const std::vector<unsigned char> &all)
{
    std::vector<unsigned char> back(all.size());
    cudaMemcpy3DPeerParms peer = {};
    peer.srcDevice = 0;
    peer.dstDevice = 1;
    peer.srcPtr = linear[0];
    peer.dstArray = arrays[1];
    peer.extent = extent;
    on(0);
    CHECK(cudaMemcpy3DPeerAsync(&peer, streams[0]));
    CHECK(cudaStreamSynchronize(streams[0]));
    peer = {};
    peer.srcDevice = 1;
    peer.dstDevice = 0;
    peer.srcArray = arrays[1];
    peer.srcPos = make_cudaPos(3, 2, 1);
    peer.dstArray = arrays[0];
    peer.dstPos = make_cudaPos(1, 1, 1);
    peer.extent = make_cudaExtent(width - 3, height - 2, depth - 1);
    CHECK(cudaMemcpy3DPeerAsync(&peer, streams[0]));
    cudaMemcpy3DParms out = {};
    out.srcArray = arrays[0];
    out.srcPos = make_cudaPos(1, 1, 1);
    out.dstPtr = make_cudaPitchedPtr(back.data(), width, width, height);
    out.extent = peer.extent;
    out.kind = cudaMemcpyDeviceToHost;
    memset(back.data(), 0, back.size());
    CHECK(cudaMemcpy3DAsync(&out, streams[0]));
    CHECK(cudaStreamSynchronize(streams[0]));
    for (size_t z = 0; z < depth - 1; z++)
        for (size_t y = 0; y < height - 2; y++)
            if (memcmp(&back[(z * height + y) * width],
                       &all[((z + 1) * height + y + 2) * width + 3], width - 3) != 0)
                fail("row %zu of slice %zu is wrong", y, z);
}

static void flat_boxes()
{
    unsigned char back[width];
    on(0);
    CHECK(cudaMemset2D(linear[0].ptr, linear[0].pitch, 9, width, height));
    CHECK(cudaMemcpy2D(linear[1].ptr, linear[1].pitch, linear[0].ptr, linear[0].pitch, width,
                       height, cudaMemcpyDefault));
    CHECK(cudaDeviceSynchronize());
    on(1);
    CHECK(cudaMemcpy(back, linear[1].ptr, width, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < width; i++)
        if (back[i] != 9)
            fail("cudaMemcpy2D is wrong");
}

static void boxes()
{
    std::vector<unsigned char> all(width * height * depth);
    for (size_t i = 0; i < all.size(); i++)
        all[i] = (unsigned char)(i * 31 + i / 1000);
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<unsigned char>();
    for (int i = 0; i < 2; i++) {
        on(i);
        CHECK(cudaMalloc3D(&linear[i], extent));
        CHECK(cudaMalloc3DArray(&arrays[i], &format, extent));
    }
    linear_boxes(all);
    array_boxes(all);
    flat_boxes();
    for (int i = 0; i < 2; i++) {
        on(i);
        CHECK(cudaFree(linear[i].ptr));
        CHECK(cudaFreeArray(arrays[i]));
    }
}

// The contexts say no more than the addresses do: such a copy stays where it is.
static void of_other_contexts()
{
    prepare(77, streams[0]);
    CHECK(cudaStreamSynchronize(streams[0]));
    CHECK(cudaMemset(data[0] + count - 16, 0, 16 * 4));
    const CUdeviceptr to = (CUdeviceptr)(data[0] + count - 16);
    CHECK_DRIVER(cuMemcpyPeer(to, contexts[1], (CUdeviceptr)data[0], contexts[1], 16 * 4));
    CHECK(cudaDeviceSynchronize());
    unsigned found[2][16];
    CHECK(cudaMemcpy(found[0], data[0] + count - 16, 16 * 4, cudaMemcpyDeviceToHost));
    CHECK_DRIVER(cuMemcpyPeerAsync(to, contexts[1], (CUdeviceptr)(data[0] + 16), contexts[1],
                                   16 * 4, streams[0]));
    CHECK(cudaStreamSynchronize(streams[0]));
    CHECK(cudaMemcpy(found[1], data[0] + count - 16, 16 * 4, cudaMemcpyDeviceToHost));
    for (unsigned i = 0; i < 32; i++)
        if (found[i / 16][i % 16] != i * 2654435761u + 77)
            fail("element %u is %u", i, found[i / 16][i % 16]);
}

static void refused()
{
    on(0);
    EXPECT_DRIVER(cuMemcpyDtoD((CUdeviceptr)data[1], (CUdeviceptr)data[0] + 4, (size_t)1 << 40),
                  CUDA_ERROR_INVALID_VALUE);
    EXPECT_DRIVER(cuMemcpyPeerAsync((CUdeviceptr)data[1], contexts[1], 64, contexts[0], 16,
                                    streams[0]),
                  CUDA_ERROR_INVALID_VALUE);
    EXPECT_DRIVER(cuMemcpyPeer((CUdeviceptr)data[1], contexts[1], (CUdeviceptr)data[0], nullptr,
                               16),
                  CUDA_ERROR_INVALID_CONTEXT);
}

// With "apart": a graph is one server's, so such a copy cannot be captured.
static void captured()
{
    int peers = -1;
    CHECK(cudaDeviceCanAccessPeer(&peers, 0, 1));
    if (peers != 0)
        fail("kernels of devices of two servers cannot use each other's memory");
    on(0);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t made;
    CHECK(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeThreadLocal));
    cudaError_t copied =
        cudaMemcpyAsync(data[1], data[0], count * 4, cudaMemcpyDefault, streams[0]);
    cudaError_t ended = cudaStreamEndCapture(streams[0], &graph);
    cudaError_t instantiated = copied == cudaSuccess && ended == cudaSuccess
                                   ? cudaGraphInstantiate(&made, graph, 0)
                                   : cudaErrorUnknown;
    if (copied != cudaErrorNotSupported && instantiated != cudaErrorNotSupported)
        fail("a captured copy: %s, %s, %s", cudaGetErrorName(copied), cudaGetErrorName(ended),
             cudaGetErrorName(instantiated));
    (void)cudaGetLastError();
    prepare(1000, streams[0]); // all goes on
    CHECK(cudaMemcpyAsync(data[1], data[0], count * 4, cudaMemcpyDefault, streams[0]));
    CHECK(cudaStreamSynchronize(streams[0]));
    verify(1000, streams[1], "a copy after a capture");
}

int main(int argc, char **argv)
{
    apart = argc > 1 && strcmp(argv[1], "apart") == 0;
    for (int i = 0; i < 2; i++) {
        on(i);
        CHECK(cudaMalloc(&data[i], count * 4));
        CHECK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
        CHECK(cudaStreamCreate(&waiting[i]));
        CHECK_DRIVER(cuCtxGetCurrent(&contexts[i]));
    }
    CHECK(cudaMalloc(&wrong, 4));
    CHECK(cudaMemset(wrong, 0, 4));
    CHECK(cudaDeviceSynchronize());
    asynchronous();
    synchronous();
    host();
    boxes();
    of_other_contexts();
    refused();
    if (apart)
        captured();
    return passed();
}
