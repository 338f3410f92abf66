/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the calls of the allocator in the process that it is linked into, including its
 * libraries: the program's definitions replace libc's. Not for builds with a sanitizer, which
 * has its own allocator. */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

#define EXPORTED __attribute__((visibility("default")))

/* Read by loops.c, and by the null device through the loader. */
EXPORTED _Atomic uint64_t perf_mallocs;

static void count(void)
{
    atomic_fetch_add_explicit(&perf_mallocs, 1, memory_order_relaxed);
}

EXPORTED void *malloc(size_t size)
{
    count();
    return __libc_malloc(size);
}

EXPORTED void *calloc(size_t number, size_t size)
{
    count();
    return __libc_calloc(number, size);
}

EXPORTED void *realloc(void *memory, size_t size)
{
    count();
    return __libc_realloc(memory, size);
}

EXPORTED void *memalign(size_t alignment, size_t size)
{
    count();
    return __libc_memalign(alignment, size);
}

EXPORTED void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

EXPORTED int posix_memalign(void **memory, size_t alignment, size_t size)
{
    void *made = memalign(alignment, size);
    if (made == NULL) {
        return ENOMEM;
    }
    *memory = made;
    return 0;
}
