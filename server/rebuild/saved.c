/* SPDX-License-Identifier: Apache-2.0 */
#include "server/rebuild/saved.h"

#include <stdlib.h>
#include <string.h>

#define KEPT_ALIGN 16u

static size_t saved_size(size_t size)
{
    return (size + KEPT_ALIGN - 1) & ~(size_t)(KEPT_ALIGN - 1);
}

void *saved_room(struct saved *saved, size_t size)
{
    size_t bytes = saved_size(size);
    if (saved->room - saved->used < bytes) {
        size_t room = saved->used + saved->used / 2 + bytes + 4096;
        uint8_t *more = realloc(saved->bytes, room);
        if (more == NULL) {
            return NULL;
        }
        saved->bytes = more;
        saved->room = room;
    }
    void *at = saved->bytes + saved->used;
    saved->used += bytes;
    return at;
}

bool saved_put(struct saved *saved, const void *value, size_t size)
{
    void *at = saved_room(saved, size);
    if (at != NULL && size != 0) {
        memcpy(at, value, size);
    }
    return at != NULL;
}

const void *saved_look(struct saved *saved, size_t size)
{
    size_t bytes = saved_size(size);
    if (saved->used - saved->taken < bytes) {
        return NULL;
    }
    const void *at = saved->bytes + saved->taken;
    saved->taken += bytes;
    return at;
}

bool saved_take(struct saved *saved, void *value, size_t size)
{
    const void *at = saved_look(saved, size);
    if (at != NULL && size != 0) {
        memcpy(value, at, size);
    }
    return at != NULL;
}

void saved_fini(struct saved *saved)
{
    free(saved->bytes);
    *saved = (struct saved){0};
}
