/* SPDX-License-Identifier: Apache-2.0 */
/* Memory whose last byte is the last one that can be read. */
#ifndef FUZZ_EDGE_H
#define FUZZ_EDGE_H

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static inline void *edge_make(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *memory =
        mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory + page, page, PROT_NONE) != 0) {
        abort();
    }
    return memory + page - bytes;
}

#endif
