/* SPDX-License-Identifier: Apache-2.0 */
/* The fake host: implements only what front/ calls. */
#include "front/tests/fake_host.h"

#include "api/image.h"

#include <string.h>

int fake_init_failures;
int fake_init_calls;

static CUresult init(void)
{
    fake_init_calls++;
    return fake_init_failures-- > 0 ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}

static CUresult device_count(int *count)
{
    *count = 2;
    return CUDA_SUCCESS;
}

static CUresult process_state(void)
{
    return CUDA_SUCCESS;
}

static CUresult device(CUdevice ordinal, struct front_device *out)
{
    if (ordinal < 0 || ordinal > 1) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    out->name = "fake";
    out->memory_bytes = 1000;
    for (size_t i = 0; i < sizeof out->uuid; i++) {
        out->uuid[i] = (uint8_t)(16 * ordinal + (int)i);
    }
    out->traits = 0;
    out->pci_domain = ordinal;
    out->pci_bus = 65 + ordinal;
    out->pci_device = 3;
    return CUDA_SUCCESS;
}

static CUresult device_attribute(CUdevice ordinal, CUdevice_attribute attribute, int *value)
{
    *value = 1000 * ordinal + (int)attribute;
    return CUDA_SUCCESS;
}

static int peer_attribute(CUdevice device, CUdevice peer, CUdevice_P2PAttribute attribute)
{
    return device == 0 && peer == 1 && attribute == CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED;
}

static CUresult primary_context(CUdevice device, CUcontext *context)
{
    if (device < 0 || device > 1) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    *context = FAKE_PRIMARY(device);
    return CUDA_SUCCESS;
}

