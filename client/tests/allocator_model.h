/* SPDX-License-Identifier: Apache-2.0 */
/* A device for tests of the allocator: what is mapped there, and by whom. */
#ifndef CLIENT_TESTS_ALLOCATOR_MODEL_H
#define CLIENT_TESTS_ALLOCATOR_MODEL_H

#include <criterion/criterion.h>
#include <stdlib.h>

#include "client/alloc/allocator.h"

#define BASE        UINT64_C(0x100000000)
#define BYTES       (UINT64_C(1) << 32)
#define GRANULARITY (UINT64_C(64) << 10)
#define MIB         (UINT64_C(1) << 20)
#define MEMORY      (1024 * MIB)
#define SMALL_SLAB  (2 * MIB)
#define LARGE_SLAB  (32 * MIB) /* a 32nd of the memory */
#define PIECES_MAX  2048

struct piece {
    uint64_t at, bytes, owner;
    bool draining;
    uint64_t block_bytes; /* of its own block, once it is draining */
};

struct model {
    struct piece mapped[PIECES_MAX];
    int mapped_count;
    uint64_t capacity, used; /* of the device */
};

static int model_map(void *user, uint64_t *address, uint64_t bytes)
{
    struct model *model = user;
    uint64_t at = *address;
    cr_assert(at >= BASE && bytes <= BYTES && at - BASE <= BYTES - bytes);
    cr_assert_eq(at % GRANULARITY, 0);
    cr_assert_eq(bytes % GRANULARITY, 0);
    if (model->used + bytes > model->capacity) {
        return ALLOCATOR_FULL;
    }
    for (int i = 0; i < model->mapped_count; i++) {
        const struct piece *other = &model->mapped[i];
        cr_assert(at + bytes <= other->at || other->at + other->bytes <= at, "mapped twice");
    }
    cr_assert_lt(model->mapped_count, PIECES_MAX);
    model->mapped[model->mapped_count++] = (struct piece){.at = at, .bytes = bytes};
    model->used += bytes;
    return ALLOCATOR_OK;
}

static int model_unmap(void *user, uint64_t at, uint64_t bytes)
{
    struct model *model = user;
    for (int i = 0; i < model->mapped_count; i++) {
        if (model->mapped[i].at == at) {
            cr_assert_eq(model->mapped[i].bytes, bytes);
            model->used -= bytes;
            model->mapped[i] = model->mapped[--model->mapped_count];
            return ALLOCATOR_OK;
        }
    }
    cr_assert_fail("unmapped what was not mapped");
    return ALLOCATOR_INVALID;
}

static void start(struct client_allocator *allocator)
{
    client_allocator_init(allocator, BASE, BYTES, GRANULARITY, MEMORY);
}

static void give(struct client_allocator *allocator, struct model *model, uint64_t at)
{
    uint64_t bytes;
    cr_assert_eq(client_allocator_drain(allocator, at, &bytes), ALLOCATOR_OK);
    if (bytes != 0) {
        model_unmap(model, at, bytes);
    }
    client_allocator_drained(allocator, at, model_unmap, model);
}

#endif
