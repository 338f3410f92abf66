// SPDX-License-Identifier: Apache-2.0
// Boxes: cudaMemcpy3D, its asynchronous and peer variants, between host and device memory with any
// pitch and offset, against a copy made here byte by byte.
#include <vector>

#include "check_driver.h"

struct Side {
    bool device;
    size_t pitch, height, slices;
    unsigned char *at;
    std::vector<unsigned char> bytes; // what it should hold
    size_t size() const
    {
        return pitch * height * slices;
    }
};

static Side make(int kind, size_t pitch, size_t height, size_t slices, int seed)
{
    Side side = {kind > 1, pitch, height, slices, nullptr, {}};
    side.bytes.resize(side.size());
    for (size_t i = 0; i < side.size(); i++)
        side.bytes[i] = (unsigned char)(i * 31 + (i >> 9) + seed);
    if (kind == 0) {
        side.at = (unsigned char *)malloc(side.size());
    } else if (kind == 1) {
        CHECK(cudaMallocHost((void **)&side.at, side.size()));
    } else {
        CHECK(cudaSetDevice(kind - 2));
        CHECK(cudaMalloc((void **)&side.at, side.size()));
        CHECK(cudaSetDevice(0));
    }
    if (side.device)
        CHECK_DRIVER(cuMemcpyHtoD((CUdeviceptr)side.at, side.bytes.data(), side.size()));
    else
        memcpy(side.at, side.bytes.data(), side.size());
    return side;
}

static void release(Side &side, int kind)
{
    if (kind == 0)
        free(side.at);
    else if (kind == 1)
        CHECK(cudaFreeHost(side.at));
    else
        CHECK(cudaFree(side.at));
}

static void expect(const Side &side, const char *what)
{
    std::vector<unsigned char> got(side.size());
    if (side.device)
        CHECK_DRIVER(cuMemcpyDtoH(got.data(), (CUdeviceptr)side.at, side.size()));
    else
        memcpy(got.data(), side.at, side.size());
    for (size_t i = 0; i < side.size(); i++)
        if (got[i] != side.bytes[i])
            fail("%s: byte %zu is %u, not %u", what, i, got[i], side.bytes[i]);
}

struct Box {
    size_t from[3], to[3], extent[3]; // x, y, z; x in bytes
};

template <class Parameters>
static Parameters describe(const Side &to, const Side &from, const Box &box, bool unified)
{
    Parameters p = {};
    p.srcMemoryType = p.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    if (!unified) {
        p.srcMemoryType = from.device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
        p.dstMemoryType = to.device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    }
    p.srcHost = from.at;
    p.srcDevice = (CUdeviceptr)from.at;
    p.dstHost = to.at;
    p.dstDevice = (CUdeviceptr)to.at;
    p.srcPitch = from.pitch;
    p.srcHeight = from.height;
    p.dstPitch = to.pitch;
    p.dstHeight = to.height;
    p.srcXInBytes = box.from[0], p.srcY = box.from[1], p.srcZ = box.from[2];
    p.dstXInBytes = box.to[0], p.dstY = box.to[1], p.dstZ = box.to[2];
    p.WidthInBytes = box.extent[0], p.Height = box.extent[1], p.Depth = box.extent[2];
    return p;
}

static void copy_here(Side &to, const Side &from, const Box &box)
{
    for (size_t z = 0; z < box.extent[2]; z++)
        for (size_t y = 0; y < box.extent[1]; y++)
            memcpy(&to.bytes[((box.to[2] + z) * to.height + box.to[1] + y) * to.pitch + box.to[0]],
                   &from.bytes[((box.from[2] + z) * from.height + box.from[1] + y) * from.pitch +
                               box.from[0]],
                   box.extent[0]);
}

