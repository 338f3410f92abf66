/* SPDX-License-Identifier: Apache-2.0 */
/* Objects by handle: used by the client (which makes handles), by softgpu (likewise) and by the
 * server (which is told handles and checks them). Not locked: the owner locks, but for finding:
 * that may happen at any time, in any thread. Whether an object lives on that somebody else removes
 * meanwhile is for its owner to care. */
#ifndef BASE_HANDLE_TABLE_H
#define BASE_HANDLE_TABLE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/handle.h"
#include "base/status.h"

struct ga_handle_slot {
    _Atomic(void *) object; /* NULL: free */
    _Atomic uint32_t generation;
    uint32_t next_free;
};

#define GA_HANDLE_BLOCKS 29u /* of 16 slots, 16, 32, 64, ...: they never move */

struct ga_handle_table {
    enum ga_handle_type type;
    uint32_t limit; /* largest number of live objects */
    uint32_t live;
    uint32_t free_head; /* 0: none */
    uint32_t used;      /* slots handed out at least once; slot 0 is never handed out */
    _Atomic(struct ga_handle_slot *) blocks[GA_HANDLE_BLOCKS];
    _Atomic uint64_t *shown; /* where `live` is shown; or NULL */
};

/* `limit` caps live objects (a peer's greed must end somewhere). */
void ga_handle_table_init(struct ga_handle_table *table, enum ga_handle_type type, uint32_t limit);
/* Shows the number of live objects there from now on, for other threads and processes. */
void ga_handle_table_show(struct ga_handle_table *table, _Atomic uint64_t *shown);
/* Frees the table, not the objects. */
void ga_handle_table_fini(struct ga_handle_table *table);

/* Makes a new handle for `object` (borrowed, not NULL). GA_NO_MEMORY at the limit. `*handle` may
 * lie in the object: whoever finds it sees all that was written before. */
GA_CHECKED enum ga_status ga_handle_table_make(struct ga_handle_table *table, void *object,
                                               uint64_t *handle);
/* Puts `object` under a handle that somebody else made. GA_INVALID: wrong type, generation 0,
 * index 0, or the slot is taken. GA_NO_MEMORY: the index is beyond the limit. A table either makes
 * or takes, never both. */
GA_CHECKED enum ga_status ga_handle_table_take(struct ga_handle_table *table, uint64_t handle,
                                               void *object);
/* The object, or NULL when the handle is not live here. Any thread, without the owner's lock. */
void *ga_handle_table_find(const struct ga_handle_table *table, uint64_t handle);
/* Removes the handle and returns its object, or NULL when it is not live here. */
void *ga_handle_table_remove(struct ga_handle_table *table, uint64_t handle);
/* Walks live objects: start with *index = 0; returns NULL at the end. Removing the object just
 * returned is allowed. */
void *ga_handle_table_next(const struct ga_handle_table *table, uint32_t *index, uint64_t *handle);

#endif
