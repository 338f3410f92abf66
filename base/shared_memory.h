/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that two processes map: one makes it and passes a descriptor to the other. It cannot
 * shrink once it is shared, so no access can fail. */
#ifndef BASE_SHARED_MEMORY_H
#define BASE_SHARED_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/* Makes zeroed memory whose pages are allocated on first use. Returns a descriptor,
 * close-on-exec and above stdio, or -1. */
int ga_shared_memory_make(const char *name, uint64_t bytes);
/* Whether a descriptor from another process is such memory of exactly that size: it cannot
 * shrink, and its pages cannot be missing (huge pages can run out). */
bool ga_shared_memory_is(int fd, uint64_t bytes);

/* Identifies the memory in both processes. 0: unknown. */
uint64_t ga_shared_memory_inode(int fd);
/* Maps all of it for reading and writing: at `where`, replacing the mapping there, or anywhere
 * (NULL). Large memory is mapped in large pages if there are any. NULL: it cannot be mapped. */
void *ga_shared_memory_map(int fd, uint64_t bytes, void *where);

/* ---- memory that is written once, and then never again, by nobody */

/* Makes zeroed memory, as above; it can be written until it is frozen. */
int ga_shared_memory_begin(const char *name, uint64_t bytes);
/* Nobody can change it any more. False: somebody has it mapped for writing. */
bool ga_shared_memory_freeze(int fd);
/* Whether a descriptor from another process is frozen memory of exactly that size. */
bool ga_shared_memory_is_frozen(int fd, uint64_t bytes);
/* Maps all of it for reading; ended by munmap. NULL: it cannot be mapped. */
const void *ga_shared_memory_map_frozen(int fd, uint64_t bytes);

/* ---- memory that who makes it writes, and others can only read */

/* Makes zeroed memory and maps it for writing, as nobody can afterwards: `*fd` is for others.
 * NULL: it cannot be made. */
void *ga_shared_memory_publish(const char *name, uint64_t bytes, int *fd);
/* Maps such memory for reading. NULL: it cannot be mapped. */
const void *ga_shared_memory_map_published(int fd, uint64_t bytes);

#endif
