/* SPDX-License-Identifier: Apache-2.0 */
/* Arenas: memory that is freed all at once. */
#ifndef SOFTGPU_EXEC_ARENA_H
#define SOFTGPU_EXEC_ARENA_H

#include <stddef.h>

struct sg_arena_block;
struct sg_arena { /* zero-initialised = empty */
    struct sg_arena_block *head;
};

/* Zeroed memory, or NULL. */
void *sg_arena_try(struct sg_arena *arena, size_t bytes);
void sg_arena_free(struct sg_arena *arena);

#endif
