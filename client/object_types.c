/* SPDX-License-Identifier: Apache-2.0 */
/* The types of objects, each of which is defined where its objects are made. */
#include "client/context/context.h"
#include "client/context/event.h"
#include "client/context/object.h"
#include "client/context/stream.h"
#include "client/graph/graph.h"
#include "client/memory/vmm.h"
#include "client/module/library.h"
#include "client/module/module.h"
#include "client/texture/array.h"
#include "client/texture/texture.h"

const struct client_object_type *const client_object_types[GA_HANDLE_TYPES] = {
    [GA_HANDLE_CONTEXT] = &client_context_type,   [GA_HANDLE_STREAM] = &client_stream_type,
    [GA_HANDLE_EVENT] = &client_event_type,       [GA_HANDLE_MODULE] = &client_module_type,
    [GA_HANDLE_FUNCTION] = &client_function_type, [GA_HANDLE_LIBRARY] = &client_library_type,
    [GA_HANDLE_KERNEL] = &client_kernel_type,     [GA_HANDLE_ARRAY] = &client_array_type,
    [GA_HANDLE_MIPMAP] = &client_mipmap_type,     [GA_HANDLE_TEXTURE] = &client_sampled_type,
    [GA_HANDLE_EXEC] = &client_exec_type,         [GA_HANDLE_PHYSICAL] = &client_physical_type,
};
