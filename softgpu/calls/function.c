/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of functions and of kernels: the same attributes under two names. */
#include "softgpu/calls/call.h"
#include "softgpu/module/library.h"
#include "softgpu/module/occupancy.h"
#include "softgpu/process/attributes.h"

/* The object of an attribute call: a function, or a kernel on a device. */
struct subject {
    const struct sg_kernel *kernel;
    struct sg_kernel_settings *settings;
    const struct sg_capability *capability; /* of the device */
};

static CUresult call_function_attribute_get(const struct subject *subject,
                                            CUfunction_attribute attribute, int *value)
{
    const struct sg_kernel *kernel = subject->kernel;
    switch ((int)attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = (int)sg_occupancy_threads_max(kernel);
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
        *value = (int)sg_shared_static(kernel);
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
        *value = (int)kernel->const_bytes;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
        *value = (int)kernel->local_bytes;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
        *value = (int)kernel->registers;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION: /* the virtual architecture, not the version of PTX ISA */
        *value = (int)kernel->sm;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
        *value = (int)subject->capability->number;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = (int)sg_dynamic_shared_max(kernel, subject->settings);
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        *value = subject->settings->carveout;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
        *value = kernel->explicit_cluster;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
        *value = (int)kernel->cluster[attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH];
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
        *value = subject->settings->non_portable_cluster;
        return CUDA_SUCCESS;
    default:
        if ((int)attribute < 0 || attribute >= CU_FUNC_ATTRIBUTE_MAX) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        *value = 0;
        return CUDA_SUCCESS;
    }
}

