/* SPDX-License-Identifier: Apache-2.0 */
/* The table of functions that front/ calls in the library that it is part of. */
#include <string.h>

#include "client/call/stream_call.h"
#include "client/context/context.h"
#include "client/context/object.h"
#include "client/context/stream.h"
#include "client/memory/managed.h"
#include "client/memory/mempool.h"
#include "client/memory/pointer.h"
#include "client/memory/sync_memops.h"
#include "client/session/server_answers.h"
#include "client/session/server_devices.h"
#include "client/session/start.h"
#include "client/stream/green_context.h"
#include "client/stream/host_function.h"
#include "client/stream/stream_value.h"
#include "client/texture/array.h"
#include "client/texture/texture.h"
#include "front/front.h"

static CUresult device_count(int *count)
{
    *count = client_device_count;
    return CUDA_SUCCESS;
}

static CUresult process_state(void)
{
    return CUDA_SUCCESS; /* errors are those of a connection, and of the calls that use it */
}

static CUresult device_facts(CUdevice ordinal, struct front_device *facts)
{
    struct client_device *device;
    CU_TRY(client_device_find(ordinal, &device));
    facts->name = device->name;
    facts->memory_bytes = device->memory_bytes;
    memcpy(facts->uuid, device->uuid, sizeof facts->uuid);
    facts->traits = device->traits;
    facts->pci_domain = device->attributes[CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID];
    facts->pci_bus = device->attributes[CU_DEVICE_ATTRIBUTE_PCI_BUS_ID];
    facts->pci_device = device->attributes[CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID];
    return CUDA_SUCCESS;
}

static CUresult host_device_attribute(CUdevice ordinal, CUdevice_attribute attribute, int *value)
{
    struct client_device *device;
    CU_TRY(client_device_find(ordinal, &device));
    *value = attribute < CLIENT_ATTRIBUTES ? device->attributes[attribute] : 0;
    return CUDA_SUCCESS;
}

static CUresult context_check(CUcontext handle)
{
    struct client_context *context;
    return client_context_find(handle, &context);
}

static CUresult context_device(CUcontext handle, CUdevice *device)
{
    struct client_context *context;
    CU_TRY(client_context_find(handle, &context));
    *device = context->device->ordinal;
    return CUDA_SUCCESS;
}

static CUresult context_id(CUcontext handle, unsigned long long *id)
{
    struct client_context *context;
    CU_TRY(client_context_find(handle, &context));
    *id = context->id;
    return CUDA_SUCCESS;
}

/* The version that drivers report for contexts of every version of cuCtxCreate. */
static CUresult context_api_version(CUcontext handle, unsigned int *version)
{
    struct client_context *context;
    CU_TRY(client_context_find(handle, &context));
    *version = 3020;
    return CUDA_SUCCESS;
}

static CUresult stream_id(CUcontext handle, CUstream stream, unsigned long long *id)
{
    struct client_context *context;
    struct client_stream *found;
    uint64_t wire;
    CU_TRY(client_context_find(handle, &context));
    if (!atomic_load(&context->active)) {
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    }
    CU_TRY(client_stream_find(context, stream, &found, &wire));
    *id = client_stream_id(context, found);
    return CUDA_SUCCESS;
}

static CUresult stream_facts(CUstream handle, struct front_stream_facts *facts)
{
    unsigned flags = 0;
    CUresult rc = cuStreamGetCtx(handle, &facts->context);
    if (rc == CUDA_SUCCESS) {
        rc = cuStreamGetFlags(handle, &flags);
    }
    facts->blocking = (flags & CU_STREAM_NON_BLOCKING) == 0;
    return rc;
}

static CUresult event_context(CUevent handle, CUcontext *context)
{
    const struct client_object *object =
        client_object_find(GA_HANDLE_EVENT, (uint64_t)(uintptr_t)handle);
    const struct client_context *found = object != NULL ? object->context : NULL;
    if (found == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    *context = (CUcontext)(uintptr_t)found->object.handle;
    return CUDA_SUCCESS;
}

static CUresult module_try(const void *image, unsigned option_count, CUjit_option *options,
                           void **values)
{
    CUmodule module;
    CU_TRY(cuModuleLoadDataEx(&module, image, option_count, options, values));
    return cuModuleUnload(module);
}

/* Servers report only whether there is access. Atomics count as not supported. */
static int peer_attribute(CUdevice device, CUdevice peer, CUdevice_P2PAttribute attribute)
{
    const struct client_device *one = client_devices[device], *other = client_devices[peer];
    return attribute == CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED && one->server == other->server &&
           other->index < 64 && (one->peers >> other->index & 1) != 0;
}

const struct front_host front_host = {
    .servers = &client_server_answers_table,
    .init = client_start,
    .device_count = device_count,
    .process_state = process_state,
    .device = device_facts,
    .device_attribute = host_device_attribute,
    .peer_attribute = peer_attribute,
    .primary_context = client_primary_handle,
    .context_check = context_check,
    .context_device = context_device,
    .context_id = context_id,
    .context_api_version = context_api_version,
    .stream_id = stream_id,
    .stream = stream_facts,
    .event_context = event_context,
    .green_make = client_green_make,
    .green_end = client_green_end,
    .stream_values = client_stream_values,
    .host_call = client_host_submit,
    .mempool = &client_mempool,
    .pointer = client_pointer,
    .sync_memops = client_sync_memops_set,
    .settles = client_settles,
    .managed_move = client_managed_move,
    .managed_attach = client_managed_attach,
    .array = client_array_shape,
    .sampled = client_sampled_of,
    .module_function_count = cuModuleGetFunctionCount,
    .module_functions = cuModuleEnumerateFunctions,
    .module_try = module_try,
};
