/* SPDX-License-Identifier: Apache-2.0 */
/* Objects and their handles. Objects are never given back to malloc but used again for objects of
 * their type: a thread that uses a handle which another thread destroys meets an object that is
 * gone or another one, never foreign memory. A field that says nothing else is written under
 * client_state_lock. */
#ifndef CLIENT_CONTEXT_OBJECT_H
#define CLIENT_CONTEXT_OBJECT_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "base/handle.h"
#include "base/list.h"

struct client_context;
struct client_session;

/* Every object begins with this. */
struct client_object {
    uint64_t handle; /* 0: gone */
    enum ga_handle_type type;
    struct client_context *context; /* NULL: libraries and kernels */
    struct ga_list in_context;
    struct client_object *unused;
};

/* A type of objects. The file that has the type defines it; NULL functions do nothing. */
struct client_object_type {
    size_t bytes;
    size_t kept; /* so many of them, behind the client_object, are what the last life has left */
    void (*begin)(void *object);   /* after the rest is zero. Under client_state_lock */
    void (*release)(void *object); /* frees what the object owns; no thread can find it any more */
};

/* By enum ga_handle_type; client/object_types.c. */
extern const struct client_object_type *const client_object_types[GA_HANDLE_TYPES];

extern pthread_mutex_t client_state_lock;
/* Makes an object; `context` may be NULL. NULL: no memory. */
void *client_object_make(enum ga_handle_type type, struct client_context *context);
/* NULL: not live. */
void *client_object_find(enum ga_handle_type type, uint64_t handle);
/* The handle and the object are gone, with what the object owns. */
void client_object_drop(void *at);
/* All objects of a context go. */
void client_objects_drop_all(struct client_context *context);
/* Walks all contexts; start with 0. NULL ends. */
struct client_context *client_context_next(uint32_t *index);
/* As client_context_next, of the active contexts of this session alone. */
struct client_context *client_context_next_of(const struct client_session *session,
                                              uint32_t *index);

#endif
