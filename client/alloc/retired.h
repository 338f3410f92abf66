/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that has been freed and may still be used by work of its owner. One list holds a FIFO per
 * owner; an entry may be reused once all work up to its sequence point (`mark`) has completed.
 * Marks of an owner are passed in ascending order. Not locked. */
#ifndef CLIENT_ALLOC_RETIRED_H
#define CLIENT_ALLOC_RETIRED_H

#include <stdbool.h>
#include <stdint.h>

struct client_retired_entry {
    struct client_retired_entry *next;
    uint64_t owner, address, bytes, mark;
};

struct client_retired {
    struct client_retired_entry *first, *last, *unused;
    uint64_t bytes; /* of all entries */
};

/* False: no memory. */
bool client_retired_add(struct client_retired *queue, const struct client_retired_entry *what);
/* Takes the owner's oldest entry out if its mark is reached: all work up to `done` has ended. */
bool client_retired_next(struct client_retired *queue, uint64_t owner, uint64_t done,
                         struct client_retired_entry *out);
bool client_retired_some(const struct client_retired *queue, uint64_t owner);
void client_retired_fini(struct client_retired *queue);

#endif
