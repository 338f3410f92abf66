/* SPDX-License-Identifier: Apache-2.0 */
/* The table of api/driver_places.h: where objects lie, and objects at given values. */
#include "softgpu/calls/places.h"

#include "softgpu/calls/call.h"
#include "softgpu/engine/budget.h"
#include "softgpu/memory/heap.h"
#include "softgpu/memory/kept.h"
#include "softgpu/memory/vmm.h"
#include "softgpu/module/code.h"
#include "softgpu/module/kernel_heap.h"
#include "softgpu/module/module.h"
#include "softgpu/process/placement.h"
#include "softgpu/process/print.h"
#include "softgpu/stream/streams.h"

/* ---- modules */

/* Enters and finds the module; the lock is held on success. */
static CUresult places_module(void *handle, const void *out, const struct sg_module **module)
{
    CU_TRY(sg_enter_teardown());
    *module = ga_handle_table_find(&sg_process.modules, (uint64_t)(uintptr_t)handle);
    if (*module == NULL || out == NULL) {
        return sg_leave(*module == NULL ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE);
    }
    return CUDA_SUCCESS;
}

static int module_layout(void *handle, struct cuda_module_layout *layout)
{
    const struct sg_module *module;
    CU_TRY(places_module(handle, layout, &module));
    const struct sg_range *runtime = module->launcher_memory;
    layout->code_base = sg_program_code(module->code->program, &layout->code_bytes);
    layout->runtime_base = runtime != NULL ? runtime->span.base : 0;
    layout->runtime_bytes = runtime != NULL ? runtime->span.bytes : 0;
    layout->variable_count = sg_program_variable_count(module->code->program);
    return (int)sg_leave(CUDA_SUCCESS);
}

static enum cuda_variable_kind places_kind(const struct sg_variable *variable)
{
    if (variable->binding) {
        return CUDA_VARIABLE_BINDING;
    }
    if (variable->managed) {
        return CUDA_VARIABLE_MANAGED;
    }
    return variable->space == SG_SPACE_CONST ? CUDA_VARIABLE_CONSTANT : CUDA_VARIABLE_GLOBAL;
}

static int module_variable(void *handle, size_t index, struct cuda_module_variable *out)
{
    const struct sg_module *module;
    CU_TRY(places_module(handle, out, &module));
    if (index >= sg_program_variable_count(module->code->program)) {
        return (int)sg_leave(CUDA_ERROR_INVALID_VALUE);
    }
    const struct sg_variable *variable = sg_program_variable_at(module->code->program, index);
    const struct sg_range *range = module->variables[index];
    *out = (struct cuda_module_variable){.name = variable->name,
                                         .address = range != NULL ? range->span.base : 0,
                                         .bytes = range != NULL ? range->span.bytes : 0,
                                         .kind = places_kind(variable)};
    return (int)sg_leave(CUDA_SUCCESS);
}

static int module_drop(void *handle)
{
    CU_TRY(sg_enter_teardown());
    struct sg_module *module =
        ga_handle_table_find(&sg_process.modules, (uint64_t)(uintptr_t)handle);
    if (module == NULL || module->library != NULL) {
        return (int)sg_leave(module == NULL ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_NOT_PERMITTED);
    }
    sg_module_destroy(module);
    return (int)sg_leave(CUDA_SUCCESS);
}

/* ---- wishes of the thread */

static int module_place(const struct cuda_module_layout *layout)
{
    sg_placement_module(layout);
    return CUDA_SUCCESS;
}

static int object_place(uint64_t handle)
{
    sg_placement_object(handle);
    return CUDA_SUCCESS;
}

static int condition_place(uint64_t handle)
{
    sg_placement_condition(handle);
    return CUDA_SUCCESS;
}

static int memory_place(uint64_t address)
{
    sg_placement_memory(address);
    return CUDA_SUCCESS;
}

/* ---- kept places */

static int address_keep(uint64_t address)
{
    CU_TRY(sg_enter_teardown());
    return (int)sg_leave(sg_kept_begin(address));
}

static int address_release(uint64_t address)
{
    CU_TRY(sg_enter_teardown());
    sg_kept_end(address);
    return (int)sg_leave(CUDA_SUCCESS);
}

