// SPDX-License-Identifier: Apache-2.0
// Linear copies between every two kinds of memory, by calls that are told nothing about it: same
// bytes, right order, nothing beyond the end. Overlapping and empty copies, and those that must be
// refused.
#include <vector>

#include "check_driver.h"

enum Kind { PAGEABLE, PINNED, REGISTERED, DEVICE, OTHER_DEVICE, GLOBAL, KINDS };
static const char *const names[] = {"pageable", "pinned",       "registered",
                                    "device",   "other device", "global"};
static const size_t most = 300 << 10; // more than travels at once
__device__ unsigned char from_global[most], to_global[most];

struct Memory {
    Kind kind;
    unsigned char *at;
};

static Memory make(Kind kind, bool source)
{
    Memory memory = {kind, nullptr};
    void *symbol = nullptr;
    switch (kind) {
    case PAGEABLE:
        memory.at = (unsigned char *)malloc(most);
        break;
    case PINNED:
        CHECK(cudaMallocHost((void **)&memory.at, most));
        break;
    case REGISTERED:
        memory.at = (unsigned char *)aligned_alloc(4096, most);
        CHECK(cudaHostRegister(memory.at, most, 0));
        break;
    case GLOBAL:
        if (source)
            CHECK(cudaGetSymbolAddress(&symbol, from_global));
        else
            CHECK(cudaGetSymbolAddress(&symbol, to_global));
        memory.at = (unsigned char *)symbol;
        break;
    default:
        CHECK(cudaSetDevice(kind == OTHER_DEVICE));
        CHECK(cudaMalloc((void **)&memory.at, most));
        CHECK(cudaSetDevice(0));
    }
    return memory;
}

static void release(const Memory &memory)
{
    if (memory.kind == REGISTERED)
        CHECK(cudaHostUnregister(memory.at));
    if (memory.kind == PINNED)
        CHECK(cudaFreeHost(memory.at));
    else if (memory.kind == DEVICE || memory.kind == OTHER_DEVICE)
        CHECK(cudaFree(memory.at));
    else if (memory.kind != GLOBAL)
        free(memory.at);
}

static bool is_device(const Memory &memory)
{
    return memory.kind >= DEVICE;
}

// Fills and reads with calls that say what they mean, which other programs test.
static void put(const Memory &to, const std::vector<unsigned char> &bytes)
{
    if (is_device(to))
        CHECK_DRIVER(cuMemcpyHtoD((CUdeviceptr)to.at, bytes.data(), bytes.size()));
    else
        memcpy(to.at, bytes.data(), bytes.size());
}

static std::vector<unsigned char> get(const Memory &from, size_t bytes)
{
    std::vector<unsigned char> out(bytes);
    if (is_device(from))
        CHECK_DRIVER(cuMemcpyDtoH(out.data(), (CUdeviceptr)from.at, bytes));
    else
        memcpy(out.data(), from.at, bytes);
    return out;
}

static void check_pair(const Memory &to, const Memory &from, size_t bytes, bool async,
                       cudaStream_t stream, Random &random)
{
    std::vector<unsigned char> wanted(bytes), before(bytes + 16, 0xee);
    for (unsigned char &byte : wanted)
        byte = (unsigned char)random.next();
    put(from, wanted);
    put(to, before);
    CHECK(cudaDeviceSynchronize());
    if (async)
        CHECK_DRIVER(cuMemcpyAsync((CUdeviceptr)to.at, (CUdeviceptr)from.at, bytes, stream));
    else
        CHECK_DRIVER(cuMemcpy((CUdeviceptr)to.at, (CUdeviceptr)from.at, bytes));
    if (async || is_device(to))
        CHECK(cudaStreamSynchronize(async ? stream : nullptr));
    std::vector<unsigned char> got = get(to, bytes + 16);
    for (size_t i = 0; i < bytes + 16; i++)
        if (got[i] != (i < bytes ? wanted[i] : 0xee))
            fail("%s to %s, %zu bytes%s: byte %zu is %u", names[from.kind], names[to.kind], bytes,
                 async ? ", async" : "", i, got[i]);
}

static void check_all()
{
    Random random(7);
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int f = 0; f < KINDS; f++) {
        Memory from = make((Kind)f, true);
        for (int t = 0; t < KINDS; t++) {
            Memory to = make((Kind)t, false);
            for (size_t bytes : {(size_t)0, (size_t)1, (size_t)1000, most - 16})
                for (bool async : {false, true})
                    check_pair(to, from, bytes, async, stream, random);
            release(to);
        }
        release(from);
    }
    CHECK(cudaStreamDestroy(stream));
}