static CUresult context_check(CUcontext context)
{
    bool known = context == FAKE_PRIMARY(0) || context == FAKE_PRIMARY(1) ||
                 context == FAKE_EXPLICIT || context == FAKE_OTHER;
    return known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

static CUresult context_device(CUcontext context, CUdevice *device)
{
    *device = context == FAKE_PRIMARY(0) ? 0 : 1;
    return CUDA_SUCCESS;
}

static CUresult context_id(CUcontext context, unsigned long long *id)
{
    *id = (uintptr_t)context * 10;
    return CUDA_SUCCESS;
}

static CUresult context_api_version(CUcontext context, unsigned int *version)
{
    (void)context;
    *version = 3020;
    return CUDA_SUCCESS;
}

static CUresult stream_id(CUcontext context, CUstream stream, unsigned long long *id)
{
    *id = (uintptr_t)context << 16 | ((uintptr_t)stream + 1);
    return CUDA_SUCCESS;
}

static CUresult stream(CUstream handle, struct front_stream_facts *facts)
{
    uintptr_t number = (uintptr_t)handle - (uintptr_t)FAKE_STREAM(0);
    if (number >= 32) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    *facts = (struct front_stream_facts){.context = number < 16 ? FAKE_EXPLICIT : FAKE_OTHER,
                                         .blocking = number % 16 < 8};
    return CUDA_SUCCESS;
}

static CUresult event_context(CUevent event, CUcontext *context)
{
    uintptr_t number = (uintptr_t)event - (uintptr_t)FAKE_EVENT(0);
    if (number >= 32) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    *context = number < 16 ? FAKE_EXPLICIT : FAKE_OTHER;
    return CUDA_SUCCESS;
}

struct front_value fake_values[256];
unsigned fake_value_count;

static CUresult stream_values(CUstream stream, const struct front_value *values, unsigned count)
{
    (void)stream;
    memcpy(fake_values, values, count * sizeof *values);
    fake_value_count = count;
    return CUDA_SUCCESS;
}

struct front_host_call fake_host_call;

static CUresult host_call(CUstream stream, const struct front_host_call *call)
{
    (void)stream;
    fake_host_call = *call;
    return CUDA_SUCCESS;
}

static bool pointer(uint64_t address, struct front_pointer *out)
{
    if (address < 0x10000 || address >= 0x20000) {
        return false;
    }
    *out = (struct front_pointer){.device = true,
                                  .on_device = true,
                                  .managed = true,
                                  .context = FAKE_EXPLICIT,
                                  .ordinal = 1,
                                  .start = 0x10000,
                                  .bytes = 0x10000,
                                  .id = 5};
    return true;
}

/* Handle 0x10 is an array of 64 floats, 0x20 one of 64 x 32; 0x30 is a mipmapped array. */
static CUresult array(uint64_t handle, bool mipmapped, struct front_array *out)
{
    if (handle != (mipmapped ? 0x30 : 0x10) && (mipmapped || handle != 0x20)) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    *out = (struct front_array){.shape = {.Width = 64,
                                          .Height = handle == 0x10 ? 0 : 32,
                                          .Format = CU_AD_FORMAT_FLOAT,
                                          .NumChannels = 1},
                                .levels = mipmapped ? 2 : 0,
                                .element = 4};
    return CUDA_SUCCESS;
}

static CUresult sampled(uint64_t handle, bool surface, struct front_sampled *out)
{
    if (handle != 0x40) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *out = (struct front_sampled){.surface = surface};
    return CUDA_SUCCESS;
}

static CUresult module_function_count(unsigned int *count, CUmodule module)
{
    *count = (unsigned int)(uintptr_t)module;
    return CUDA_SUCCESS;
}

static CUresult module_try(const void *image, unsigned option_count, CUjit_option *options,
                           void **values)
{
    (void)option_count, (void)options, (void)values;
    struct api_image opened;
    return api_image_open(image, API_IMAGE_UNBOUNDED, &opened) == GA_OK ? CUDA_SUCCESS
                                                                        : CUDA_ERROR_INVALID_IMAGE;
}

static CUresult module_functions(CUfunction *functions, unsigned int capacity, CUmodule module)
{
    (void)module;
    for (unsigned int i = 0; i < capacity; i++) {
        functions[i] = (CUfunction)(uintptr_t)(0x100 + i);
    }
    return CUDA_SUCCESS;
}

/* ---- memory pools: marks are numbers, addresses are never used twice */

uint64_t fake_pool_bytes, fake_pool_most = UINT64_MAX;
uintptr_t fake_pool_marks, fake_pool_passed, fake_pool_askable;
unsigned fake_pool_waits;

static CUresult pool_enter(void)
{
    return CUDA_SUCCESS;
}

static void pool_leave(void)
{
}

static CUresult pool_map(CUdevice device, uint64_t bytes, uint64_t *address)
{
    static uint64_t next = UINT64_C(1) << 40;
    (void)device;
    if (bytes > fake_pool_most - fake_pool_bytes) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *address = next;
    next += bytes;
    fake_pool_bytes += bytes;
    return CUDA_SUCCESS;
}

static void pool_unmap(CUdevice device, uint64_t address, uint64_t bytes)
{
    (void)device, (void)address;
    fake_pool_bytes -= bytes;
}

static void *pool_mark(const struct front_stream *stream)
{
    (void)stream;
    return (void *)++fake_pool_marks;
}

static bool pool_passed(const void *mark)
{
    return (uintptr_t)mark <= fake_pool_passed;
}

static bool pool_ask(const void *mark)
{
    return (uintptr_t)mark <= fake_pool_askable;
}

static CUresult pool_wait(const struct front_stream *stream, void *mark)
{
    (void)stream, (void)mark;
    fake_pool_waits++;
    return CUDA_SUCCESS;
}

static void pool_drop(void *mark)
{
    (void)mark;
}

static const struct front_mempool_host mempool = {
    .enter = pool_enter,
    .leave = pool_leave,
    .map = pool_map,
    .unmap = pool_unmap,
    .mark = pool_mark,
    .passed = pool_passed,
    .ask = pool_ask,
    .wait = pool_wait,
    .drop = pool_drop,
};

static CUresult managed_move(CUstream stream, uint64_t start, uint64_t bytes, bool device)
{
    (void)stream, (void)start, (void)bytes, (void)device;
    return CUDA_SUCCESS;
}

static CUresult managed_attach(CUstream stream, uint64_t start, unsigned flags)
{
    (void)stream, (void)start, (void)flags;
    return CUDA_SUCCESS;
}

static CUresult sync_memops(uint64_t address, bool on)
{
    (void)address, (void)on;
    return CUDA_SUCCESS;
}

static bool settles(uint64_t address, bool written)
{
    (void)address, (void)written;
    return false;
}

const struct front_host front_host = {
    .init = init,
    .device_count = device_count,
    .process_state = process_state,
    .device = device,
    .device_attribute = device_attribute,
    .peer_attribute = peer_attribute,
    .primary_context = primary_context,
    .context_check = context_check,
    .context_device = context_device,
    .context_id = context_id,
    .context_api_version = context_api_version,
    .stream_id = stream_id,
    .stream = stream,
    .event_context = event_context,
    .stream_values = stream_values,
    .host_call = host_call,
    .mempool = &mempool,
    .pointer = pointer,
    .sync_memops = sync_memops,
    .settles = settles,
    .managed_move = managed_move,
    .managed_attach = managed_attach,
    .array = array,
    .sampled = sampled,
    .module_function_count = module_function_count,
    .module_functions = module_functions,
    .module_try = module_try,
};

/* ---- executables: requests are counted, nothing is executed ---- */

const struct front_plan *fake_plan;
unsigned fake_sets, fake_set_number;
int fake_conditions;
uint64_t fake_condition_graph;

static CUresult graph_check(const struct front_node_params *params)
{
    (void)params;
    return CUDA_SUCCESS;
}

static CUresult function_context(CUfunction function, CUcontext current, CUcontext *context,
                                 CUkernel *kernel)
{
    *context = current;
    *kernel = NULL;
    return function == FAKE_FUNCTION ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult condition_make(CUcontext context, uint64_t graph, unsigned value, bool assigned,
                               CUgraphConditionalHandle *handle)
{
    (void)context, (void)value, (void)assigned;
    fake_condition_graph = graph;
    *handle = 0x500 + (CUgraphConditionalHandle)fake_conditions++;
    return CUDA_SUCCESS;
}

static void condition_drop(CUcontext context, uint64_t graph, CUgraphConditionalHandle handle)
{
    (void)context, (void)graph, (void)handle;
    fake_conditions--;
}

static CUresult memory_reserve(const CUDA_MEM_ALLOC_NODE_PARAMS_v1 *wanted, CUdeviceptr *address)
{
    (void)wanted;
    *address = 0x10000;
    return CUDA_SUCCESS;
}

static void memory_drop(CUdeviceptr address)
{
    (void)address;
}

static CUresult instantiate(const struct front_plan *plan, uint64_t flags, void **exec)
{
    (void)flags;
    fake_plan = plan;
    *exec = &fake_plan;
    return CUDA_SUCCESS;
}

static CUresult exec_set(void *exec, unsigned number, const struct front_node_params *params)
{
    (void)exec, (void)params;
    fake_sets++;
    fake_set_number = number;
    return CUDA_SUCCESS;
}

static CUresult exec_enable(void *exec, unsigned number, bool on)
{
    (void)exec, (void)number, (void)on;
    return CUDA_SUCCESS;
}

static CUresult graph_launch(void *exec, CUstream stream)
{
    (void)exec, (void)stream;
    return CUDA_SUCCESS;
}

static void exec_destroy(void *exec, void (*gone)(void *), void *data)
{
    (void)exec;
    gone(data);
}

const struct front_graph_host front_graph_host = {
    .check = graph_check,
    .function_context = function_context,
    .condition_make = condition_make,
    .condition_drop = condition_drop,
    .memory_reserve = memory_reserve,
    .memory_drop = memory_drop,
    .instantiate = instantiate,
    .exec_set = exec_set,
    .exec_enable = exec_enable,
    .upload = graph_launch,
    .launch = graph_launch,
    .exec_destroy = exec_destroy,
};
