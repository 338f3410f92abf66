// SPDX-License-Identifier: Apache-2.0
// Memory that is freed while a kernel of a peer works in it, or one of any context of the device in
// managed memory: it is nobody else's before that has ended, and the end of the context that owns
// it waits for that, too. Work of contexts that have nothing to do with it is not waited for.
// semantics S127
#include <vector>

#include "check_driver.h"
#include "late.h"

struct Side {
    CUcontext context;
    cudaStream_t stream;
};

static Side make_side(CUcontext context)
{
    Side side{context, nullptr};
    CHECK_DRIVER(cuCtxSetCurrent(context));
    CHECK(cudaStreamCreateWithFlags(&side.stream, cudaStreamNonBlocking));
    return side;
}

static CUcontext primary(CUdevice device)
{
    CUcontext context;
    CHECK_DRIVER(cuDevicePrimaryCtxRetain(&context, device));
    return context;
}

static CUdeviceptr allocate(const Side &side, size_t bytes)
{
    CUdeviceptr memory;
    CHECK_DRIVER(cuCtxSetCurrent(side.context));
    CHECK_DRIVER(cuMemAlloc(&memory, bytes));
    return memory;
}

// The user's kernel writes late to the owner's memory, which is freed meanwhile.
static void free_used(const Side &owner, const Side &user, CUdeviceptr memory, size_t bytes)
{
    CHECK_DRIVER(cuCtxSetCurrent(user.context));
    write_late<<<1, 32, 0, user.stream>>>((unsigned char *)memory, bytes, 7);
    CHECK(cudaGetLastError());
    CHECK_DRIVER(cuCtxSetCurrent(owner.context));
    CHECK_DRIVER(cuMemFree(memory));
}

static void used_again(const Side &owner, const Side &user, size_t bytes)
{
    free_used(owner, user, allocate(owner, bytes), bytes);
    CHECK_DRIVER(cuCtxSynchronize()); // of the owner, who has nothing to do
    std::vector<CUdeviceptr> others;
    for (int i = 0; i < 4; i++) {
        others.push_back(allocate(owner, bytes));
        CHECK_DRIVER(cuMemsetD8Async(others[i], 8, bytes, owner.stream));
    }
    CHECK_DRIVER(cuStreamSynchronize(owner.stream));
    CHECK_DRIVER(cuCtxSetCurrent(user.context));
    CHECK_DRIVER(cuCtxSynchronize());
    CHECK_DRIVER(cuCtxSetCurrent(owner.context));
    std::vector<unsigned char> seen(bytes);
    for (CUdeviceptr other : others) {
        CHECK_DRIVER(cuMemcpyDtoH(seen.data(), other, bytes));
        for (unsigned char value : seen) {
            if (value != 8)
                fail("a kernel has written to memory that was given again");
        }
        CHECK_DRIVER(cuMemFree(other));
    }
}

// More than is kept: the call waits.
static void not_kept(const Side &owner, const Side &user)
{
    size_t available, total;
    CHECK_DRIVER(cuCtxSetCurrent(owner.context));
    CHECK_DRIVER(cuMemGetInfo(&available, &total));
    size_t bytes = total / 4;
    free_used(owner, user, allocate(owner, bytes), 4096);
    CUdeviceptr again = allocate(owner, bytes);
    CHECK_DRIVER(cuMemsetD8Async(again, 8, 4096, owner.stream));
    CHECK_DRIVER(cuStreamSynchronize(owner.stream));
    CHECK_DRIVER(cuCtxSetCurrent(user.context));
    CHECK_DRIVER(cuCtxSynchronize());
    unsigned char first;
    CHECK_DRIVER(cuCtxSetCurrent(owner.context));
    CHECK_DRIVER(cuMemcpyDtoH(&first, again, 1));
    if (first != 8)
        fail("a kernel has written to a large block that was given again");
    CHECK_DRIVER(cuMemFree(again));
}

// `end` is called with the owner's context current. The kernel would get error 700.
template <typename End> static void then_ended(const Side &owner, const Side &user, End end)
{
    CUdeviceptr small = allocate(owner, 5000), large = allocate(owner, 3 << 20);
    free_used(owner, user, small, 5000);
    free_used(owner, user, large, 5000);
    end();
    CHECK_DRIVER(cuCtxSetCurrent(user.context));
    CHECK_DRIVER(cuCtxSynchronize());
}

static void managed(const Side &owner, const Side &user)
{
    CUdeviceptr memory;
    CHECK_DRIVER(cuCtxSetCurrent(owner.context));
    CHECK_DRIVER(cuMemAllocManaged(&memory, 5000, CU_MEM_ATTACH_GLOBAL));
    free_used(owner, user, memory, 5000);
    CHECK_DRIVER(cuCtxSetCurrent(user.context));
    CHECK_DRIVER(cuCtxSynchronize());
}

// Work of another context of the device is not waited for: its memory is its own.
static void elsewhere(const Side &owner, const Side &busy)
{
    CHECK_DRIVER(cuCtxSetCurrent(busy.context));
    hold_stream(busy.stream);
    CHECK_DRIVER(cuCtxSetCurrent(owner.context));
    size_t available, total;
    CHECK_DRIVER(cuMemGetInfo(&available, &total));
    for (size_t bytes : {(size_t)5000, (size_t)3 << 20, total / 2}) {
        CUdeviceptr memory = allocate(owner, bytes);
        CHECK_DRIVER(cuMemsetD8Async(memory, 1, 5000, owner.stream));
        CHECK_DRIVER(cuMemFree(memory));
        CHECK_DRIVER(cuCtxSynchronize());
    }
    sem_post(&late_gate);
    CHECK_DRIVER(cuCtxSetCurrent(busy.context));
    CHECK_DRIVER(cuCtxSynchronize());
}

static void in_turn(const Side &owner, const Side &user)
{
    used_again(owner, user, 5000);
    used_again(owner, user, 3 << 20);
    not_kept(owner, user);
}

int main()
{
    int devices;
    CHECK(cudaGetDeviceCount(&devices));
    if (devices < 2)
        fail("this program needs two devices, there is %d", devices);
    const Side user = make_side(primary(0)), other = make_side(create_context(0));
    elsewhere(other, user);
    managed(other, user);
    managed(user, other);
    CHECK_DRIVER(cuCtxDestroy(other.context));
    printf("contexts of one device: right\n");

    CUcontext peer_context = primary(1);
    const Side peer = make_side(peer_context);
    CHECK_DRIVER(cuCtxSetCurrent(user.context));
    CHECK_DRIVER(cuCtxEnablePeerAccess(peer_context, 0));
    in_turn(peer, user);
    then_ended(peer, user, [] { CHECK_DRIVER(cuDevicePrimaryCtxReset(1)); });
    printf("peers: right\n");
    return passed();
}
