/* SPDX-License-Identifier: Apache-2.0 */
/* Arenas: memory that is freed all at once. */
#ifndef SOFTGPU_EXEC_ARENA_H
#define SOFTGPU_EXEC_ARENA_H

#include <stddef.h>

struct sg_arena_block;
struct sg_arena { /* zero-initialised = empty */
    struct sg_arena_block *head;
    /* Bytes that arenas may still take together, counted down by what they take and up by what they
     * free; NULL: the budget decides alone (softgpu/engine/budget.h). */
    size_t *allowance;
};

/* Zeroed memory, or NULL. */
void *sg_arena_try(struct sg_arena *arena, size_t bytes);
void sg_arena_free(struct sg_arena *arena);

#endif
