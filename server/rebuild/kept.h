/* SPDX-License-Identifier: Apache-2.0 */
/* Values that are put in one by one and taken out in the same order. */
#ifndef SERVER_REBUILD_KEPT_H
#define SERVER_REBUILD_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kept {
    uint8_t *bytes;
    size_t used, room, taken;
};

/* False: no memory. */
bool kept_put(struct kept *kept, const void *value, size_t size);
/* False: there are not so many bytes, or it was never put. */
bool kept_take(struct kept *kept, void *value, size_t size);
/* Room for that many bytes, which are put with it, and lent until the next one is; NULL: no
 * memory. */
void *kept_room(struct kept *kept, size_t size);
/* The next bytes, in place, and taken with it; NULL: there are not so many. */
const void *kept_look(struct kept *kept, size_t size);
void kept_fini(struct kept *kept);

#endif
