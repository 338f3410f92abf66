/* The end of a context, and all of its work at once. */
#include <stdlib.h>

#include "server/conn.h"
#include "server/output.h"

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

CUresult context_mark(struct server_conn *conn, struct server_context *context,
                      struct completer_entry *entry)
{
    size_t streams = 1; /* the null stream */
    ga_list_each (at, next, &context->streams) {
        streams++;
    }
    entry->events = streams <= COMPLETER_FEW ? entry->few : calloc(streams, sizeof *entry->events);
    if (entry->events == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    struct ga_list *next = context->streams.next;
    const struct server_stream *stream = NULL;
    for (;;) {
        if (stream != NULL) {
            stream_apply(conn, stream);
        }
        CUresult rc = event_mark(&conn->completer, context, stream != NULL ? stream->real : NULL,
                                 &entry->events[entry->event_count]);
        if (rc == CUDA_SUCCESS) {
            entry->event_count++;
        }
        if (rc != CUDA_SUCCESS || next == &context->streams) {
            if (conn->elsewhere) {
                context_apply(conn, context);
                conn->elsewhere = false;
            }
            return rc;
        }
        stream = ga_container(next, struct server_stream, link);
        next = next->next;
    }
}

static void drained(struct server_conn *conn, struct completer_entry *entry)
{
    (void)conn;
    *(bool *)(uintptr_t)entry->job_values[0] = true;
}

/* Waits until the work of the context is done and told: no entry looks at its events any more. */
static CUresult context_drain(struct server_conn *conn, struct server_context *context)
{
    bool done = false;
    struct completer_entry *entry = completer_entry_make(&conn->completer, COMPLETER_JOB, 0, 0);
    if (entry == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUresult rc = context_mark(conn, context, entry);
    entry->job = drained;
    entry->job_values[0] = (uint64_t)(uintptr_t)&done;
    completer_add(&conn->completer, entry); /* also when marking failed: what is there drains */
    if (conn_wait(conn, &done) != GA_OK) {
        return CUDA_ERROR_UNKNOWN;
    }
    output_of_context(conn);
    return rc;
}

#if CUDA_VERSION >= 12040
/* An event behind all that the green context has, in an entry that waits for nothing yet. */
static CUresult green_mark(struct server_conn *conn, const struct server_green *green,
                           struct completer_entry *entry)
{
    struct event_ref *ref;
    context_apply(conn, green->context); /* the event is made in it */
    conn->elsewhere = true;
    CUresult rc = event_take(&conn->completer, green->context, CU_EVENT_DISABLE_TIMING, &ref);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    rc = conn->driver->cuGreenCtxRecordEvent(green->real, ref->real);
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
    bool done = false;
    struct completer_entry *entry = completer_entry_make(&conn->completer, COMPLETER_JOB, 0, 0);
    CUresult rc = entry != NULL ? green_mark(conn, green, entry) : CUDA_ERROR_OUT_OF_MEMORY;
    if (rc != CUDA_SUCCESS) {
        completer_entry_free(&conn->completer, entry);
        return rc;
    }
    entry->job = drained;
    entry->job_values[0] = (uint64_t)(uintptr_t)&done;
    completer_add(&conn->completer, entry);
    if (conn_wait(conn, &done) != GA_OK) {
        return CUDA_ERROR_UNKNOWN;
    }
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
        (void)server_handle_drop(conn, stream->handle);
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

/* The context is used on, but the program shall find it as if new. Who cannot have a setting back
 * (a heap that kernels have used) keeps it. */
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
    if (atomic_load(&conn->ended)) {
        return first; /* the process ends, and that frees everything */
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
