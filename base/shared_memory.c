/* SPDX-License-Identifier: Apache-2.0 */
/* Sealed memory without a name in any file system. */
#include "base/shared_memory.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/descriptor.h"

#define LARGE_PAGE (UINT64_C(2) << 20)

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010 /* of Linux 5.1 */
#endif

int ga_shared_memory_begin(const char *name, uint64_t bytes)
{
    int memory = ga_descriptor_above_stdio(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (memory >= 0 && (bytes > INT64_MAX || ftruncate(memory, (off_t)bytes) != 0)) {
        close(memory);
        return -1;
    }
    return memory;
}

int ga_shared_memory_make(const char *name, uint64_t bytes)
{
    int memory = ga_shared_memory_begin(name, bytes);
    if (memory >= 0 && fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
        close(memory);
        return -1;
    }
    return memory;
}

static bool memory_has(int fd, uint64_t bytes, int wanted)
{
    struct statfs system;
    int seals = fcntl(fd, F_GET_SEALS); /* only anonymous memory files have seals */
    return seals >= 0 && (seals & wanted) == wanted && bytes <= INT64_MAX &&
           lseek(fd, 0, SEEK_END) == (off_t)bytes && fstatfs(fd, &system) == 0 &&
           system.f_type == TMPFS_MAGIC;
}

bool ga_shared_memory_is(int fd, uint64_t bytes)
{
    return memory_has(fd, bytes, F_SEAL_SHRINK);
}

#define FROZEN (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL)

bool ga_shared_memory_freeze(int fd)
{
    return fcntl(fd, F_ADD_SEALS, FROZEN) == 0;
}

bool ga_shared_memory_is_frozen(int fd, uint64_t bytes)
{
    return memory_has(fd, bytes, FROZEN);
}

/* A private mapping has the same pages. A shared one for reading is refused before Linux 6.7. */
const void *ga_shared_memory_map_frozen(int fd, uint64_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    return memory != MAP_FAILED ? memory : NULL;
}

/* fstat is avoided: old C libraries have it in their static part only. */
uint64_t ga_shared_memory_inode(int fd)
{
    struct statx file;
    return statx(fd, "", AT_EMPTY_PATH, STATX_INO, &file) == 0 ? file.stx_ino : 0;
}

/* Reserves addresses aligned to a large page; at most a large page more than requested. */
static void *aligned_reserve(uint64_t bytes)
{
    uint8_t *got = mmap(NULL, bytes + LARGE_PAGE, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (got == MAP_FAILED) {
        return NULL;
    }
    uint64_t skip = -(uint64_t)(uintptr_t)got % LARGE_PAGE;
    if (skip != 0) {
        munmap(got, skip);
    }
    munmap(got + skip + bytes, LARGE_PAGE - skip);
    return got + skip;
}

void *ga_shared_memory_map(int fd, uint64_t bytes, void *where)
{
    bool reserved = where == NULL && bytes >= LARGE_PAGE && bytes <= INT64_MAX;
    if (reserved) {
        where = aligned_reserve(bytes);
    }
    void *memory = mmap(where, bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | (where != NULL ? MAP_FIXED : 0), fd, 0);
    if (memory == MAP_FAILED) {
        if (reserved && where != NULL) {
            munmap(where, bytes);
        }
        return NULL;
    }
    if (bytes >= LARGE_PAGE) {
        (void)madvise(memory, bytes, MADV_HUGEPAGE);
    }
    return memory;
}

void *ga_shared_memory_publish(const char *name, uint64_t bytes, int *fd)
{
    int memory = ga_shared_memory_begin(name, bytes);
    void *mapped = memory >= 0 ? ga_shared_memory_map(memory, bytes, NULL) : NULL;
    if (mapped != NULL &&
        fcntl(memory, F_ADD_SEALS,
              F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) != 0) {
        munmap(mapped, bytes);
        mapped = NULL;
    }
    if (mapped == NULL && memory >= 0) {
        close(memory);
        memory = -1;
    }
    *fd = memory;
    return mapped;
}

const void *ga_shared_memory_map_published(int fd, uint64_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    return memory != MAP_FAILED ? memory : NULL;
}