static CUresult call_function_attribute_set(const struct subject *subject,
                                            CUfunction_attribute attribute, int value)
{
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
        if (value < 0 || (uint64_t)value + sg_shared_static(subject->kernel) >
                             subject->capability->shared_block_optin) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        subject->settings->dynamic_shared_max = value;
        return CUDA_SUCCESS;
    }
    if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) {
        if (value < -1 || value > 100) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        subject->settings->carveout = value;
        return CUDA_SUCCESS;
    }
    if (attribute == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED &&
        subject->capability->number >= 90 && (value == 0 || value == 1)) {
        subject->settings->non_portable_cluster = value == 1;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

static CUresult call_function_param_info(const struct sg_kernel *kernel, size_t index,
                                         size_t *offset, size_t *size)
{
    if (index >= kernel->param_count || offset == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *offset = kernel->params[index].offset;
    if (size != NULL) {
        *size = kernel->params[index].size;
    }
    return CUDA_SUCCESS;
}

static bool cache_known(CUfunc_cache config)
{
    return (int)config >= CU_FUNC_CACHE_PREFER_NONE && config <= CU_FUNC_CACHE_PREFER_EQUAL;
}

/* ---- functions ---- */

/* Enters and finds the function; the lock is held on success. */
static CUresult function_enter(CUfunction handle, struct sg_function **function)
{
    struct sg_context *context;
    CUresult rc = sg_enter(&context);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    rc = sg_function_find(handle, context, function);
    return rc == CUDA_SUCCESS ? rc : sg_leave(rc);
}

static struct subject function_subject(struct sg_function *function)
{
    return (struct subject){.kernel = function->kernel,
                            .settings = function->settings,
                            .capability = sg_device_capability(function->module->context->device)};
}

CUresult CUDAAPI cuFuncGetAttribute(int *pi, CUfunction_attribute attrib, CUfunction hfunc)
{
    struct sg_function *function;
    CU_TRY(function_enter(hfunc, &function));
    struct subject subject = function_subject(function);
    return sg_leave(pi == NULL ? CUDA_ERROR_INVALID_VALUE
                               : call_function_attribute_get(&subject, attrib, pi));
}

CUresult CUDAAPI cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value)
{
    struct sg_function *function;
    CU_TRY(function_enter(hfunc, &function));
    struct subject subject = function_subject(function);
    return sg_leave(call_function_attribute_set(&subject, attrib, value));
}

CUresult CUDAAPI cuFuncSetCacheConfig(CUfunction hfunc, CUfunc_cache config)
{
    struct sg_function *function;
    CU_TRY(function_enter(hfunc, &function));
    if (!cache_known(config)) {
        return sg_leave(CUDA_ERROR_INVALID_VALUE);
    }
    function->settings->cache = config;
    return sg_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuFuncSetSharedMemConfig(CUfunction hfunc, CUsharedconfig config)
{
    struct sg_function *function;
    CU_TRY(function_enter(hfunc, &function));
    bool known = (int)config >= CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE &&
                 config <= CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE;
    return sg_leave(known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult CUDAAPI cuFuncGetModule(CUmodule *hmod, CUfunction hfunc)
{
    struct sg_function *function;
    CU_TRY(function_enter(hfunc, &function));
    if (hmod == NULL) {
        return sg_leave(CUDA_ERROR_INVALID_VALUE);
    }
    *hmod = (CUmodule)(uintptr_t)function->module->handle;
    return sg_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuFuncGetName(const char **name, CUfunction hfunc)
{
    struct sg_function *function;
    CU_TRY(function_enter(hfunc, &function));
    if (name == NULL) {
        return sg_leave(CUDA_ERROR_INVALID_VALUE);
    }
    *name = function->kernel->name;
    return sg_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuFuncGetParamInfo(CUfunction func, size_t paramIndex, size_t *paramOffset,
                                    size_t *paramSize)
{
    struct sg_function *function;
    CU_TRY(function_enter(func, &function));
    return sg_leave(call_function_param_info(function->kernel, paramIndex, paramOffset, paramSize));
}

/* Functions are always loaded: with their module. */
CUresult CUDAAPI cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction function)
{
    struct sg_function *found;
    CU_TRY(function_enter(function, &found));
    if (state == NULL) {
        return sg_leave(CUDA_ERROR_INVALID_VALUE);
    }
    *state = CU_FUNCTION_LOADING_STATE_LOADED;
    return sg_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuFuncLoad(CUfunction function)
{
    struct sg_function *found;
    CUresult rc = function_enter(function, &found);
    return rc == CUDA_SUCCESS ? sg_leave(CUDA_SUCCESS) : rc;
}

/* ---- kernels ---- */

/* Enters and finds the kernel's settings on the device; the lock is held on success. */
static CUresult kernel_enter(CUkernel handle, CUdevice dev, struct subject *subject)
{
    struct sg_device *device;
    CUresult rc = sg_enter_process();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct sg_library_kernel *kernel = sg_library_kernel_find(handle);
    rc = kernel == NULL ? CUDA_ERROR_INVALID_HANDLE : sg_call_device(dev, &device);
    if (rc != CUDA_SUCCESS) {
        return sg_leave(rc);
    }
    *subject = (struct subject){.kernel = kernel->kernel,
                                .settings = &kernel->settings[device->ordinal],
                                .capability = sg_device_capability(device)};
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuKernelGetAttribute(int *pi, CUfunction_attribute attrib, CUkernel kernel,
                                      CUdevice dev)
{
    struct subject subject;
    CU_TRY(kernel_enter(kernel, dev, &subject));
    return sg_leave(pi == NULL ? CUDA_ERROR_INVALID_VALUE
                               : call_function_attribute_get(&subject, attrib, pi));
}

CUresult CUDAAPI cuKernelSetAttribute(CUfunction_attribute attrib, int val, CUkernel kernel,
                                      CUdevice dev)
{
    struct subject subject;
    CUresult rc = kernel_enter(kernel, dev, &subject);
    return rc == CUDA_SUCCESS ? sg_leave(call_function_attribute_set(&subject, attrib, val)) : rc;
}

CUresult CUDAAPI cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice dev)
{
    struct subject subject;
    CU_TRY(kernel_enter(kernel, dev, &subject));
    if (!cache_known(config)) {
        return sg_leave(CUDA_ERROR_INVALID_VALUE);
    }
    subject.settings->cache = config;
    return sg_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuKernelGetName(const char **name, CUkernel hfunc)
{
    struct subject subject;
    CU_TRY(kernel_enter(hfunc, 0, &subject));
    if (name == NULL) {
        return sg_leave(CUDA_ERROR_INVALID_VALUE);
    }
    *name = subject.kernel->name;
    return sg_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuKernelGetParamInfo(CUkernel kernel, size_t paramIndex, size_t *paramOffset,
                                      size_t *paramSize)
{
    struct subject subject;
    CU_TRY(kernel_enter(kernel, 0, &subject));
    return sg_leave(call_function_param_info(subject.kernel, paramIndex, paramOffset, paramSize));
}