// Where source and target overlap, memory is as if all had been read first.
static void check_overlap(const Memory &memory)
{
    const size_t bytes = 100000;
    for (int shift : {+64, -64, +70000}) {
        std::vector<unsigned char> wanted(200000);
        for (size_t i = 0; i < wanted.size(); i++)
            wanted[i] = (unsigned char)(i * 7 + (i >> 8));
        put(memory, wanted);
        size_t from = 1000, to = from + (size_t)(shift > 0 ? shift : 0);
        from += shift < 0 ? (size_t)-shift : 0;
        CHECK_DRIVER(cuMemcpy((CUdeviceptr)(memory.at + to), (CUdeviceptr)(memory.at + from),
                              bytes));
        CHECK(cudaDeviceSynchronize());
        std::vector<unsigned char> old = wanted;
        memcpy(wanted.data() + to, old.data() + from, bytes);
        if (get(memory, wanted.size()) != wanted)
            fail("%s memory, overlapping by %d bytes: wrong result", names[memory.kind], shift);
    }
}

static void check_peer()
{
    Memory here = make(DEVICE, true), there = make(OTHER_DEVICE, false);
    CUcontext contexts[2];
    for (int d = 0; d < 2; d++)
        CHECK_DRIVER(cuDevicePrimaryCtxRetain(&contexts[d], d));
    std::vector<unsigned char> wanted(most);
    for (size_t i = 0; i < most; i++)
        wanted[i] = (unsigned char)(i * 13 + (i >> 10));
    put(here, wanted);
    CHECK_DRIVER(cuMemcpyPeer((CUdeviceptr)there.at, contexts[1], (CUdeviceptr)here.at, contexts[0],
                              most));
    if (get(there, most) != wanted)
        fail("cuMemcpyPeer copies something else");
    CHECK_DRIVER(cuMemsetD8((CUdeviceptr)here.at, 0, most));
    CHECK_DRIVER(cuMemcpyPeerAsync((CUdeviceptr)here.at, contexts[0], (CUdeviceptr)there.at,
                                   contexts[1], most, nullptr));
    if (get(here, most) != wanted)
        fail("cuMemcpyPeerAsync copies something else");
    EXPECT_DRIVER(cuMemcpyPeer((CUdeviceptr)there.at, (CUcontext)there.at, (CUdeviceptr)here.at,
                               contexts[0], 16),
                  CUDA_ERROR_INVALID_CONTEXT);
    for (int d = 0; d < 2; d++)
        CHECK_DRIVER(cuDevicePrimaryCtxRelease(d));
    release(here);
    release(there);
}

static void check_refused()
{
    Memory device = make(DEVICE, true), other = make(DEVICE, false), pinned = make(PINNED, true);
    std::vector<unsigned char> host(64);
    CUdeviceptr at = (CUdeviceptr)device.at, to = (CUdeviceptr)other.at;
    EXPECT_DRIVER(cuMemcpyHtoD(at, (const void *)to, 16), CUDA_ERROR_INVALID_VALUE);
    EXPECT_DRIVER(cuMemcpyDtoH((void *)to, at, 16), CUDA_ERROR_INVALID_VALUE);
    EXPECT_DRIVER(cuMemcpyDtoD(at, (CUdeviceptr)host.data(), 16), CUDA_ERROR_INVALID_VALUE);
    EXPECT_DRIVER(cuMemcpyHtoD((CUdeviceptr)host.data(), host.data(), 16),
                  CUDA_ERROR_INVALID_VALUE);
    EXPECT_DRIVER(cuMemcpy(at, 0, 16), CUDA_ERROR_INVALID_VALUE);
    EXPECT_DRIVER(cuMemcpy(0, at, 16), CUDA_ERROR_INVALID_VALUE);
    EXPECT_DRIVER(cuMemcpy(at + most - 8, (CUdeviceptr)host.data(), 16), CUDA_ERROR_INVALID_VALUE);
    EXPECT_DRIVER(cuMemcpy(to, at + most - 8, 16), CUDA_ERROR_INVALID_VALUE);
    CHECK_DRIVER(cuMemcpy(at + most, at + most, 0));
    release(other);
    release(device);
    release(pinned);
}

int main()
{
    CHECK(cudaSetDevice(0));
    CHECK(cudaFree(nullptr));
    check_all();
    for (Kind kind : {PAGEABLE, PINNED, DEVICE, GLOBAL}) {
        Memory memory = make(kind, true);
        check_overlap(memory);
        release(memory);
    }
    check_peer();
    check_refused();
    return passed();
}
