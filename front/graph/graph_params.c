/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of nodes, checked and copied when they are given. Only the host memory of copies is
 * read later. */
#include "front/graph/graph_params.h"

#include <stdlib.h>
#include <string.h>

#include "base/readable.h"
#include "front/front.h"
#include "front/graph/graph_memory.h"

#define PARAMS_MAX 65536u /* bytes; far more than any kernel takes */

/* NULL: nothing to copy, or a failure, which is in *rc. */
static void *copy_of(const void *bytes, size_t size, CUresult *rc)
{
    void *copy = size != 0 ? malloc(size) : NULL;
    if (copy != NULL) {
        memcpy(copy, bytes, size);
    } else if (size != 0) {
        *rc = CUDA_ERROR_OUT_OF_MEMORY;
    }
    return copy;
}

/* ---- kernels ---- */

/* Reads the layout of the parameter block and its length. */
static CUresult layout_read(struct front_kernel_node *kernel, size_t *offsets, size_t *sizes)
{
    size_t offset, size;
    kernel->param_count = 0;
    kernel->param_bytes = 0;
    while (cuFuncGetParamInfo(kernel->function, kernel->param_count, &offset, &size) ==
           CUDA_SUCCESS) {
        if (offset > PARAMS_MAX || size > PARAMS_MAX - offset) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        if (offsets != NULL) {
            offsets[kernel->param_count] = offset;
            sizes[kernel->param_count] = size;
        }
        kernel->param_count++;
        if (offset + size > kernel->param_bytes) {
            kernel->param_bytes = (uint32_t)(offset + size);
        }
    }
    return CUDA_SUCCESS;
}

/* Functions are looked up in the current context. */
static CUresult layout_find(struct front_kernel_node *kernel, size_t *offsets, size_t *sizes)
{
    CUcontext popped;
    CUresult rc = front_context_push(kernel->context);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    rc = layout_read(kernel, offsets, sizes);
    (void)cuCtxPopCurrent_v2(&popped);
    return rc;
}

/* The packed buffer of `extra`. */
static CUresult param_extra_read(void **extra, uint32_t bytes, uint8_t *block)
{
    const void *buffer = NULL;
    size_t size = 0;
    for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) {
            buffer = extra[1];
        } else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[1] != NULL) {
            memcpy(&size, extra[1], sizeof size);
        } else {
            return CUDA_ERROR_INVALID_VALUE;
        }
    }
    if (size < bytes || (buffer == NULL && size != 0)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (bytes != 0) {
        memcpy(block, buffer, bytes);
    }
    return CUDA_SUCCESS;
}

