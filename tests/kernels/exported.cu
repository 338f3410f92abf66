// SPDX-License-Identifier: Apache-2.0
// Memory of other programs, passed on as descriptors: allocations without an address, which a
// descriptor holds, and memory pools with allocations of theirs. The program runs itself once more
// and gives it what it has by a socket. semantics S98
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check_driver.h"

static const unsigned count = 300 * 1000;
static const CUmemAllocationHandleType type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

__global__ void fill(unsigned *data, unsigned n, unsigned seed)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        data[i] = i * 2654435761u + seed;
}

static void filled(CUdeviceptr data, unsigned seed)
{
    fill<<<8, 128>>>((unsigned *)data, count, seed);
    CHECK(cudaDeviceSynchronize());
}

// By a copy that waits, behind a kernel: other programs see it when it has returned. (S125)
static void copied(CUdeviceptr data, unsigned seed)
{
    static unsigned host[count];
    for (unsigned i = 0; i < count; i++)
        host[i] = i * 2654435761u + seed;
    fill<<<8, 128>>>((unsigned *)data, count, ~seed);
    CHECK_DRIVER(cuMemcpyHtoD(data, host, sizeof host));
}

static void verify(CUdeviceptr data, unsigned seed, const char *what)
{
    static unsigned back[count];
    CHECK_DRIVER(cuMemcpyDtoH(back, data, sizeof back));
    for (unsigned i = 0; i < count; i++)
        if (back[i] != i * 2654435761u + seed)
            fail("%s: %u at %u", what, back[i], i);
}

// ---- the socket

struct Passed {
    char word[32];
    size_t bytes;
    CUmemPoolPtrExportData pointers[2];
};

static void pass(int socket, const Passed &passed, const int *fds, int many)
{
    char room[CMSG_SPACE(2 * sizeof(int))] = {};
    iovec bytes = {(void *)&passed, sizeof passed};
    msghdr message = {};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    if (many != 0) {
        message.msg_control = room;
        message.msg_controllen = CMSG_SPACE(many * sizeof(int));
        cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(many * sizeof(int));
        memcpy(CMSG_DATA(header), fds, many * sizeof(int));
    }
    if (sendmsg(socket, &message, MSG_NOSIGNAL) != (ssize_t)sizeof passed)
        fail("the other one is gone");
}

static void take(int socket, const char *word, Passed &passed, int *fds = nullptr, int many = 0)
{
    char room[CMSG_SPACE(2 * sizeof(int))] = {};
    iovec bytes = {&passed, sizeof passed};
    msghdr message = {};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    message.msg_control = room;
    message.msg_controllen = sizeof room;
    if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof passed)
        fail("the other one is gone");
    if (strcmp(passed.word, word) != 0)
        fail("\"%s\" has come, and \"%s\" is due", passed.word, word);
    const cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (many != 0 && (header == nullptr || header->cmsg_len != CMSG_LEN(many * sizeof(int))))
        fail("no descriptors have come");
    if (many != 0)
        memcpy(fds, CMSG_DATA(header), many * sizeof(int));
}

static void say(int socket, const char *word)
{
    Passed passed = {};
    snprintf(passed.word, sizeof passed.word, "%s", word);
    pass(socket, passed, nullptr, 0);
}

// ---- memory without an address

static CUmemAllocationProp props(bool exported)
{
    CUmemAllocationProp prop = {};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.requestedHandleTypes = exported ? type : CU_MEM_HANDLE_TYPE_NONE;
    return prop;
}

static CUdeviceptr mapped(CUmemGenericAllocationHandle handle, size_t bytes)
{
    CUdeviceptr at;
    CUmemAccessDesc access = {};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CHECK_DRIVER(cuMemAddressReserve(&at, bytes, 0, 0, 0));
    CHECK_DRIVER(cuMemMap(at, bytes, 0, handle, 0));
    CHECK_DRIVER(cuMemSetAccess(at, bytes, &access, 1));
    return at;
}

static void unmapped(CUdeviceptr at, size_t bytes)
{
    CHECK_DRIVER(cuMemUnmap(at, bytes));
    CHECK_DRIVER(cuMemAddressFree(at, bytes));
}

static size_t free_memory()
{
    size_t free_bytes, total;
    CHECK_DRIVER(cuMemGetInfo(&free_bytes, &total));
    return free_bytes;
}

static int exported(CUmemGenericAllocationHandle handle)
{
    int fd = -1;
    CHECK_DRIVER(cuMemExportToShareableHandle(&fd, handle, type, 0));
    if (fcntl(fd, F_GETFD) != FD_CLOEXEC)
        fail("%d is no descriptor, or programs that are started get it, too", fd);
    return fd;
}

