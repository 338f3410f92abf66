/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a context, and all of its work at once. */
#include <stdlib.h>

#include "server/session/conn.h"

void context_apply(struct server_conn *conn, const struct server_context *context)
{
    (void)conn->driver->cuCtxSetCurrent(context != NULL ? context->real : NULL);
}

void stream_apply(struct server_conn *conn, const struct server_stream *stream)
{
    if (stream->green != NULL && stream->real == NULL) {
        (void)conn->driver->cuCtxSetCurrent(stream->green->as_context);
        conn->elsewhere = true;
    }
}

static CUresult mark_add(struct server_conn *conn, struct server_context *context, CUstream stream,
                         struct completer_entry *entry)
{
    CUresult rc = event_mark(&conn->completer, context, stream, &entry->events[entry->event_count]);
    entry->event_count += rc == CUDA_SUCCESS;
    return rc;
}

static size_t count_marks(const struct server_context *context)
{
    size_t count = context->heir != NULL ? 2 : 1; /* the null stream besides */
    ga_list_each (at, next, &context->streams) {
        count++;
    }
    return count;
}

static CUresult context_marks_make(struct completer_entry *entry, size_t count)
{
    entry->events = count <= COMPLETER_FEW ? entry->few : calloc(count, sizeof *entry->events);
    return entry->events != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* The context must be current. */
static CUresult mark_all(struct server_conn *conn, struct server_context *context,
                         struct completer_entry *entry)
{
    CUresult rc = mark_add(conn, context, NULL, entry);
    if (rc == CUDA_SUCCESS && context->heir != NULL) {
        rc = mark_add(conn, context, context->heir, entry);
    }
    ga_list_each (at, next, &context->streams) {
        const struct server_stream *stream = ga_container(at, struct server_stream, link);
        if (rc == CUDA_SUCCESS && stream->build == NULL) { /* a capture is no work */
            stream_apply(conn, stream);
            rc = mark_add(conn, context, stream->real, entry);
        }
    }
    if (conn->elsewhere) {
        context_apply(conn, context);
        conn->elsewhere = false;
    }
    return rc;
}

CUresult context_mark(struct server_conn *conn, struct server_context *context,
                      struct completer_entry *entry)
{
    CU_TRY(context_marks_make(entry, count_marks(context)));
    return mark_all(conn, context, entry);
}

/* Whether work of the context may use what is freed of the owner's. */
static bool may_use(const struct server_conn *conn, const struct server_context *context,
                    const struct server_context *owner, bool everybody)
{
    return everybody || context == owner || peer_reaches(conn, context, owner);
}

CUresult context_mark_users(struct server_conn *conn, const struct server_context *owner,
                            bool everybody, struct completer_entry *entry)
{
    size_t count = 0;
    ga_list_each (at, next, &conn->objects.context_list) {
        const struct server_context *user = ga_container(at, struct server_context, link);
        count += may_use(conn, user, owner, everybody) ? count_marks(user) : 0;
    }
    CUresult rc = context_marks_make(entry, count);
    ga_list_each (at, next, &conn->objects.context_list) {
        struct server_context *user = ga_container(at, struct server_context, link);
        if (rc == CUDA_SUCCESS && may_use(conn, user, owner, everybody)) {
            context_apply(conn, user);
            rc = mark_all(conn, user, entry);
        }
    }
    context_apply(conn, conn->current);
    return rc;
}

static void drained(struct server_conn *conn, struct completer_entry *entry)
{
    (void)conn;
    *(bool *)(uintptr_t)entry->job_values[0] = true;
}

/* Waits for the entry, and for all that have been handed in before it and are ready. */
static CUresult wait_drained(struct server_conn *conn, struct completer_entry *entry)
{
    bool done = false;
    entry->job = drained;
    entry->job_values[0] = (uint64_t)(uintptr_t)&done;
    completer_add(&conn->completer, entry);
    return conn_wait(conn, &done) == GA_OK ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}

/* Waits until the work of the context is done. */
static CUresult context_drain(struct server_conn *conn, struct server_context *context)
{
    struct completer_entry *entry = completer_entry_make(&conn->completer, COMPLETER_JOB, 0, 0);
    if (entry == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUresult rc = context_mark(conn, context, entry);
    CUresult waited = wait_drained(conn, entry); /* also when marking failed */
    if (waited != CUDA_SUCCESS) {
        return waited;
    }
    output_of_context(conn); /* the driver waits for what could not be marked */
    return rc;
}

/* Until no entry refers to the context any more: what its driver still does is told as an error. */
static CUresult context_abandon(struct server_conn *conn, struct server_context *context)
{
    struct completer_entry *entry = completer_entry_make(&conn->completer, COMPLETER_JOB, 0, 0);
    atomic_store(&context->ended, true);
    return entry != NULL ? wait_drained(conn, entry) : CUDA_ERROR_OUT_OF_MEMORY;
}

#if CUDA_VERSION >= 12040
/* An event behind all that the green context has, in an entry that waits for nothing yet. */
static CUresult green_mark(struct server_conn *conn, const struct server_green *green,
                           struct completer_entry *entry)
{
    struct event_ref *ref;
    context_apply(conn, green->context); /* the event is made in it */
    conn->elsewhere = true;
    CU_TRY(event_take(&conn->completer, green->context, CU_EVENT_DISABLE_TIMING, &ref));
    CUresult rc = conn->driver->cuGreenCtxRecordEvent(green->real, ref->real);
    if (rc != CUDA_SUCCESS) {
        event_drop(&conn->completer, ref);
        return rc;
    }
    entry->events = entry->few;
    entry->events[entry->event_count++] = ref;
    return CUDA_SUCCESS;
}

CUresult green_drain(struct server_conn *conn, const struct server_green *green)
{
    struct completer_entry *entry = completer_entry_make(&conn->completer, COMPLETER_JOB, 0, 0);
    CUresult rc = entry != NULL ? green_mark(conn, green, entry) : CUDA_ERROR_OUT_OF_MEMORY;
    if (rc != CUDA_SUCCESS) {
        completer_entry_free(&conn->completer, entry);
        return rc;
    }
    CU_TRY(wait_drained(conn, entry));
    (void)conn->driver->cuCtxSetCurrent(green->as_context); /* of no other is waited for */
    conn->elsewhere = true;
    output_of_context(conn);
    return CUDA_SUCCESS;
}
#endif

static void keep_first(CUresult *first, CUresult rc)
{
    *first = *first == CUDA_SUCCESS ? rc : *first;
}

static CUresult ranges_free(struct server_conn *conn, const struct server_context *context)
{
    CUresult first = CUDA_SUCCESS;
    for (size_t i = conn->ranges.count; i-- > 0;) {
        if (conn->ranges.items[i].mapped && conn->ranges.items[i].owner == context) {
            keep_first(&first, memory_free(conn, conn->ranges.items[i].base));
        }
    }
    return first;
}

static CUresult objects_free(struct server_conn *conn, struct server_context *context)
{
    CUresult first = CUDA_SUCCESS;
    ga_list_each (at, next, &context->graphs) {
        keep_first(&first, graph_free(conn, ga_container(at, struct server_graph, link)));
    }
    ga_list_each (at, next, &context->modules) {
        keep_first(&first, module_free(conn, ga_container(at, struct server_module, link)));
    }
    ga_list_each (at, next, &context->textures) {
        keep_first(&first, texture_free(conn, ga_container(at, struct server_texture, link)));
    }
    while (!ga_list_empty(&context->arrays)) { /* the levels of one go with it */
        struct ga_list *at = context->arrays.next;
        keep_first(&first, array_free(conn, ga_container(at, struct server_array, link)));
    }
    ga_list_each (at, next, &context->events) {
        keep_first(&first, event_free(conn, ga_container(at, struct server_event, link)));
    }
    ga_list_each (at, next, &context->greens) {
        keep_first(&first, green_free(conn, ga_container(at, struct server_green, link)));
    }
    ga_list_each (at, next, &context->streams) {
        struct server_stream *stream = ga_container(at, struct server_stream, link);
        keep_first(&first, conn->driver->cuStreamDestroy_v2(stream->real));
        stream_drop(conn, stream);
    }
    if (context->heir != NULL) {
        keep_first(&first, conn->driver->cuStreamDestroy_v2(context->heir));
        context->heir = NULL;
    }
    conditions_free(conn, context);
    ga_list_each (at, next, &context->free_events) {
        struct event_ref *ref = ga_container(at, struct event_ref, link);
        ga_list_remove(&ref->link);
        keep_first(&first, conn->driver->cuEventDestroy_v2(ref->real));
        free(ref);
    }
    keep_first(&first, ranges_free(conn, context));
    return first;
}

/* The context stays in use, but its settings become as if new. A setting that the driver cannot
 * reset (a heap that kernels have used) stays. */
static void settings_reset(struct server_conn *conn, struct server_context *context)
{
    const struct cuda_driver *driver = conn->driver;
    for (unsigned limit = 0; limit < CU_LIMIT_MAX; limit++) {
        if ((context->limits_set >> limit & 1) != 0) {
            (void)driver->cuCtxSetLimit((CUlimit)limit, context->limits[limit]);
        }
    }
    context->limits_set = 0;
    (void)driver->cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_NONE);
    (void)driver->cuCtxSetSharedMemConfig(CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE);
    ga_list_each (at, next, &conn->objects.context_list) {
        const struct server_context *other = ga_container(at, struct server_context, link);
        if (other != context) {
            (void)driver->cuCtxDisablePeerAccess(other->real);
        }
    }
}

CUresult context_clear(struct server_conn *conn, struct server_context *context, bool keep)
{
    const struct cuda_driver *driver = conn->driver;
    struct server_context *before = conn->current;
    CUresult first = driver->cuCtxSetCurrent(context->real);
    keep_first(&first, context_drain(conn, context));
    CUresult abandoned = keep ? CUDA_SUCCESS : context_abandon(conn, context);
    keep_first(&first, abandoned);
    if (atomic_load(&conn->ended) || abandoned != CUDA_SUCCESS) {
        return first; /* the process ends, and that frees everything; or the context stays */
    }
    peer_drop(conn, context);
    keep_first(&first, objects_free(conn, context));
    if (keep) {
        settings_reset(conn, context);
        context_apply(conn, before);
        return first;
    }
    conn->current = before == context ? NULL : before;
    context_apply(conn, conn->current);
    keep_first(&first, context->primary
                           ? driver->cuDevicePrimaryCtxRelease_v2(context->session->real)
                           : driver->cuCtxDestroy_v2(context->real));
    (void)ga_handle_table_remove(&conn->objects.contexts, context->handle);
    ga_list_remove(&context->link);
    free(context);
    return first;
}
