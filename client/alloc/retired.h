/* What has been freed and may still be used by work of its owner: a queue for each owner in one,
 * with a mark each, behind which it is free. Marks of an owner are told in ascending order. Not
 * locked. */
#ifndef CLIENT_ALLOC_RETIRED_H
#define CLIENT_ALLOC_RETIRED_H

#include <stdbool.h>
#include <stdint.h>

struct client_drained {
    struct client_drained *next;
    uint64_t owner, address, bytes, mark;
};

struct client_draining {
    struct client_drained *first, *last, *unused;
    uint64_t bytes; /* of all */
};

/* False: no memory. */
bool client_draining_add(struct client_draining *queue, const struct client_drained *what);
/* Takes the owner's next one out, if all work up to `done` has ended and it needs no more. */
bool client_draining_next(struct client_draining *queue, uint64_t owner, uint64_t done,
                          struct client_drained *out);
bool client_draining_some(const struct client_draining *queue, uint64_t owner);
void client_draining_fini(struct client_draining *queue);

#endif
