/* SPDX-License-Identifier: Apache-2.0 */
/* Handles made by the client: one table per type, and objects that are used again. */
#include "client/context/object.h"

#include <stdlib.h>
#include <string.h>

#include "base/handle_table.h"
#include "client/context/context.h"
#include "client/process/process.h"

#define OBJECTS_MAX (1u << 24)

pthread_mutex_t client_state_lock = PTHREAD_MUTEX_INITIALIZER;

/* Objects are found without the lock: none of them is ever given back, only used again. */
#define TABLE(of) [of] = {.type = (of), .limit = OBJECTS_MAX, .used = 1}
static struct ga_handle_table tables[GA_HANDLE_TYPES] = {
    TABLE(GA_HANDLE_CONTEXT), TABLE(GA_HANDLE_STREAM),   TABLE(GA_HANDLE_EVENT),
    TABLE(GA_HANDLE_MODULE),  TABLE(GA_HANDLE_FUNCTION), TABLE(GA_HANDLE_LIBRARY),
    TABLE(GA_HANDLE_KERNEL),  TABLE(GA_HANDLE_ARRAY),    TABLE(GA_HANDLE_MIPMAP),
    TABLE(GA_HANDLE_TEXTURE), TABLE(GA_HANDLE_EXEC),     TABLE(GA_HANDLE_PHYSICAL),
};
static struct client_object *unused[GA_HANDLE_TYPES];

static struct client_object *take_unused(enum ga_handle_type type)
{
    const struct client_object_type *is = client_object_types[type];
    struct client_object *object = unused[type];
    if (object == NULL) {
        return calloc(1, is->bytes);
    }
    unused[type] = object->unused;
    size_t kept = sizeof *object + is->kept;
    *object = (struct client_object){0};
    memset((uint8_t *)object + kept, 0, is->bytes - kept);
    return object;
}

void *client_object_make(enum ga_handle_type type, struct client_context *context)
{
    const struct client_object_type *is = client_object_types[type];
    pthread_mutex_lock(&client_state_lock);
    struct ga_handle_table *table = &tables[type];
    struct client_object *object = take_unused(type);
    if (object != NULL) { /* all of it, before others can find it */
        object->type = type;
        object->context = context;
        ga_list_init(&object->in_context);
        if (is->begin != NULL) {
            is->begin(object);
        }
    }
    if (object != NULL && ga_handle_table_make(table, object, &object->handle) != GA_OK) {
        object->unused = unused[type];
        unused[type] = object;
        object = NULL;
    }
    if (object != NULL && context != NULL) {
        ga_list_append(&context->objects, &object->in_context);
    }
    pthread_mutex_unlock(&client_state_lock);
    return object;
}

void *client_object_find(enum ga_handle_type type, uint64_t handle)
{
    /* In the child of a fork nothing is found. */
    if (ga_handle_type_of(handle) != type || type == GA_HANDLE_NONE ||
        atomic_load_explicit(&client_dead, memory_order_relaxed)) {
        return NULL;
    }
    return ga_handle_table_find(&tables[type], handle);
}

void client_object_drop(void *at)
{
    struct client_object *object = at;
    const struct client_object_type *is = client_object_types[object->type];
    pthread_mutex_lock(&client_state_lock);
    bool mine = ga_handle_table_remove(&tables[object->type], object->handle) == object;
    if (mine) {
        ga_list_remove(&object->in_context);
        object->handle = 0;
    }
    pthread_mutex_unlock(&client_state_lock);
    if (!mine) {
        return;
    }
    if (is->release != NULL) {
        is->release(object);
    }
    pthread_mutex_lock(&client_state_lock);
    object->unused = unused[object->type];
    unused[object->type] = object;
    pthread_mutex_unlock(&client_state_lock);
}

void client_objects_drop_all(struct client_context *context)
{
    for (;;) {
        pthread_mutex_lock(&client_state_lock);
        struct client_object *object = NULL;
        if (!ga_list_empty(&context->objects)) {
            object = ga_container(context->objects.next, struct client_object, in_context);
        }
        pthread_mutex_unlock(&client_state_lock);
        if (object == NULL) {
            return;
        }
        client_object_drop(object);
    }
}

struct client_context *client_context_next(uint32_t *index)
{
    uint64_t handle;
    pthread_mutex_lock(&client_state_lock);
    struct client_context *context =
        tables[GA_HANDLE_CONTEXT].limit != 0
            ? ga_handle_table_next(&tables[GA_HANDLE_CONTEXT], index, &handle)
            : NULL;
    pthread_mutex_unlock(&client_state_lock);
    return context;
}

struct client_context *client_context_next_of(const struct client_session *session, uint32_t *index)
{
    struct client_context *context = client_context_next(index);
    /* Another thread may make it active; its session is written before. */
    while (context != NULL && !(atomic_load(&context->active) && context->session == session)) {
        context = client_context_next(index);
    }
    return context;
}
