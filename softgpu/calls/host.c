/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that front/ calls (struct front_host). */
#include <string.h>

#include "api/driver_open.h"
#include "base/clock.h"
#include "front/front.h"
#include "softgpu/calls/array.h"
#include "softgpu/calls/call.h"
#include "softgpu/calls/green.h"
#include "softgpu/calls/host_function.h"
#include "softgpu/calls/ipc.h"
#include "softgpu/calls/load.h"
#include "softgpu/calls/managed.h"
#include "softgpu/calls/mempool.h"
#include "softgpu/calls/places.h"
#include "softgpu/calls/pointer.h"
#include "softgpu/calls/stream.h"
#include "softgpu/calls/texture.h"
#include "softgpu/lifetime/init.h"
#include "softgpu/module/code.h"
#include "softgpu/process/attributes.h"
#include "softgpu/stream/events.h"
#include "softgpu/stream/green.h"
#include "softgpu/stream/streams.h"

static CUresult host_device_count(int *count)
{
    *count = (int)sg_process.device_count;
    return CUDA_SUCCESS;
}

static CUresult host_device(CUdevice ordinal, struct front_device *facts)
{
    struct sg_device *device;
    CUresult rc = sg_call_device(ordinal, &device);
    if (rc == CUDA_SUCCESS) {
        *facts = (struct front_device){.name = device->config.name,
                                       .memory_bytes = device->memory.total * SG_CHUNK_BYTES,
                                       .pci_bus = sg_device_pci_bus(device),
                                       .traits = CUDA_DEVICE_PTX_ONLY | CUDA_DEVICE_AFFINITY};
        memcpy(facts->uuid, device->config.uuid, sizeof facts->uuid);
    }
    return rc;
}

static CUresult host_device_attribute(CUdevice ordinal, CUdevice_attribute attribute, int *value)
{
    struct sg_device *device;
    CUresult rc = sg_call_device(ordinal, &device);
    return rc == CUDA_SUCCESS ? sg_device_attribute(device, attribute, value) : rc;
}

static CUresult host_primary_context(CUdevice ordinal, CUcontext *context)
{
    struct sg_device *device;
    CUresult rc = sg_call_device(ordinal, &device);
    if (rc == CUDA_SUCCESS) {
        *context = sg_context_handle(device->primary);
    }
    return rc;
}

/* Finds a context that is alive or primary, and copies the requested parts of it. */
static CUresult host_context(CUcontext handle, struct sg_context *copy)
{
    CU_TRY(sg_enter_teardown());
    struct sg_context *found = sg_context_find(handle);
    if (found == NULL || (!found->alive && !found->primary)) {
        return sg_leave(CUDA_ERROR_INVALID_CONTEXT);
    }
    *copy = *found;
    return sg_leave(CUDA_SUCCESS);
}

static CUresult host_context_check(CUcontext handle)
{
    struct sg_context copy;
    return host_context(handle, &copy);
}

static CUresult host_context_device(CUcontext handle, CUdevice *device)
{
    struct sg_context copy;
    CUresult rc = host_context(handle, &copy);
    if (rc == CUDA_SUCCESS) {
        *device = (CUdevice)copy.device->ordinal;
    }
    return rc;
}

static CUresult host_context_id(CUcontext handle, unsigned long long *id)
{
    struct sg_context copy;
    CUresult rc = host_context(handle, &copy);
    if (rc == CUDA_SUCCESS) {
        *id = copy.id;
    }
    return rc;
}

static CUresult host_context_api_version(CUcontext handle, unsigned int *version)
{
    struct sg_context copy;
    CUresult rc = host_context(handle, &copy);
    if (rc == CUDA_SUCCESS) {
        *version = copy.api_version;
    }
    return rc;
}

static CUresult host_stream_id(CUcontext handle, CUstream stream, unsigned long long *id)
{
    CUresult rc = sg_enter_process();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct sg_context *context = sg_context_find(handle);
    if (context == NULL || !context->alive) {
        return sg_leave(CUDA_ERROR_CONTEXT_IS_DESTROYED);
    }
    struct sg_stream *found;
    rc = sg_call_stream(context, stream, &found);
    if (rc == CUDA_SUCCESS) {
        *id = found->id;
    }
    return sg_leave(rc);
}

static CUresult host_stream(CUstream handle, struct front_stream_facts *facts)
{
    struct sg_stream *stream;
    CU_TRY(sg_enter_stream(handle, &stream));
    facts->context = sg_stream_context(stream);
    facts->blocking = (stream->flags & CU_STREAM_NON_BLOCKING) == 0;
    return sg_leave(CUDA_SUCCESS);
}

static CUresult host_event_context(CUevent handle, CUcontext *context)
{
    struct sg_event *event;
    CUresult rc = sg_enter_process();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    rc = sg_call_event(handle, &event);
    if (rc == CUDA_SUCCESS) {
        *context = sg_context_handle(event->context);
    }
    return sg_leave(rc);
}

static CUresult host_module_try(const void *image, unsigned option_count, CUjit_option *options,
                                void **values)
{
    struct sg_code *code = NULL;
    CUresult rc = sg_load_image(image, option_count, options, values, 0, &code);
    if (rc == CUDA_SUCCESS) {
        sg_lock();
        sg_code_drop(code);
        sg_unlock();
    }
    return rc;
}

/* The memory of all devices is host memory. Textures in arrays of another device are untested. */
static int host_peer_attribute(CUdevice device, CUdevice peer, CUdevice_P2PAttribute attribute)
{
    (void)device, (void)peer;
    return attribute == CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED ||
           attribute == CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED;
}

static CUresult host_kernel_limit(CUcontext handle, uint64_t ms)
{
    sg_lock();
    struct sg_context *context = sg_context_find(handle);
    if (context != NULL) {
        atomic_store(&context->kernel_limit_ns,
                     ms < UINT64_MAX / GA_NS_PER_MS ? ms * GA_NS_PER_MS : 0);
    }
    sg_unlock();
    return context != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

const struct front_host front_host = {
    .places = &sg_call_places,
    .kernel_limit = host_kernel_limit,
    .event_export = sg_call_event_export,
    .event_import = sg_call_event_import,
    .init = sg_process_init,
    .device_count = host_device_count,
    .process_state = sg_process_state,
    .device = host_device,
    .device_attribute = host_device_attribute,
    .peer_attribute = host_peer_attribute,
    .primary_context = host_primary_context,
    .context_check = host_context_check,
    .context_device = host_context_device,
    .context_id = host_context_id,
    .context_api_version = host_context_api_version,
    .stream_id = host_stream_id,
    .stream = host_stream,
    .event_context = host_event_context,
    .green_make = sg_call_green_make,
    .green_end = sg_call_green_end,
    .stream_values = sg_call_stream_values,
    .host_call = sg_call_host_function,
    .mempool = &sg_call_mempool,
    .pointer = sg_call_pointer,
    .sync_memops = sg_call_sync_memops,
    .settles = sg_call_settles,
    .managed_move = sg_call_managed_move,
    .managed_attach = sg_call_managed_attach,
    .array = sg_call_array,
    .sampled = sg_call_sampled,
    .module_function_count = cuModuleGetFunctionCount,
    .module_functions = cuModuleEnumerateFunctions,
    .module_try = host_module_try,
};