/* ---- contexts */

static uint64_t pending_items(const struct sg_context *context)
{
    uint64_t count = 0;
    ga_list_each (at, following, &context->streams) {
        const struct sg_stream *stream = ga_container(at, struct sg_stream, in_context);
        ga_list_each (item, next, &stream->items) {
            count++;
        }
    }
    return count;
}

/* Enters and finds the context; the lock is held on success. */
static CUresult places_context(void *handle, const void *argument, struct sg_context **context)
{
    CU_TRY(sg_enter_teardown());
    *context = sg_context_find(handle);
    if (*context == NULL || !(*context)->alive || argument == NULL) {
        return sg_leave(argument == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_CONTEXT);
    }
    return CUDA_SUCCESS;
}

static int heap_read(void *handle, struct cuda_kernel_heap *heap)
{
    struct sg_context *context;
    CU_TRY(places_context(handle, heap, &context));
    const struct sg_range *range = context->heap_range;
    size_t bytes = range != NULL ? sg_kernel_heap_record_bytes(context->heap) : 0;
    if (heap->records != NULL && heap->record_bytes != bytes) {
        return (int)sg_leave(CUDA_ERROR_INVALID_VALUE);
    }
    if (heap->records != NULL && range != NULL) {
        sg_kernel_heap_records(context->heap, heap->records);
    }
    heap->base = range != NULL ? range->span.base : 0;
    heap->bytes = range != NULL ? range->span.bytes : 0;
    heap->used = context->heap_used;
    heap->record_bytes = bytes;
    return (int)sg_leave(CUDA_SUCCESS);
}

static int heap_place(void *handle, const struct cuda_kernel_heap *heap)
{
    struct sg_context *context;
    CU_TRY(places_context(handle, heap, &context));
    if (heap->records == NULL || context->heap != NULL) {
        return (int)sg_leave(heap->records == NULL ? CUDA_ERROR_INVALID_VALUE
                                                   : CUDA_ERROR_ALREADY_ACQUIRED);
    }
    CUresult rc =
        sg_context_heap_place(context, heap->base, heap->bytes, heap->records, heap->record_bytes);
    context->heap_used = rc == CUDA_SUCCESS && heap->used;
    return (int)sg_leave(rc);
}

static int context_state(void *handle, struct cuda_context_state *state)
{
    struct sg_context *context;
    CU_TRY(places_context(handle, state, &context));
    *state = (struct cuda_context_state){.heap_used = context->heap_used,
                                         .output_pending = sg_print_pending(context->print),
                                         .pending = pending_items(context),
                                         .printed = context->printed};
    sg_kernel_heap_usage(context->heap, &state->heap_blocks, &state->heap_bytes);
    return (int)sg_leave(CUDA_SUCCESS);
}

static int context_prints(void *handle)
{
    struct sg_context *context;
    CU_TRY(places_context(handle, handle, &context));
    context->printed = true;
    return (int)sg_leave(CUDA_SUCCESS);
}

static int memory_held(int ordinal, uint64_t *bytes)
{
    struct sg_device *device;
    CU_TRY(sg_call_device(ordinal, &device));
    sg_lock();
    *bytes = sg_node_held(device->node) * SG_CHUNK_BYTES - sg_heap_spare(device) -
             sg_vmm_lingering(device);
    sg_unlock();
    return CUDA_SUCCESS;
}

static int host_held(uint64_t *bytes)
{
    *bytes = sg_budget_held();
    return CUDA_SUCCESS;
}

const struct cuda_driver_places sg_call_places = {.bytes = sizeof sg_call_places,
                                                  .module_layout = module_layout,
                                                  .module_variable = module_variable,
                                                  .module_place = module_place,
                                                  .object_place = object_place,
                                                  .condition_place = condition_place,
                                                  .memory_place = memory_place,
                                                  .address_keep = address_keep,
                                                  .address_release = address_release,
                                                  .heap_read = heap_read,
                                                  .heap_place = heap_place,
                                                  .context_state = context_state,
                                                  .context_prints = context_prints,
                                                  .memory_held = memory_held,
                                                  .host_held = host_held,
                                                  .module_drop = module_drop};
