/* SPDX-License-Identifier: Apache-2.0 */
/* Values that are put in one by one and taken out in the same order. */
#ifndef SERVER_REBUILD_SAVED_H
#define SERVER_REBUILD_SAVED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct saved {
    uint8_t *bytes;
    size_t used, room, taken;
};

/* False: no memory. */
bool saved_put(struct saved *saved, const void *value, size_t size);
/* False: there are not so many bytes, or it was never put. */
bool saved_take(struct saved *saved, void *value, size_t size);
/* Room for that many bytes, which are put with it, and lent until the next one is; NULL: no
 * memory. */
void *saved_room(struct saved *saved, size_t size);
/* The next bytes, in place, and taken with it; NULL: there are not so many. */
const void *saved_look(struct saved *saved, size_t size);
void saved_fini(struct saved *saved);

#endif
