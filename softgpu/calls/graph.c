/* SPDX-License-Identifier: Apache-2.0 */
/* Executable graphs, for front/, and the graph memory of devices. */
#include "front/front.h"
#include "softgpu/calls/call.h"
#include "softgpu/graph/graph.h"
#include "softgpu/graph/graph_condition.h"
#include "softgpu/graph/graph_memory.h"
#include "softgpu/graph/graph_run.h"
#include "softgpu/module/library.h"
#include "softgpu/module/module.h"
#include "softgpu/process/placement.h"
#include "softgpu/process/print.h"
#include "softgpu/stream/waits.h"

static CUresult call_graph_check(const struct front_node_params *params)
{
    struct sg_graph_what what;
    CUresult rc = sg_enter_process();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    if (front_node_touches(params, sg_graph_memory_holds)) {
        return sg_leave(CUDA_SUCCESS); /* memory need not be mapped yet */
    }
    rc = sg_graph_what_make(params, &what);
    if (rc == CUDA_SUCCESS) {
        sg_graph_what_drop(&what);
    }
    return sg_leave(rc);
}

static CUresult call_graph_function_context(CUfunction handle, CUcontext current,
                                            CUcontext *context, CUkernel *kernel)
{
    struct sg_function *function = NULL;
    CUresult rc = sg_enter_process();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct sg_context *found = sg_context_find(current);
    rc = found != NULL && found->alive ? sg_function_find(handle, found, &function)
                                       : CUDA_ERROR_INVALID_CONTEXT;
    if (rc == CUDA_SUCCESS) {
        const struct sg_module *module = function->module;
        *context = sg_context_handle(module->context);
        *kernel =
            module->library != NULL
                ? (CUkernel)(uintptr_t)module->library->kernels[function - module->functions].handle
                : NULL;
    }
    return sg_leave(rc);
}

static CUresult call_graph_condition_make(CUcontext handle, uint64_t graph, unsigned value,
                                          bool assigned, CUgraphConditionalHandle *made)
{
    uint64_t condition = 0, place = sg_placement_take_condition();
    (void)graph;
    CUresult rc = sg_enter_process();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct sg_context *context = sg_context_find(handle);
    rc = context != NULL && context->alive
             ? sg_condition_make(context, value, assigned, place, &condition)
             : CUDA_ERROR_INVALID_CONTEXT;
    *made = condition;
    return sg_leave(rc);
}

static void condition_drop(CUcontext context, uint64_t graph, CUgraphConditionalHandle handle)
{
    (void)context;
    (void)graph; /* the handle is an address of this process */
    sg_lock();
    struct sg_condition *condition = sg_condition_find(handle);
    if (condition != NULL) {
        sg_condition_drop(condition);
    }
    sg_unlock();
}

static CUresult memory_reserve(const CUDA_MEM_ALLOC_NODE_PARAMS_v1 *wanted, CUdeviceptr *address)
{
    CUresult rc = sg_enter_process();
    return rc == CUDA_SUCCESS ? sg_leave(sg_graph_memory_make(wanted, address)) : rc;
}

static void call_graph_memory_drop(CUdeviceptr address)
{
    sg_lock();
    sg_graph_memory_drop(sg_graph_memory_find(address));
    sg_unlock();
}

static CUresult call_graph_instantiate(const struct front_plan *plan, uint64_t flags, void **exec)
{
    struct sg_graph_exec *made = NULL;
    CUresult rc = sg_enter_process();
    if (rc == CUDA_SUCCESS) {
        rc = sg_leave(sg_graph_make(plan, flags, &made));
    }
    *exec = made;
    return rc;
}

static CUresult call_graph_exec_set(void *exec, unsigned number,
                                    const struct front_node_params *params)
{
    CUresult rc = sg_enter_process();
    return rc == CUDA_SUCCESS ? sg_leave(sg_graph_set(exec, number, params)) : rc;
}

static CUresult call_graph_exec_enable(void *exec, unsigned number, bool on)
{
    CUresult rc = sg_enter_process();
    return rc == CUDA_SUCCESS ? sg_leave(sg_graph_enable(exec, number, on)) : rc;
}

/* Everything is here already. */
static CUresult call_graph_upload(void *exec, CUstream handle)
{
    struct sg_stream *stream;
    (void)exec;
    CUresult rc = sg_enter_stream(handle, &stream);
    return rc == CUDA_SUCCESS ? sg_leave(CUDA_SUCCESS) : rc;
}

static CUresult call_graph_launch(void *exec, CUstream handle)
{
    struct sg_stream *stream;
    CU_TRY(sg_enter_stream(handle, &stream));
    sg_print_due(stream->context->print);
    return sg_leave(sg_graph_launch(exec, stream));
}

static void call_graph_exec_destroy(void *argument, void (*gone)(void *), void *data)
{
    struct sg_graph_exec *exec = argument;
    sg_lock();
    exec->gone = gone;
    exec->gone_data = data;
    bool last = sg_graph_drop(exec);
    sg_unlock();
    if (last) {
        gone(data);
    }
}

const struct front_graph_host front_graph_host = {
    .check = call_graph_check,
    .function_context = call_graph_function_context,
    .condition_make = call_graph_condition_make,
    .condition_drop = condition_drop,
    .memory_reserve = memory_reserve,
    .memory_drop = call_graph_memory_drop,
    .instantiate = call_graph_instantiate,
    .exec_set = call_graph_exec_set,
    .exec_enable = call_graph_exec_enable,
    .upload = call_graph_upload,
    .launch = call_graph_launch,
    .exec_destroy = call_graph_exec_destroy,
};

/* ---- the memory of graphs ---- */

static CUresult memory_enter(CUdevice ordinal, const void *value, struct sg_device **device)
{
    CUresult rc = sg_enter_process();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    rc = sg_call_device(ordinal, device);
    if (rc == CUDA_SUCCESS && value == NULL) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    return rc == CUDA_SUCCESS ? rc : sg_leave(rc);
}

CUresult CUDAAPI cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr,
                                              void *value)
{
    struct sg_device *found;
    CUresult rc = memory_enter(device, value, &found);
    return rc == CUDA_SUCCESS
               ? sg_leave(front_graph_account_get(sg_graph_memory_account(found), attr, value))
               : rc;
}

CUresult CUDAAPI cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr,
                                              void *value)
{
    struct sg_device *found;
    CUresult rc = memory_enter(device, value, &found);
    return rc == CUDA_SUCCESS ? sg_leave(front_graph_account_set(sg_graph_memory_account(found),
                                                                 attr, *(const cuuint64_t *)value))
                              : rc;
}

/* Memory that a launch has freed may be in use until the launch has run. */
CUresult CUDAAPI cuDeviceGraphMemTrim(CUdevice device)
{
    struct sg_device *found;
    CUresult rc = memory_enter(device, &device, &found);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    rc = sg_process_wait();
    if (rc == CUDA_SUCCESS) {
        sg_graph_memory_trim(found);
    }
    return sg_leave(rc);
}