static void memory_of(int socket)
{
    CUmemAllocationProp prop = props(true);
    Passed passed = {"memory"}, answer;
    CUmemGenericAllocationHandle handles[2], again;
    CUdeviceptr at[2];
    int fds[2];
    CHECK_DRIVER(cuMemGetAllocationGranularity(&passed.bytes, &prop,
                                               CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    passed.bytes *= (count * 4 + passed.bytes - 1) / passed.bytes;
    for (int i = 0; i < 2; i++) {
        CHECK_DRIVER(cuMemCreate(&handles[i], passed.bytes, &prop, 0));
        at[i] = mapped(handles[i], passed.bytes);
        copied(at[i], 100 + i);
        fds[i] = exported(handles[i]);
    }
    CHECK_DRIVER(cuMemGetAllocationPropertiesFromHandle(&prop, handles[0]));
    if (prop.requestedHandleTypes != type)
        fail("the allocation is not to be exported");
    // The second one is held by its descriptor alone until the other program imports it.
    unmapped(at[1], passed.bytes);
    CHECK_DRIVER(cuMemRelease(handles[1]));
    pass(socket, passed, fds, 2);
    CHECK_DRIVER(cuMemImportFromShareableHandle(&again, (void *)(uintptr_t)fds[0], type));
    CHECK_DRIVER(cuMemRelease(again));
    close(fds[0]);
    take(socket, "memory is there", answer);
    verify(at[0], 200, "what the other program has written");
    CHECK_DRIVER(cuMemImportFromShareableHandle(&handles[1], (void *)(uintptr_t)fds[1], type));
    at[1] = mapped(handles[1], passed.bytes);
    verify(at[1], 201, "the same of the one that was held by its descriptor");
    close(fds[1]);
    say(socket, "go");
    take(socket, "memory is closed", answer);
    for (int i = 0; i < 2; i++) {
        CHECK_DRIVER(cuMemRelease(handles[i]));
        unmapped(at[i], passed.bytes);
    }
}

static void memory_in(int socket)
{
    Passed passed, answer;
    CUmemGenericAllocationHandle handles[2], again;
    CUdeviceptr at[2];
    int fds[2], more;
    take(socket, "memory", passed, fds, 2);
    for (int i = 0; i < 2; i++) {
        CHECK_DRIVER(cuMemImportFromShareableHandle(&handles[i], (void *)(uintptr_t)fds[i], type));
        close(fds[i]);
        at[i] = mapped(handles[i], passed.bytes);
        verify(at[i], 100 + i, "what the exporter has written");
        copied(at[i], 200 + i);
    }
    more = exported(handles[0]); // what is imported may be passed on
    CHECK_DRIVER(cuMemImportFromShareableHandle(&again, (void *)(uintptr_t)more, type));
    CHECK_DRIVER(cuMemRelease(again));
    close(more);
    say(socket, "memory is there");
    take(socket, "go", answer);
    for (int i = 0; i < 2; i++) {
        unmapped(at[i], passed.bytes);
        CHECK_DRIVER(cuMemRelease(handles[i]));
    }
    say(socket, "memory is closed");
}

static void refused()
{
    CUmemGenericAllocationHandle handle, other;
    CUmemAllocationProp prop = props(false);
    size_t bytes;
    int fd, ends[2];
    CHECK_DRIVER(cuMemGetAllocationGranularity(&bytes, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CHECK_DRIVER(cuMemCreate(&handle, bytes, &prop, 0));
    EXPECT_DRIVER(cuMemExportToShareableHandle(&fd, handle, type, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK_DRIVER(cuMemRelease(handle));
    if (pipe(ends) != 0)
        fail("no pipe");
    EXPECT_DRIVER(cuMemImportFromShareableHandle(&other, (void *)(uintptr_t)ends[0], type),
                  CUDA_ERROR_INVALID_VALUE);
    close(ends[0]);
    close(ends[1]);
    EXPECT_DRIVER(cuMemImportFromShareableHandle(&other, (void *)(uintptr_t)ends[0], type),
                  CUDA_ERROR_INVALID_VALUE);
}

// ---- pools

static CUmemoryPool pool_made(bool exported)
{
    CUmemPoolProps prop = {};
    CUmemoryPool pool;
    prop.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.handleTypes = exported ? type : CU_MEM_HANDLE_TYPE_NONE;
    CHECK_DRIVER(cuMemPoolCreate(&pool, &prop));
    return pool;
}

static void pools_of(int socket)
{
    CUmemoryPool pool = pool_made(true), other = pool_made(true), own = pool_made(false);
    CUdeviceptr first, data, others, owns;
    Passed passed = {"pools"};
    int fds[2];
    // so `data` begins somewhere in a chunk
    CHECK_DRIVER(cuMemAllocFromPoolAsync(&first, 1000, pool, nullptr));
    CHECK_DRIVER(cuMemAllocFromPoolAsync(&data, count * 4, pool, nullptr));
    CHECK_DRIVER(cuMemAllocFromPoolAsync(&others, count * 4, other, nullptr));
    CHECK_DRIVER(cuMemAllocFromPoolAsync(&owns, 1000, own, nullptr));
    filled(data, 300);
    copied(others, 301);
    CHECK_DRIVER(cuMemPoolExportToShareableHandle(&fds[0], pool, type, 0));
    CHECK_DRIVER(cuMemPoolExportToShareableHandle(&fds[1], other, type, 0));
    CHECK_DRIVER(cuMemPoolExportPointer(&passed.pointers[0], data));
    CHECK_DRIVER(cuMemPoolExportPointer(&passed.pointers[1], others));
    CUmemPoolPtrExportData nothing;
    EXPECT_DRIVER(cuMemPoolExportPointer(&nothing, data + 512), CUDA_ERROR_INVALID_VALUE);
    EXPECT_DRIVER(cuMemPoolExportPointer(&nothing, owns), CUDA_ERROR_INVALID_VALUE);
    int fd;
    EXPECT_DRIVER(cuMemPoolExportToShareableHandle(&fd, own, type, 0), CUDA_ERROR_INVALID_VALUE);
    pass(socket, passed, fds, 2);
    close(fds[0]);
    close(fds[1]);
    take(socket, "pools are closed", passed);
    verify(data, 400, "what the other program has written in a pool");
    verify(others, 401, "the same in another pool");
    for (CUdeviceptr at : {first, data, others, owns})
        CHECK_DRIVER(cuMemFreeAsync(at, nullptr));
    CHECK(cudaDeviceSynchronize());
    for (CUmemoryPool at : {pool, other, own})
        CHECK_DRIVER(cuMemPoolDestroy(at));
}

static void pools_in(int socket)
{
    Passed passed;
    CUmemoryPool pools[2];
    CUdeviceptr at[2], twice, start, none;
    size_t bytes;
    uint64_t reserved;
    int fds[2];
    take(socket, "pools", passed, fds, 2);
    for (int i = 0; i < 2; i++) {
        CHECK_DRIVER(cuMemPoolImportFromShareableHandle(&pools[i], (void *)(uintptr_t)fds[i], type,
                                                        0));
        close(fds[i]);
        EXPECT_DRIVER(cuMemPoolImportPointer(&at[i], pools[i], &passed.pointers[1 - i]),
                      CUDA_ERROR_INVALID_VALUE);
        CHECK_DRIVER(cuMemPoolImportPointer(&at[i], pools[i], &passed.pointers[i]));
        verify(at[i], 300 + i, "what the exporter has in its pool");
        copied(at[i], 400 + i);
    }
    CHECK_DRIVER(cuMemGetAddressRange(&start, &bytes, at[0] + 4));
    if (start != at[0] || bytes != count * 4)
        fail("an imported allocation has %zu bytes", bytes);
    EXPECT_DRIVER(cuMemAllocFromPoolAsync(&none, 1000, pools[0], nullptr),
                  CUDA_ERROR_INVALID_VALUE);
    CHECK_DRIVER(cuMemPoolImportPointer(&twice, pools[0], &passed.pointers[0]));
    verify(twice, 400, "an allocation that is imported twice");
    CUmemPoolPtrExportData wrong = passed.pointers[0];
    wrong.reserved[40] ^= 1; // of the key, or what stands for it
    EXPECT_DRIVER(cuMemPoolImportPointer(&none, pools[0], &wrong), CUDA_ERROR_INVALID_VALUE);
    for (CUdeviceptr data : {at[0], at[1], twice})
        CHECK_DRIVER(cuMemFreeAsync(data, nullptr));
    EXPECT_DRIVER(cuMemFreeAsync(at[0], nullptr), CUDA_ERROR_INVALID_VALUE);
    CHECK(cudaDeviceSynchronize());
    for (CUmemoryPool pool : pools) {
        CHECK_DRIVER(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved));
        if (reserved != 0)
            fail("an imported pool still has %zu bytes", (size_t)reserved);
        CHECK_DRIVER(cuMemPoolDestroy(pool));
    }
    say(socket, "pools are closed");
}

// When a kernel has run: what it needs besides is there from then on.
static size_t free_at_first()
{
    CUdeviceptr plain;
    CHECK(cudaMalloc((void **)&plain, count * 4));
    filled(plain, 0);
    verify(plain, 0, "what a kernel has written");
    CHECK(cudaFree((void *)plain));
    return free_memory();
}

static void supported()
{
    const CUdevice_attribute attributes[] = {
        CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED,
        CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES};
    for (CUdevice_attribute attribute : attributes) {
        int value = 0;
        CHECK_DRIVER(cuDeviceGetAttribute(&value, attribute, 0));
        if (value != 1)
            fail("attribute %d is %d", (int)attribute, value);
    }
}

int main(int argc, char **argv)
{
    int ends[2], status;
    if (argc > 1) {
        CHECK(cudaFree(nullptr));
        memory_in(atoi(argv[1]));
        pools_in(atoi(argv[1]));
        return 0;
    }
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0)
        fail("no sockets");
    char number[16];
    snprintf(number, sizeof number, "%d", ends[1]);
    const size_t before = free_at_first();
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        execl("/proc/self/exe", argv[0], number, (char *)nullptr);
        _exit(1);
    }
    close(ends[1]);
    supported();
    memory_of(ends[0]);
    refused();
    pools_of(ends[0]);
    if (waitpid(child, &status, 0) != child || status != 0)
        fail("the other program has ended with %d", status);
    for (int i = 0; i < 2000 && free_memory() < before; i++) // a server notices it a bit later
        usleep(10 * 1000);
    if (free_memory() < before)
        fail("%zu bytes are free and %zu were", free_memory(), before);
    return passed();
}
