/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory that the program pins. Pinning is a record of ours: into such memory copies run
 * asynchronously, and giving it back waits for them. The device sees it through a mirror
 * (mirror.h), which memory has that is allocated as mapped, and other memory when a device needs
 * it. Allocated memory lies where servers can have the mirror at the same address. */
#include "client/memory/host_memory.h"

#include <sys/mman.h>

#include "client/alloc/window.h"
#include "client/conn/conn.h"
#include "client/context/context.h"
#include "client/memory/address.h"
#include "client/memory/device_free.h"
#include "client/memory/mirror.h"
#include "client/process/process.h"
#include "client/transfer/pinned.h"
#include "client/transfer/shared_buffer.h"
#include "front/front.h"

/* Each allocation with addresses of its own counts twice for the kernel (vm.max_map_count). */
#define PLACED_MAX 8192u

bool client_host_find(uint64_t address, struct client_memory *memory)
{
    struct client_address at;
    if (!client_address_find(address, CLIENT_ADDRESS(PINNED), &at)) {
        return false;
    }
    *memory = (struct client_memory){.kind = at.kind,
                                     .start = at.start,
                                     .bytes = at.bytes,
                                     .context = at.context,
                                     .flags = at.flags};
    return true;
}

/* Memory that the device has at the same address. */
static CUresult alloc_mapped(void **pp, size_t bytes, unsigned flags)
{
    struct client_context *context;
    struct client_mirror *mirror;
    CU_TRY(client_context_current(&context));
    CU_TRY(client_mirror_make(context, 0, bytes, MIRROR_MAPPED, &mirror));
    void *memory = (void *)(uintptr_t)mirror->host;
    CUresult rc = client_host_pin(memory, bytes, flags, false, false, NULL);
    if (rc != CUDA_SUCCESS) {
        mirror = client_mirror_take(mirror->host, false);
        (void)client_memory_free_mirror(context, mirror);
        return rc;
    }
    *pp = memory;
    return CUDA_SUCCESS;
}

/* The devices' halves. True: the program's has gone with one. */
static bool host_memory_unmap(void *start)
{
    struct client_context *context;
    struct client_mirror *mirror;
    bool gone = false;
    while (client_context_current(&context) == CUDA_SUCCESS &&
           (mirror = client_mirror_take((uint64_t)(uintptr_t)start, false)) != NULL) {
        if (mirror->physical != NULL) {
            client_mirror_give(mirror);
            continue;
        }
        gone = gone || mirror->host == mirror->device;
        (void)client_memory_free_mirror(context, mirror);
    }
    return gone;
}

static atomic_uint placed_count;

static uint64_t placed_bytes(uint64_t bytes)
{
    return (bytes + CLIENT_OTHERS_UNIT - 1) & ~(CLIENT_OTHERS_UNIT - 1);
}

