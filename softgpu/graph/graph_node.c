/* SPDX-License-Identifier: Apache-2.0 */
/* The work of nodes, made of the parameters that front/ keeps. */
#include "softgpu/graph/graph_node.h"

#include <stdlib.h>
#include <string.h>

#include "front/front.h"
#include "softgpu/copy/copy.h"
#include "softgpu/copy/memset.h"
#include "softgpu/module/launch.h"
#include "softgpu/module/library.h"
#include "softgpu/process/process.h"
#include "softgpu/stream/green.h"
#include "softgpu/stream/host_function.h"
#include "softgpu/texture/array.h"

static CUresult node_context_use(CUcontext handle, struct sg_graph_what *what,
                                 struct sg_context **context)
{
    struct sg_context *found = sg_context_find(handle);
    if (found == NULL || !found->alive) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    const struct sg_green *green = sg_green_of(handle);
    what->context = found;
    what->stream = green != NULL ? green->legacy : found->legacy;
    sg_context_hold(found);
    sg_stream_hold(what->stream);
    *context = found;
    return CUDA_SUCCESS;
}

static CUresult node_kernel_make(const struct front_kernel_node *kernel, struct sg_graph_what *what)
{
    struct front_launch_options options;
    struct sg_context *context;
    struct sg_function *function;
    const CUlaunchConfig config = {.attrs = kernel->attributes,
                                   .numAttrs = kernel->attribute_count};
    CUresult rc = front_launch_options_read(&config, &options);
    if (rc == CUDA_SUCCESS) {
        rc = node_context_use(kernel->context, what, &context);
    }
    if (rc == CUDA_SUCCESS) {
        rc = sg_function_find(kernel->function, context, &function);
    }
    if (rc == CUDA_SUCCESS && function->module->context != context) {
        rc = CUDA_ERROR_INVALID_HANDLE;
    }
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct sg_launch_shape shape = {
        .cluster = {options.cluster[0], options.cluster[1], options.cluster[2]},
        .dynamic_shared = kernel->shared_bytes,
        .cooperative = options.cooperative};
    memcpy(shape.grid, kernel->grid, sizeof shape.grid);
    memcpy(shape.block, kernel->block, sizeof shape.block);
    what->prioritised = options.prioritised;
    what->priority = options.priority;
    return sg_launch_make(function, &shape, kernel->param_values, NULL, &what->item);
}

static CUresult copy_make(const struct front_copy_node *copy, struct sg_graph_what *what)
{
    struct front_box box;
    struct sg_context *context;
    CUresult rc = front_box_3d(&copy->copy, &box);
    if (rc == CUDA_SUCCESS) {
        rc = node_context_use(copy->context, what, &context);
    }
    if (rc == CUDA_SUCCESS) {
        rc = sg_array_resolve(&box);
    }
    return rc == CUDA_SUCCESS ? sg_copy_make(&box, &what->item) : rc;
}

static CUresult node_fill_make(const struct front_fill_node *fill, struct sg_graph_what *what)
{
    const CUDA_MEMSET_NODE_PARAMS_v1 *said = &fill->fill;
    const struct sg_fill_shape shape = {.to = said->dst,
                                        .pitch = said->height > 1 ? said->pitch
                                                                  : said->width * said->elementSize,
                                        .width = said->width,
                                        .height = said->height,
                                        .element = said->elementSize,
                                        .value = said->value};
    struct sg_context *context;
    CUresult rc = node_context_use(fill->context, what, &context);
    return rc == CUDA_SUCCESS ? sg_fill_make(&shape, &what->item) : rc;
}

/* A thread of the first device calls the host function, wherever the graph is launched. */
static CUresult host_make(const CUDA_HOST_NODE_PARAMS_v1 *host, struct sg_graph_what *what)
{
    const struct front_host_call call = {.function = host->fn, .data = host->userData};
    what->item = sg_host_function_make(&call);
    return what->item != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult values_make(const struct front_values_node *node, struct sg_graph_what *what)
{
    struct front_value steps[FRONT_VALUES_MAX];
    CUresult rc = front_values_read(node->count, node->ops, node->flags, steps, &what->count);
    what->values = calloc((size_t)what->count + 1, sizeof *what->values);
    if (rc == CUDA_SUCCESS && what->values == NULL) {
        rc = CUDA_ERROR_OUT_OF_MEMORY;
    }
    for (unsigned i = 0; rc == CUDA_SUCCESS && i < what->count; i++) {
        what->values[i] = (struct sg_value){.address = steps[i].address,
                                            .value = steps[i].value,
                                            .bytes = steps[i].bytes,
                                            .write = steps[i].write,
                                            .wait = steps[i].wait};
        rc = sg_value_check(&what->values[i]);
        if (rc == CUDA_SUCCESS && !steps[i].write) {
            rc = sg_values_start();
        }
    }
    return rc;
}

static CUresult node_event_make(CUevent event, struct sg_graph_what *what)
{
    what->event = (uint64_t)(uintptr_t)event;
    return ga_handle_table_find(&sg_process.events, what->event) != NULL
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult node_what_make(const struct front_node_params *params, struct sg_graph_what *what)
{
    switch ((int)params->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        what->kind = SG_GRAPH_WORK;
        return node_kernel_make(&params->kernel, what);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        what->kind = SG_GRAPH_WORK;
        return copy_make(&params->copy, what);
    case CU_GRAPH_NODE_TYPE_MEMSET:
        what->kind = SG_GRAPH_WORK;
        return node_fill_make(&params->fill, what);
    case CU_GRAPH_NODE_TYPE_HOST:
        what->kind = SG_GRAPH_WORK;
        return host_make(&params->host, what);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        what->kind = SG_GRAPH_RECORD;
        return node_event_make(params->event, what);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        what->kind = SG_GRAPH_WAIT;
        return node_event_make(params->event, what);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        what->kind = SG_GRAPH_VALUES;
        return values_make(&params->values, what);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        what->kind = SG_GRAPH_CONDITION;
        return CUDA_SUCCESS;
    default:
        return CUDA_SUCCESS; /* an empty node, or one of memory, which the launch maps */
    }
}

CUresult sg_graph_what_make(const struct front_node_params *params, struct sg_graph_what *what)
{
    *what = (struct sg_graph_what){.kind = SG_GRAPH_NOTHING};
    CUresult rc = node_what_make(params, what);
    if (rc != CUDA_SUCCESS) {
        sg_graph_what_drop(what);
    }
    return rc;
}

void sg_graph_what_drop(struct sg_graph_what *what)
{
    if (what->item != NULL) {
        if (what->item->drop != NULL) {
            what->item->drop(what->item);
        }
        free(what->item);
    }
    if (what->stream != NULL) {
        sg_stream_drop(what->stream);
    }
    if (what->context != NULL) {
        sg_context_drop(what->context);
    }
    free(what->values);
    *what = (struct sg_graph_what){.kind = SG_GRAPH_NOTHING};
}
