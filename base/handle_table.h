/* SPDX-License-Identifier: Apache-2.0 */
/* Objects by handle. The client and softgpu make handles; the server gets handles from clients
 * and checks them. The owner locks all functions except ga_handle_table_find, which any thread
 * may call at any time. The owner also ensures that an object which is being removed stays valid
 * for its users. */
#ifndef BASE_HANDLE_TABLE_H
#define BASE_HANDLE_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/handle.h"
#include "base/status.h"

struct ga_handle_slot {
    _Atomic(void *) object; /* NULL: free */
    _Atomic uint32_t generation;
    uint32_t next_free;
};

#define GA_HANDLE_BLOCKS 29u /* of 16, 16, 32, 64, ... slots; blocks never move */

/* It pays for live objects. */
struct ga_handle_budget {
    bool (*take)(void *user, uint64_t bytes);                   /* for one; false: it has no more */
    void (*give)(void *user, uint32_t objects, uint64_t bytes); /* for so many, together */
    void *user;
};

struct ga_handle_table {
    enum ga_handle_type type;
    uint32_t limit; /* largest number of live objects */
    uint32_t live;
    uint32_t free_head; /* 0: none */
    uint32_t used;      /* slots that have been used at least once; slot 0 never is */
    _Atomic(struct ga_handle_slot *) blocks[GA_HANDLE_BLOCKS];
    _Atomic uint64_t *shown;        /* a copy of `live` for other threads; or NULL */
    struct ga_handle_budget budget; /* take NULL: nobody pays */
    uint32_t object_bytes;          /* that each object costs it */
};

/* `limit` caps live objects, because a peer may create them. */
void ga_handle_table_init(struct ga_handle_table *table, enum ga_handle_type type, uint32_t limit);
/* Keeps a copy of the number of live objects there, for other threads and processes. */
void ga_handle_table_show(struct ga_handle_table *table, _Atomic uint64_t *shown);
/* From now on, while there is no object yet, each live object takes so many bytes of the budget;
 * making one is GA_NO_MEMORY if it has no more. */
void ga_handle_table_charge(struct ga_handle_table *table, const struct ga_handle_budget *budget,
                            uint32_t object_bytes);
/* Frees the table, not the objects. */
void ga_handle_table_fini(struct ga_handle_table *table);

/* Makes a new handle for `object` (borrowed, not NULL). GA_NO_MEMORY: the limit is reached.
 * `*handle` may be a member of the object: a thread that finds the object sees everything
 * written before. */
GA_CHECKED enum ga_status ga_handle_table_make(struct ga_handle_table *table, void *object,
                                               uint64_t *handle);
/* Enters `object` under a handle that the other end made. GA_INVALID: wrong type, generation 0,
 * index 0, or a slot in use. GA_NO_MEMORY: the index is beyond the limit. A table uses either
 * make or take, never both. */
GA_CHECKED enum ga_status ga_handle_table_take(struct ga_handle_table *table, uint64_t handle,
                                               void *object);
/* The object, or NULL: the handle is not live. Any thread, without the owner's lock. */
void *ga_handle_table_find(const struct ga_handle_table *table, uint64_t handle);
/* Removes the handle and returns its object, or NULL: the handle is not live. */
void *ga_handle_table_remove(struct ga_handle_table *table, uint64_t handle);
/* Walks live objects: start with *index = 0; NULL: the end. The object that was just returned
 * may be removed. */
void *ga_handle_table_next(const struct ga_handle_table *table, uint32_t *index, uint64_t *handle);

#endif
