/* SPDX-License-Identifier: Apache-2.0 */
#include "server/rebuild/kept.h"

#include <stdlib.h>
#include <string.h>

#define KEPT_ALIGN 16u

static size_t kept_size(size_t size)
{
    return (size + KEPT_ALIGN - 1) & ~(size_t)(KEPT_ALIGN - 1);
}

void *kept_room(struct kept *kept, size_t size)
{
    size_t bytes = kept_size(size);
    if (kept->room - kept->used < bytes) {
        size_t room = kept->used + kept->used / 2 + bytes + 4096;
        uint8_t *more = realloc(kept->bytes, room);
        if (more == NULL) {
            return NULL;
        }
        kept->bytes = more;
        kept->room = room;
    }
    void *at = kept->bytes + kept->used;
    kept->used += bytes;
    return at;
}

bool kept_put(struct kept *kept, const void *value, size_t size)
{
    void *at = kept_room(kept, size);
    if (at != NULL && size != 0) {
        memcpy(at, value, size);
    }
    return at != NULL;
}

const void *kept_look(struct kept *kept, size_t size)
{
    size_t bytes = kept_size(size);
    if (kept->used - kept->taken < bytes) {
        return NULL;
    }
    const void *at = kept->bytes + kept->taken;
    kept->taken += bytes;
    return at;
}

bool kept_take(struct kept *kept, void *value, size_t size)
{
    const void *at = kept_look(kept, size);
    if (at != NULL && size != 0) {
        memcpy(value, at, size);
    }
    return at != NULL;
}

void kept_fini(struct kept *kept)
{
    free(kept->bytes);
    *kept = (struct kept){0};
}
