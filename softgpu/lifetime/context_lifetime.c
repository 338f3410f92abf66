/* SPDX-License-Identifier: Apache-2.0 */
/* Making, emptying and destroying contexts. */
#include "softgpu/lifetime/context_lifetime.h"

#include <stdlib.h>

#include "softgpu/engine/texture_objects.h"
#include "softgpu/graph/graph.h"
#include "softgpu/graph/graph_condition.h"
#include "softgpu/memory/peer_access.h"
#include "softgpu/memory/ranges.h"
#include "softgpu/module/kernel_heap.h"
#include "softgpu/module/module.h"
#include "softgpu/process/print.h"
#include "softgpu/process/process.h"
#include "softgpu/stream/context_events.h"
#include "softgpu/stream/green.h"
#include "softgpu/stream/queue.h"
#include "softgpu/stream/waits.h"
#include "softgpu/texture/array.h"
#include "softgpu/texture/sampled.h"

/* The defaults of a new context. */
static void context_defaults(struct sg_context *context)
{
    context->stack_bytes = 1024;
    context->printf_bytes = SG_PRINT_BYTES;
    context->printed = false;
    sg_print_resize(context->print, context->printf_bytes);
    context->heap_bytes = (size_t)8 << 20;
    context->l2_granularity = 64;
    context->launch_count = 2048;
    context->cache_config = CU_FUNC_CACHE_PREFER_NONE;
    context->shared_config = CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE;
}

/* The memory of its device that a context takes (`context_memory`); nothing is in it. */
static enum ga_status context_memory_take(struct sg_context *context)
{
    uint64_t bytes = context->device->config.context_bytes;
    uint64_t chunks = bytes / SG_CHUNK_BYTES + (bytes % SG_CHUNK_BYTES != 0);
    if (chunks != 0) {
        GA_TRY(sg_node_take(context->device->node, chunks));
    }
    context->chunks = chunks;
    return GA_OK;
}

static void context_memory_give(struct sg_context *context)
{
    if (context->chunks != 0) {
        sg_node_give(context->device->node, context->chunks);
    }
    context->chunks = 0;
}

CUresult sg_context_activate(struct sg_context *context)
{
    context_defaults(context);
    context->life = ++sg_process.next_context_life;
    if (context_memory_take(context) != GA_OK) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    context->objects = sg_objects_create();
    if (context->objects == NULL) {
        context_memory_give(context);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUresult rc = sg_stream_make(context, CU_STREAM_DEFAULT, 0, &context->legacy);
    context->alive = rc == CUDA_SUCCESS;
    if (!context->alive) {
        sg_objects_destroy(context->objects);
        context->objects = NULL;
        context_memory_give(context);
    }
    return rc;
}

CUresult sg_context_make(struct sg_device *device, unsigned flags, bool primary,
                         struct sg_context **context)
{
    struct sg_context *made = calloc(1, sizeof *made);
    struct sg_print *print = sg_print_make();
    if (made == NULL || print == NULL) {
        free(made);
        free(print);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    made->print = print;
    made->device = device;
    made->primary = primary;
    made->flags = flags;
    made->references = 1;
    made->api_version = 3020;
    made->id = ++sg_process.next_context_id;
    ga_list_init(&made->streams);
    ga_list_init(&made->stream_barriers);
    ga_list_init(&made->greens);
    ga_list_init(&made->events);
    ga_list_init(&made->modules);
    ga_list_init(&made->ranges);
    ga_list_init(&made->arrays);
    ga_list_init(&made->sampled);
    ga_list_init(&made->sampled_destroyed);
    if (ga_handle_table_make(&sg_process.contexts, made, &made->handle) != GA_OK) {
        sg_context_drop(made);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    sg_print_name(print, sg_context_handle(made));
    CUresult rc = primary ? CUDA_SUCCESS : sg_context_activate(made);
    if (rc != CUDA_SUCCESS) {
        ga_handle_table_remove(&sg_process.contexts, made->handle);
        sg_context_drop(made);
        return rc;
    }
    *context = made;
    return CUDA_SUCCESS;
}

/* Frees all objects of the context. Its work has finished, or never will. */
static void context_empty(struct sg_context *context)
{
    sg_peer_drop(context);
    sg_green_lose(context);
    while (!ga_list_empty(&context->modules)) {
        sg_module_destroy(ga_container(context->modules.next, struct sg_module, in_context));
    }
    while (!ga_list_empty(&context->events)) {
        sg_event_destroy(ga_container(context->events.next, struct sg_event, in_context));
    }
    ga_list_each (at, following, &context->streams) {
        struct sg_stream *stream = ga_container(at, struct sg_stream, in_context);
        if (!stream->destroyed) {
            sg_stream_destroy(stream);
        }
    }
    context->legacy = NULL;
    context->gather = NULL;
    sg_all_streams_drop_barriers(&context->stream_barriers);
    sg_graph_drop_context(context);
    sg_condition_drop_context(context);
    sg_sampled_drop_context(context);
    sg_objects_destroy(context->objects);
    context->objects = NULL;
    while (!ga_list_empty(&context->arrays)) {
        sg_array_destroy(ga_container(context->arrays.next, struct sg_array, in_context));
    }
    sg_context_heap_drop(context);
    sg_memory_drop_context(context);
    context_memory_give(context);
}

static bool context_settled(const void *argument)
{
    return !((const struct sg_context *)argument)->dying;
}

void sg_context_settle(struct sg_context *context)
{
    (void)sg_wait_for(context_settled, context);
}

void sg_context_destroy(struct sg_context *context)
{
    if (!context->alive) {
        return;
    }
    context->alive = false; /* calls find it unusable from now on */
    context->dying = true;
    sg_context_hold(context);
    if (sg_context_quiet(context)) {
        context_empty(context);
    }
    context->dying = false;
    sg_schedule(); /* for threads in sg_context_settle */
    sg_context_drop(context);
    if (!context->primary) {
        ga_handle_table_remove(&sg_process.contexts, context->handle);
        sg_context_drop(context);
    }
}
