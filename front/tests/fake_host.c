/* Answers only what front/ asks. */
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

const struct front_host front_host = {
    .init = init,
    .device_count = device_count,
    .process_state = process_state,
    .device = device,
    .device_attribute = device_attribute,
    .primary_context = primary_context,
    .context_check = context_check,
    .context_device = context_device,
    .context_id = context_id,
    .context_api_version = context_api_version,
    .stream_id = stream_id,
    .stream_values = stream_values,
    .host_call = host_call,
    .pointer = pointer,
    .array = array,
    .sampled = sampled,
    .module_function_count = module_function_count,
    .module_functions = module_functions,
    .module_try = module_try,
};
