/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that two processes map: made by one, handed to the other as a descriptor. It cannot shrink
 * once it is shared, so whoever maps it never touches what is not there. */
#ifndef BASE_SHARED_MEMORY_H
#define BASE_SHARED_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/* Zeros, whose pages are there when they are touched. A descriptor, close-on-exec and above stdio,
 * or -1. */
int ga_shared_memory_make(const char *name, uint64_t bytes);
/* Whether what another process has sent is such memory, of just that size: neither can it shrink,
 * nor is it of a kind whose pages may be missing (huge pages run out). */
bool ga_shared_memory_is(int fd, uint64_t bytes);

/* Says which memory it is, in both processes; 0: it cannot be told. */
uint64_t ga_shared_memory_inode(int fd);
/* Maps all of it for reading and writing: at `where`, in place of what is there, or with NULL
 * anywhere; in large pages if it is large and there are some. NULL: it cannot be mapped. */
void *ga_shared_memory_map(int fd, uint64_t bytes, void *where);

#endif