static void check_pair(int to_kind, int from_kind, cudaStream_t stream, CUcontext *contexts)
{
    static const Box boxes[] = {{{0, 0, 0}, {0, 0, 0}, {300, 20, 6}},
                                {{17, 3, 1}, {250, 0, 2}, {50, 7, 4}},
                                {{5, 0, 0}, {0, 19, 5}, {1, 1, 1}},
                                {{0, 2, 3}, {7, 5, 0}, {293, 15, 2}},
                                {{0, 0, 0}, {0, 0, 0}, {300, 0, 6}}};
    Side from = make(from_kind, 320, 23, 7, 1), to = make(to_kind, 300, 20, 6, 100);
    char what[80];
    for (int way = 0; way < 4; way++) {
        const Box &box = boxes[way];
        CUDA_MEMCPY3D p = describe<CUDA_MEMCPY3D>(to, from, box, way % 2 != 0);
        if (way < 2)
            CHECK_DRIVER(cuMemcpy3D(&p));
        else
            CHECK_DRIVER(cuMemcpy3DAsync(&p, stream));
        CHECK(cudaStreamSynchronize(way < 2 ? nullptr : stream));
        copy_here(to, from, box);
        snprintf(what, sizeof what, "from %d to %d, way %d", from_kind, to_kind, way);
        expect(to, what);
    }
    for (bool async : {false, true}) {
        CUDA_MEMCPY3D_PEER p = describe<CUDA_MEMCPY3D_PEER>(to, from, boxes[async], false);
        p.srcContext = contexts[from_kind == 3];
        p.dstContext = contexts[to_kind == 3];
        if (async)
            CHECK_DRIVER(cuMemcpy3DPeerAsync(&p, stream));
        else
            CHECK_DRIVER(cuMemcpy3DPeer(&p));
        CHECK(cudaStreamSynchronize(async ? stream : nullptr));
        copy_here(to, from, boxes[async]);
        snprintf(what, sizeof what, "from %d to %d, peer", from_kind, to_kind);
        expect(to, what);
    }
    release(from, from_kind);
    release(to, to_kind);
}

static void check_refused()
{
    Side device = make(2, 128, 8, 4, 0), host = make(0, 128, 8, 4, 1);
    const Box whole = {{0, 0, 0}, {0, 0, 0}, {128, 8, 4}};
    CUDA_MEMCPY3D p = describe<CUDA_MEMCPY3D>(device, host, whole, false);
    p.dstZ = 1; // the last slice is outside: nothing of it may be copied
    EXPECT_DRIVER(cuMemcpy3D(&p), CUDA_ERROR_INVALID_VALUE);
    p = describe<CUDA_MEMCPY3D>(device, host, whole, false);
    p.dstPitch = 127;
    EXPECT_DRIVER(cuMemcpy3D(&p), CUDA_ERROR_INVALID_VALUE);
    p = describe<CUDA_MEMCPY3D>(device, host, whole, false);
    p.srcHeight = 7;
    EXPECT_DRIVER(cuMemcpy3D(&p), CUDA_ERROR_INVALID_VALUE);
    p = describe<CUDA_MEMCPY3D>(device, host, whole, false);
    p.srcHost = device.at; // says host, is none
    EXPECT_DRIVER(cuMemcpy3D(&p), CUDA_ERROR_INVALID_VALUE);
    p = describe<CUDA_MEMCPY3D>(device, host, whole, false);
    p.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    EXPECT_DRIVER(cuMemcpy3D(&p), CUDA_ERROR_INVALID_VALUE);
    EXPECT_DRIVER(cuMemcpy3D(nullptr), CUDA_ERROR_INVALID_VALUE);
    expect(device, "after calls that were refused");
    release(device, 2);
    release(host, 0);
}

// As programs use it: pitched memory by cudaMalloc3D.
static void check_runtime()
{
    const cudaExtent extent = make_cudaExtent(70, 11, 5);
    std::vector<unsigned char> host(70 * 11 * 5), back(host.size());
    for (size_t i = 0; i < host.size(); i++)
        host[i] = (unsigned char)(i * 3);
    cudaPitchedPtr device;
    CHECK(cudaMalloc3D(&device, extent));
    cudaMemcpy3DParms in = {};
    in.srcPtr = make_cudaPitchedPtr(host.data(), 70, 70, 11);
    in.dstPtr = device;
    in.extent = extent;
    in.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&in));
    cudaMemcpy3DParms out = {};
    out.srcPtr = device;
    out.dstPtr = make_cudaPitchedPtr(back.data(), 70, 70, 11);
    out.extent = extent;
    out.kind = cudaMemcpyDefault;
    CHECK(cudaMemcpy3DAsync(&out));
    CHECK(cudaDeviceSynchronize());
    if (back != host)
        fail("a box does not come back as it went");
    CHECK(cudaMemset3D(device, 9, extent));
    CHECK(cudaMemcpy3D(&out));
    for (unsigned char byte : back)
        if (byte != 9)
            fail("cudaMemset3D left %u", byte);
    CHECK(cudaFree(device.ptr));
}

int main()
{
    CUcontext contexts[2];
    for (int d = 0; d < 2; d++) {
        CHECK(cudaSetDevice(d));
        CHECK(cudaFree(nullptr));
        CHECK_DRIVER(cuCtxGetCurrent(&contexts[d]));
    }
    CHECK(cudaSetDevice(0));
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int from = 0; from < 4; from++)
        for (int to = 0; to < 4; to++)
            check_pair(to, from, stream, contexts);
    check_refused();
    check_runtime();
    CHECK(cudaStreamDestroy(stream));
    return passed();
}
