/* Host memory that the program pins. Pinning is a record of ours: into such memory copies run
 * asynchronously, and giving it back waits for them. The device does not see it. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "client/cancel.h"
#include "client/state.h"
#include "front/front.h"

struct pinned {
    struct client_range range;
    uint64_t context; /* handle of the one that was current */
    unsigned flags;
    bool registered; /* the program's own memory */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct client_ranges ranges;

static struct pinned *pinned_at(uint64_t address)
{
    struct client_range *range = client_ranges_find(&ranges, address);
    return range != NULL ? ga_container(range, struct pinned, range) : NULL;
}

bool client_host_find(uint64_t address, struct client_memory *memory, unsigned *flags)
{
    pthread_mutex_lock(&lock);
    const struct pinned *found = pinned_at(address);
    if (found != NULL) {
        *memory = (struct client_memory){
            .start = found->range.start, .bytes = found->range.bytes, .context = found->context};
        *flags = found->flags;
    }
    pthread_mutex_unlock(&lock);
    return found != NULL;
}

bool client_host_pinned(const void *start, uint64_t bytes)
{
    struct client_memory memory;
    unsigned flags;
    uint64_t address = (uint64_t)(uintptr_t)start;
    return client_host_find(address, &memory, &flags) &&
           bytes <= memory.bytes - (address - memory.start);
}

static CUresult pin(void *start, uint64_t bytes, unsigned flags, bool registered)
{
    struct pinned *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    made->range.start = (uint64_t)(uintptr_t)start;
    made->range.bytes = bytes;
    made->flags = flags;
    made->registered = registered;
    made->context = (uint64_t)(uintptr_t)front_context_current();
    pthread_mutex_lock(&lock);
    bool inserted = client_ranges_insert(&ranges, &made->range);
    pthread_mutex_unlock(&lock);
    if (!inserted) {
        free(made);
        return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    }
    return CUDA_SUCCESS;
}

/* Takes the record of a range that starts there out; every copy into it has ended. */
static bool unpin(void *start, bool registered, uint64_t *bytes)
{
    pthread_mutex_lock(&lock);
    struct pinned *found = pinned_at((uint64_t)(uintptr_t)start);
    bool right = found != NULL && found->range.start == (uint64_t)(uintptr_t)start &&
                 found->registered == registered;
    if (right) {
        client_ranges_remove(&ranges, &found->range);
        *bytes = found->range.bytes;
    }
    pthread_mutex_unlock(&lock);
    if (!right) {
        return false;
    }
    free(found);
    struct client_link *link;
    for (unsigned i = 0; (link = client_link_at_index(i)) != NULL; i++) {
        client_link_wait_range(link, start, *bytes);
    }
    return true;
}

CUresult CUDAAPI cuMemHostAlloc(void **pp, size_t bytesize, unsigned int Flags)
{
    unsigned known =
        CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
    CUresult rc = client_usable();
    if (rc == CUDA_SUCCESS && (pp == NULL || bytesize == 0 || (Flags & ~known) != 0)) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    void *memory = mmap(NULL, bytesize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    rc = pin(memory, bytesize, Flags, false);
    if (rc != CUDA_SUCCESS) {
        munmap(memory, bytesize);
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
    if (atomic_load(&client_exiting)) {
        return CUDA_SUCCESS;
    }
    CUresult rc = client_usable();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    if (p == NULL || !unpin(p, false, &bytes)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    munmap(p, bytes);
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
        (__builtin_add_overflow(start, bytesize, &end) || client_memory_session(start) != NULL)) {
        rc = CUDA_ERROR_INVALID_VALUE; /* no memory of the host's */
    }
    return rc == CUDA_SUCCESS ? pin(p, bytesize, Flags, true) : rc;
}

CUresult CUDAAPI cuMemHostUnregister(void *p)
{
    uint64_t bytes;
    if (atomic_load(&client_exiting)) {
        return CUDA_SUCCESS;
    }
    CUresult rc = client_usable();
    if (rc == CUDA_SUCCESS && p == NULL) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    return unpin(p, true, &bytes) ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}

/* Of memory that was allocated, not of what was only registered. */
CUresult CUDAAPI cuMemHostGetFlags(unsigned int *pFlags, void *p)
{
    CUresult rc = client_usable();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    pthread_mutex_lock(&lock);
    const struct pinned *found = pinned_at((uint64_t)(uintptr_t)p);
    if (pFlags == NULL || found == NULL || found->registered) {
        rc = CUDA_ERROR_INVALID_VALUE;
    } else {
        *pFlags = found->flags;
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

/* The device cannot see host memory (CAN_MAP_HOST_MEMORY is 0). */
CUresult CUDAAPI cuMemHostGetDevicePointer_v2(CUdeviceptr *pdptr, void *p, unsigned int Flags)
{
    struct client_memory memory;
    unsigned flags;
    CUresult rc = client_usable();
    if (rc == CUDA_SUCCESS && (pdptr == NULL || Flags != 0 ||
                               !client_host_find((uint64_t)(uintptr_t)p, &memory, &flags))) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    return rc == CUDA_SUCCESS ? front_unsupported("cuMemHostGetDevicePointer") : rc;
}
