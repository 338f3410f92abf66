/* SPDX-License-Identifier: Apache-2.0 */
/* What calls leave to be done on a GPU. */
#include "api/calls.h"
#include "client/call/call.h"

enum client_work client_work_of(const struct client_call *call)
{
    if (call->lends) {
        return WORK_LASTING;
    }
    switch (call->op) {
    case API_OP_ga_event_query:
    case API_OP_ga_event_watch:
    case API_OP_ga_event_synchronize:
    case API_OP_ga_stream_query:
    case API_OP_ga_stream_synchronize:
    case API_OP_ga_context_synchronize:
    case API_OP_ga_memory_map:
    case API_OP_ga_memory_unmap:
    case API_OP_ga_memory_info:
    case API_OP_ga_memory_reclaim:
    case API_OP_ga_memory_trimmed:
    case API_OP_cuEventCreate:
    case API_OP_cuEventDestroy_v2:
    case API_OP_cuEventElapsedTime_v2:
        return WORK_NONE;
    case API_OP_ga_memory_allocate:
    case API_OP_ga_space_map:
    case API_OP_ga_physical_create:
    case API_OP_ga_physical_map:
    case API_OP_ga_array_create:
    case API_OP_ga_mipmap_create:
    case API_OP_ga_array_level:
    case API_OP_ga_texture_create:
    case API_OP_ga_surface_create:
    case API_OP_ga_shared_buffer_open:
    case API_OP_ga_shared_buffer_reach:
    case API_OP_ga_bulk_open:
    case API_OP_ga_bulk_use:
    case API_OP_ga_module_load:
    case API_OP_ga_module_function:
    case API_OP_ga_module_global:
    case API_OP_ga_module_list:
    case API_OP_ga_module_names:
    case API_OP_ga_module_facts:
    case API_OP_cuFuncSetAttribute:
    case API_OP_cuStreamCreate:
    case API_OP_cuStreamCreateWithPriority:
    case API_OP_ga_shared_buffer_in:
    case API_OP_ga_copy_in:
    case API_OP_ga_copy_in_2d:
    case API_OP_ga_copy_in_array:
    case API_OP_ga_copy_2d:
    case API_OP_cuMemcpyDtoD_v2:
    case API_OP_cuMemcpyDtoDAsync_v2:
    case API_OP_cuMemsetD8Async:
    case API_OP_cuMemsetD16Async:
    case API_OP_cuMemsetD32Async:
    case API_OP_cuMemsetD2D8Async:
    case API_OP_cuMemsetD2D16Async:
    case API_OP_cuMemsetD2D32Async:
        return WORK_SHORT;
    default:
        return WORK_LASTING;
    }
}