/* Shared with the server of the current context at once if that is on this machine. */
static void *host_map(void *where, uint64_t bytes, struct client_shared_buffer **buffer)
{
    struct client_context *context;
    *buffer = client_context_current(&context) == CUDA_SUCCESS
                  ? client_shared_buffer_make(context, where, bytes)
                  : NULL;
    if (*buffer != NULL) {
        return client_shared_buffer_memory(*buffer);
    }
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | (where != NULL ? MAP_FIXED : 0);
    void *memory = mmap(where, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    return memory != MAP_FAILED ? memory : NULL;
}

/* NULL: no memory. */
static void *host_take(uint64_t bytes, bool *placed, struct client_shared_buffer **buffer)
{
    uint64_t start;
    *placed = bytes <= UINT64_MAX / 2 && atomic_fetch_add(&placed_count, 1) < PLACED_MAX;
    if (!*placed || !client_window_take(0, placed_bytes(bytes), CLIENT_OTHERS_UNIT, &start)) {
        atomic_fetch_sub(&placed_count, bytes <= UINT64_MAX / 2);
        *placed = false;
        return host_map(NULL, bytes, buffer);
    }
    void *memory = host_map((void *)(uintptr_t)start, bytes, buffer);
    if (memory == NULL) {
        client_window_give(start, placed_bytes(bytes));
        atomic_fetch_sub(&placed_count, 1);
    }
    return memory;
}

static void host_give(void *memory, uint64_t bytes, bool placed)
{
    if (placed) {
        client_window_give((uint64_t)(uintptr_t)memory, placed_bytes(bytes));
        atomic_fetch_sub(&placed_count, 1);
    } else {
        munmap(memory, bytes);
    }
}

CUresult CUDAAPI cuMemHostAlloc(void **pp, size_t bytesize, unsigned int Flags)
{
    unsigned known =
        CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
    CU_TRY(client_usable());
    if (pp == NULL || (Flags & ~known) != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (bytesize == 0) {
        *pp = NULL; /* as drivers do */
        return CUDA_SUCCESS;
    }
    if ((Flags & CU_MEMHOSTALLOC_DEVICEMAP) != 0) {
        return alloc_mapped(pp, bytesize, Flags);
    }
    bool placed;
    struct client_shared_buffer *buffer;
    void *memory = host_take(bytesize, &placed, &buffer);
    if (memory == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUresult rc = client_host_pin(memory, bytesize, Flags, false, placed, buffer);
    if (rc != CUDA_SUCCESS) {
        client_shared_buffer_end(buffer);
        host_give(memory, bytesize, placed);
        return rc;
    }
    *pp = memory;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemAllocHost_v2(void **pp, size_t bytesize)
{
    return cuMemHostAlloc(pp, bytesize, 0);
}

CUresult CUDAAPI cuMemFreeHost(void *p)
{
    uint64_t bytes;
    bool placed;
    if (atomic_load(&client_exiting)) {
        return CUDA_SUCCESS;
    }
    CUresult rc = client_usable();
    if (rc != CUDA_SUCCESS || p == NULL) { /* what an allocation of 0 bytes has given */
        return rc;
    }
    if (client_host_unpin(p, false, &bytes, &placed) != CUDA_SUCCESS) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (!host_memory_unmap(p)) {
        host_give(p, bytes, placed);
    }
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemHostRegister_v2(void *p, size_t bytesize, unsigned int Flags)
{
    unsigned known = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP;
    unsigned refused = CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY;
    CUresult rc = client_usable();
    if (rc == CUDA_SUCCESS && (p == NULL || bytesize == 0 || (Flags & ~(known | refused)) != 0)) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS && (Flags & refused) != 0) {
        rc = front_unsupported("cuMemHostRegister of I/O or read-only memory");
    }
    uint64_t start = (uint64_t)(uintptr_t)p, end;
    if (rc == CUDA_SUCCESS &&
        (__builtin_add_overflow(start, bytesize, &end) ||
         (!client_host_pinned(p, 1) && client_memory_session(start) != NULL))) {
        rc = CUDA_ERROR_INVALID_VALUE; /* no memory of the host's */
    }
    return rc == CUDA_SUCCESS ? client_host_pin(p, bytesize, Flags, true, false, NULL) : rc;
}

CUresult CUDAAPI cuMemHostUnregister(void *p)
{
    uint64_t bytes;
    bool placed;
    if (atomic_load(&client_exiting)) {
        return CUDA_SUCCESS;
    }
    CU_TRY(client_usable());
    if (p == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CU_TRY(client_host_unpin(p, true, &bytes, &placed));
    (void)host_memory_unmap(p);
    return CUDA_SUCCESS;
}

/* For memory that was allocated, not for memory that was only registered. With unified addressing
 * all of it is mapped, asked for or not, and drivers say so. */
CUresult CUDAAPI cuMemHostGetFlags(unsigned int *pFlags, void *p)
{
    CUresult rc = client_usable();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    if (pFlags == NULL || !client_host_allocated((uint64_t)(uintptr_t)p, pFlags)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *pFlags |= CU_MEMHOSTALLOC_DEVICEMAP;
    return rc;
}

/* In the current context's device. */
CUresult CUDAAPI cuMemHostGetDevicePointer_v2(CUdeviceptr *pdptr, void *p, unsigned int Flags)
{
    struct client_memory memory;
    struct client_context *context;
    struct client_mirror known, *made;
    uint64_t address = (uint64_t)(uintptr_t)p;
    CUresult rc = client_context_current(&context);
    if (rc == CUDA_SUCCESS &&
        (pdptr == NULL || Flags != 0 || !client_host_find(address, &memory))) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        rc = client_mirror_need(context, address);
    }
    if (rc == CUDA_SUCCESS && !client_mirror_at(address, context->session, &known)) {
        rc = client_mirror_make(context, memory.start, memory.bytes, MIRROR_MAPPED, &made);
        known = rc == CUDA_SUCCESS ? *made : known;
    }
    if (rc == CUDA_SUCCESS) {
        *pdptr = known.device + (address - known.host);
    }
    return rc;
}