static CUresult values_read(struct front_kernel_node *kernel, const size_t *sizes, void **values,
                            void **extra)
{
    if (values != NULL && extra != NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (extra != NULL) {
        return param_extra_read(extra, kernel->param_bytes, kernel->param_block);
    }
    if (values == NULL) {
        return kernel->param_count == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    }
    if (!ga_readable(values, kernel->param_count * sizeof *values)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    for (unsigned i = 0; i < kernel->param_count; i++) { /* a server may have given their sizes */
        if (values[i] == NULL || kernel->param_values[i] == NULL ||
            !ga_readable(values[i], sizes[i])) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        memcpy(kernel->param_values[i], values[i], sizes[i]);
    }
    return CUDA_SUCCESS;
}

static CUresult param_block_make(struct front_kernel_node *kernel, void **values, void **extra)
{
    CUresult rc = layout_find(kernel, NULL, NULL);
    size_t count = kernel->param_count;
    size_t *offsets = calloc(count + 1, 2 * sizeof *offsets), *sizes = offsets + count;
    kernel->param_values = calloc(count + 1, sizeof *kernel->param_values);
    kernel->param_block = calloc(1, (size_t)kernel->param_bytes + 1);
    if (offsets == NULL || kernel->param_values == NULL || kernel->param_block == NULL) {
        rc = CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (rc == CUDA_SUCCESS) {
        rc = layout_find(kernel, offsets, sizes);
    }
    for (size_t i = 0; rc == CUDA_SUCCESS && i < count; i++) {
        kernel->param_values[i] = kernel->param_block + offsets[i];
    }
    if (rc == CUDA_SUCCESS) {
        rc = values_read(kernel, sizes, values, extra);
    }
    free(offsets);
    return rc;
}

CUresult front_kernel_node_make(struct front_node_params *params, CUcontext context,
                                CUfunction function, const CUlaunchConfig *config, void **values,
                                void **extra)
{
    *params = (struct front_node_params){.type = CU_GRAPH_NODE_TYPE_KERNEL};
    struct front_kernel_node *kernel = &params->kernel;
    struct front_launch_options options;
    CUresult rc =
        front_graph_host.function_context(function, context, &kernel->context, &kernel->kernel);
    if (rc == CUDA_SUCCESS) {
        rc = front_launch_options_read(config, &options);
    }
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    kernel->function = function;
    const unsigned shape[] = {config->gridDimX,  config->gridDimY,  config->gridDimZ,
                              config->blockDimX, config->blockDimY, config->blockDimZ};
    memcpy(kernel->grid, shape, sizeof kernel->grid);
    memcpy(kernel->block, shape + 3, sizeof kernel->block);
    kernel->shared_bytes = config->sharedMemBytes;
    kernel->attribute_count = config->numAttrs;
    kernel->attributes = copy_of(config->attrs, config->numAttrs * sizeof(CUlaunchAttribute), &rc);
    if (rc == CUDA_SUCCESS) {
        rc = param_block_make(kernel, values, extra);
    }
    if (rc == CUDA_SUCCESS) {
        rc = front_graph_host.check(params);
    }
    if (rc != CUDA_SUCCESS) {
        front_node_params_free(params);
    }
    return rc;
}

static CUresult kernel_copy(const struct front_kernel_node *from, struct front_kernel_node *to)
{
    CUresult rc = CUDA_SUCCESS;
    to->attributes = copy_of(from->attributes, from->attribute_count * sizeof *to->attributes, &rc);
    to->param_block = copy_of(from->param_block, (size_t)from->param_bytes + 1, &rc);
    to->param_values = copy_of(from->param_values, from->param_count * sizeof(void *), &rc);
    for (unsigned i = 0; rc == CUDA_SUCCESS && i < to->param_count; i++) {
        to->param_values[i] =
            to->param_block + ((uint8_t *)from->param_values[i] - from->param_block);
    }
    return rc;
}

/* ---- other kinds ---- */

static CUresult checked(struct front_node_params *params, CUresult rc)
{
    if (rc == CUDA_SUCCESS) {
        rc = front_graph_host.check(params);
    }
    if (rc != CUDA_SUCCESS) {
        front_node_params_free(params);
    }
    return rc;
}

CUresult front_copy_node_make(struct front_node_params *params, CUcontext context,
                              const CUDA_MEMCPY3D *copy)
{
    struct front_box box;
    CUresult rc = front_box_3d(copy, &box);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    *params = (struct front_node_params){.type = CU_GRAPH_NODE_TYPE_MEMCPY,
                                         .copy = {.context = context, .copy = *copy}};
    return checked(params, rc);
}

CUresult front_fill_node_make(struct front_node_params *params, CUcontext context,
                              const CUDA_MEMSET_NODE_PARAMS_v1 *fill)
{
    if (fill == NULL || fill->height == 0 || fill->width == 0 ||
        (fill->elementSize != 1 && fill->elementSize != 2 && fill->elementSize != 4)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *params = (struct front_node_params){.type = CU_GRAPH_NODE_TYPE_MEMSET,
                                         .fill = {.context = context, .fill = *fill}};
    return checked(params, CUDA_SUCCESS);
}

CUresult front_values_node_make(struct front_node_params *params, CUcontext context, unsigned count,
                                const CUstreamBatchMemOpParams *ops, unsigned flags)
{
    struct front_value steps[FRONT_VALUES_MAX];
    unsigned made;
    CUresult rc = front_values_read(count, ops, flags, steps, &made);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    *params =
        (struct front_node_params){.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
                                   .values = {.context = context, .count = count, .flags = flags}};
    params->values.ops = copy_of(ops, count * sizeof *ops, &rc);
    return checked(params, rc);
}

CUresult front_host_node_make(struct front_node_params *params, CUhostFn function, void *data)
{
    *params = (struct front_node_params){.type = CU_GRAPH_NODE_TYPE_HOST,
                                         .host = {.fn = function, .userData = data}};
    return function != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult front_event_node_make(struct front_node_params *params, CUgraphNodeType type,
                               CUevent event)
{
    *params = (struct front_node_params){.type = type, .event = event};
    return checked(params, CUDA_SUCCESS);
}

/* ---- all kinds ---- */

void front_node_params_free(struct front_node_params *params)
{
    switch ((int)params->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        free(params->kernel.attributes);
        free(params->kernel.param_block);
        free(params->kernel.param_values);
        break;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        free(params->values.ops);
        break;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        free(params->conditional.bodies);
        break;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        front_graph_memory_drop(params->alloc.memory);
        break;
    default:
        break;
    }
    *params = (struct front_node_params){.type = CU_GRAPH_NODE_TYPE_EMPTY};
}

CUresult front_node_params_copy(const struct front_node_params *from, struct front_node_params *to)
{
    CUresult rc = CUDA_SUCCESS;
    *to = *from;
    switch ((int)from->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        rc = kernel_copy(&from->kernel, &to->kernel);
        break;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        to->values.ops =
            copy_of(from->values.ops, from->values.count * sizeof *to->values.ops, &rc);
        break;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        to->conditional.bodies =
            copy_of(from->conditional.bodies,
                    from->conditional.count * sizeof *to->conditional.bodies, &rc);
        break;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        front_graph_memory_hold(to->alloc.memory);
        break;
    default:
        break;
    }
    if (rc != CUDA_SUCCESS) {
        front_node_params_free(to);
    }
    return rc;
}
