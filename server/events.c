/* Events of the driver: counted, and those without timing used again. */
#include <stdlib.h>

#include "server/conn.h"

CUresult event_take(struct completer *completer, struct server_context *context, unsigned flags,
                    struct event_ref **ref)
{
    struct event_ref *taken = NULL;
    pthread_mutex_lock(&completer->lock);
    if (flags == CU_EVENT_DISABLE_TIMING && !ga_list_empty(&context->free_events)) {
        taken = ga_container(context->free_events.next, struct event_ref, link);
        ga_list_remove(&taken->link);
        taken->refs = 1;
    }
    pthread_mutex_unlock(&completer->lock);
    if (taken == NULL) {
        taken = calloc(1, sizeof *taken);
        if (taken == NULL) {
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        *taken = (struct event_ref){.context = context, .flags = flags, .refs = 1};
        ga_list_init(&taken->link);
        CUresult rc = completer->conn->driver->cuEventCreate(&taken->real, flags);
        if (rc != CUDA_SUCCESS) {
            free(taken);
            return rc;
        }
    }
    *ref = taken;
    return CUDA_SUCCESS;
}

void event_keep(struct completer *completer, struct event_ref *ref)
{
    pthread_mutex_lock(&completer->lock);
    ref->refs++;
    pthread_mutex_unlock(&completer->lock);
}

void event_drop(struct completer *completer, struct event_ref *ref)
{
    bool destroy = false;
    pthread_mutex_lock(&completer->lock);
    if (--ref->refs == 0) {
        destroy = ref->flags != CU_EVENT_DISABLE_TIMING;
        if (!destroy) {
            ga_list_append(&ref->context->free_events, &ref->link);
        }
    }
    pthread_mutex_unlock(&completer->lock);
    if (destroy) {
        (void)completer->conn->driver->cuEventDestroy_v2(ref->real);
        free(ref);
    }
}

CUresult event_mark(struct completer *completer, struct server_context *context, CUstream stream,
                    struct event_ref **ref)
{
    struct event_ref *taken;
    CUresult rc = event_take(completer, context, CU_EVENT_DISABLE_TIMING, &taken);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    rc = completer->conn->driver->cuEventRecord(taken->real, stream);
    if (rc != CUDA_SUCCESS) {
        event_drop(completer, taken);
        return rc;
    }
    *ref = taken;
    return CUDA_SUCCESS;
}
