/* SPDX-License-Identifier: Apache-2.0 */
/* Handles made by the client: one table per type, and objects that are used again. */
#include "client/process/handles.h"

#include <stdlib.h>
#include <string.h>

#include "base/handle_table.h"
#include "client/memory/mappings.h"
#include "client/module/library.h"
#include "client/module/module.h"
#include "client/process/process.h"
#include "client/stream/context.h"
#include "client/stream/event.h"
#include "client/stream/stream.h"
#include "client/texture/array.h"
#include "client/texture/texture.h"

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
static unsigned long long stream_ids = 16, context_ids;

static const size_t sizes[GA_HANDLE_TYPES] = {
    [GA_HANDLE_CONTEXT] = sizeof(struct client_context),
    [GA_HANDLE_STREAM] = sizeof(struct client_stream),
    [GA_HANDLE_EVENT] = sizeof(struct client_event),
    [GA_HANDLE_MODULE] = sizeof(struct client_module),
    [GA_HANDLE_FUNCTION] = sizeof(struct client_function),
    [GA_HANDLE_LIBRARY] = sizeof(struct client_library),
    [GA_HANDLE_KERNEL] = sizeof(struct client_kernel),
    [GA_HANDLE_ARRAY] = sizeof(struct client_array),
    [GA_HANDLE_MIPMAP] = sizeof(struct client_array),
    [GA_HANDLE_TEXTURE] = sizeof(struct client_sampled),
    [GA_HANDLE_EXEC] = sizeof(struct client_object),
    [GA_HANDLE_PHYSICAL] = sizeof(struct client_physical),
};

static struct client_object *take_unused(enum ga_handle_type type)
{
    struct client_object *object = unused[type];
    if (object == NULL) {
        return calloc(1, sizes[type]);
    }
    unused[type] = object->unused;
    /* A watch that began in the object's last life may still end: the count goes on, so that its
     * value is never that of a recording of this life. */
    uint64_t recorded =
        type == GA_HANDLE_EVENT ? atomic_load(&((struct client_event *)object)->recorded) : 0;
    memset(object, 0, sizes[type]);
    if (type == GA_HANDLE_EVENT) {
        atomic_store(&((struct client_event *)object)->recorded, recorded + 1);
        atomic_store(&((struct client_event *)object)->ready, recorded + 1);
    }
    return object;
}

static void fill(struct client_object *object)
{
    if (object->type == GA_HANDLE_CONTEXT) {
        struct client_context *context = (struct client_context *)object;
        context->id = ++context_ids;
        context->legacy_attributes = front_stream_attributes_new;
        ga_list_init(&context->objects);
    } else if (object->type == GA_HANDLE_STREAM) {
        ((struct client_stream *)object)->id = ++stream_ids;
        ((struct client_stream *)object)->attributes = front_stream_attributes_new;
    }
}

void *client_object_make(enum ga_handle_type type, struct client_context *context)
{
    pthread_mutex_lock(&client_state_lock);
    struct ga_handle_table *table = &tables[type];
    struct client_object *object = take_unused(type);
    if (object != NULL) { /* all of it, before others can find it */
        object->type = type;
        object->context = context;
        ga_list_init(&object->in_context);
        fill(object);
    }
    if (object != NULL && ga_handle_table_make(table, object, &object->handle) != GA_OK) {
        object->unused = unused[type];
        unused[type] = object;
        object = NULL;
    }
    if (object != NULL) {
        if (context != NULL) {
            ga_list_append(&context->objects, &object->in_context);
            if (type == GA_HANDLE_STREAM) {
                atomic_store(&context->streamed, true);
            }
        }
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

static void release(struct client_object *object)
{
    switch (object->type) {
    case GA_HANDLE_MODULE:
        client_module_release((struct client_module *)object);
        break;
    case GA_HANDLE_FUNCTION:
        client_function_release((struct client_function *)object);
        break;
    case GA_HANDLE_LIBRARY:
        client_library_release((struct client_library *)object);
        break;
    case GA_HANDLE_KERNEL:
        free(((struct client_kernel *)object)->name);
        break;
    case GA_HANDLE_MIPMAP:
        client_array_release((struct client_array *)object);
        break;
    case GA_HANDLE_TEXTURE:
        client_sampled_release((struct client_sampled *)object);
        break;
    default:
        break;
    }
}

void client_object_drop(void *at)
{
    struct client_object *object = at;
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
    release(object);
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
