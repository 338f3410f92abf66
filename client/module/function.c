/* SPDX-License-Identifier: Apache-2.0 */
/* Functions and kernels: facts are asked once, with the function, and answered from here. A
 * CUkernel is taken wherever a CUfunction is: it means its function in the current context. */
#include "client/module/function.h"

#include "api/calls.h"
#include "api/client_calls.h"
#include "client/call/call.h"
#include "client/context/context.h"
#include "client/context/object.h"
#include "client/module/library.h"
#include "client/module/module.h"
#include "client/module/module_functions.h"
#include "client/session/server_devices.h"
#include "front/front.h"

static CUresult kernel_of(CUkernel handle, struct client_kernel **kernel)
{
    CU_TRY(front_ready());
    *kernel = client_object_find(GA_HANDLE_KERNEL, (uint64_t)(uintptr_t)handle);
    return *kernel != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult kernel_function(const struct client_kernel *kernel, struct client_context *context,
                                struct client_function **function)
{
    struct client_module *module;
    CU_TRY(client_library_module(kernel->library, context, &module));
    return client_module_function(module, kernel->name, function);
}

static struct client_function *seen(const struct client_kernel *kernel,
                                    const struct client_context *context)
{
    struct client_function *found = NULL;
    pthread_mutex_lock(&client_state_lock);
    for (unsigned i = 0; i < CLIENT_KERNEL_USES; i++) {
        const struct client_kernel_use *use = &kernel->uses[i];
        if (use->function != NULL && use->context == context->object.handle &&
            use->function->object.handle == use->wire) {
            found = use->function;
        }
    }
    pthread_mutex_unlock(&client_state_lock);
    return found;
}

static void see(struct client_kernel *kernel, const struct client_context *context,
                struct client_function *function)
{
    pthread_mutex_lock(&client_state_lock);
    struct client_kernel_use *use = NULL;
    for (unsigned i = 0; i < CLIENT_KERNEL_USES && use == NULL; i++) {
        if (kernel->uses[i].context == context->object.handle) {
            use = &kernel->uses[i];
        }
    }
    if (use == NULL) {
        use = &kernel->uses[kernel->use++ % CLIENT_KERNEL_USES];
    }
    *use = (struct client_kernel_use){
        .context = context->object.handle, .wire = function->object.handle, .function = function};
    pthread_mutex_unlock(&client_state_lock);
}

CUresult client_function_resolve(struct client_context *context, CUfunction handle,
                                 struct client_function **function)
{
    /* The last kernel that this thread launched: programs launch the same one again and again. */
    static _Thread_local struct {
        uint64_t kernel, context, wire;
        struct client_function *function;
    } last;
    uint64_t wire = (uint64_t)(uintptr_t)handle;
    if (ga_handle_type_of(wire) == GA_HANDLE_FUNCTION) {
        *function = client_object_find(GA_HANDLE_FUNCTION, wire);
        return *function != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
    }
    if (last.kernel == wire && wire != 0 && last.context == context->object.handle &&
        last.function->object.handle == last.wire) {
        *function = last.function;
        return CUDA_SUCCESS;
    }
    struct client_kernel *kernel = client_object_find(GA_HANDLE_KERNEL, wire);
    if (kernel == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    *function = seen(kernel, context);
    CU_TRY(*function != NULL ? CUDA_SUCCESS : kernel_function(kernel, context, function));
    see(kernel, context, *function);
    last.kernel = wire;
    last.context = context->object.handle;
    last.function = *function;
    last.wire = (*function)->object.handle;
    return CUDA_SUCCESS;
}

/* The function that a handle means in the current context. */
static CUresult function_of(CUfunction handle, struct client_function **function)
{
    struct client_context *context;
    CU_TRY(client_context_current(&context));
    return client_function_resolve(context, handle, function);
}

/* The function of a kernel on a device: in its primary context, or the current one if that is on
 * the device. */
static CUresult function_on(CUkernel handle, CUdevice dev, struct client_function **function)
{
    struct client_kernel *kernel;
    struct client_device *device;
    struct client_context *context;
    CU_TRY(kernel_of(handle, &kernel));
    CU_TRY(client_device_find(dev, &device));
    if (client_context_current(&context) != CUDA_SUCCESS || context->device != device) {
        context = device->primary;
        if (context == NULL || !atomic_load(&context->active)) {
            return CUDA_ERROR_INVALID_CONTEXT;
        }
    }
    return kernel_function(kernel, context, function);
}

/* ---- attributes */

static CUresult get_attribute(const struct client_function *function, CUfunction_attribute attrib,
                              int *value)
{
    if ((int)attrib < 0 || (int)attrib >= CU_FUNC_ATTRIBUTE_MAX) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *value = (unsigned)attrib < API_FUNCTION_ATTRIBUTES ? function->attributes[attrib] : 0;
    return CUDA_SUCCESS;
}

static CUresult set_attribute(struct client_function *function, CUfunction_attribute attrib,
                              int value)
{
    struct client_call call;
    struct cuFuncSetAttribute_args args = {
        .hfunc = function->object.handle, .attrib = (uint32_t)attrib, .value = value};
    if ((int)attrib < 0 || (int)attrib >= CU_FUNC_ATTRIBUTE_MAX) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CUresult rc = client_call_enter_in(&call, API_OP_cuFuncSetAttribute, function->object.context);
    if (rc == CUDA_SUCCESS) {
        rc = client_wait_cuFuncSetAttribute(&call, &args, true);
    }
    if (rc == CUDA_SUCCESS && (int)attrib < 16) {
        function->attributes[attrib] = value;
    }
    return rc;
}

/* cuFuncSetCacheConfig in the function's context, whatever is current. */
static CUresult set_cache(const struct client_function *function, CUfunc_cache config)
{
    struct client_call call;
    struct cuFuncSetCacheConfig_args args = {.hfunc = function->object.handle,
                                             .config = (uint32_t)config};
    if ((unsigned)config > (unsigned)CU_FUNC_CACHE_PREFER_EQUAL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CU_TRY(client_call_enter_in(&call, API_OP_cuFuncSetCacheConfig, function->object.context));
    return client_post_cuFuncSetCacheConfig(&call, &args);
}

CUresult CUDAAPI cuFuncGetAttribute(int *pi, CUfunction_attribute attrib, CUfunction hfunc)
{
    struct client_function *function;
    CU_TRY(function_of(hfunc, &function));
    if (pi == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    return get_attribute(function, attrib, pi);
}

CUresult CUDAAPI cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value)
{
    struct client_function *function;
    CU_TRY(function_of(hfunc, &function));
    return set_attribute(function, attrib, value);
}

CUresult CUDAAPI cuKernelGetAttribute(int *pi, CUfunction_attribute attrib, CUkernel kernel,
                                      CUdevice dev)
{
    struct client_function *function;
    CU_TRY(function_on(kernel, dev, &function));
    if (pi == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    return get_attribute(function, attrib, pi);
}

CUresult CUDAAPI cuKernelSetAttribute(CUfunction_attribute attrib, int val, CUkernel kernel,
                                      CUdevice dev)
{
    struct client_function *function;
    CU_TRY(function_on(kernel, dev, &function));
    return set_attribute(function, attrib, val);
}

CUresult CUDAAPI cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice dev)
{
    struct client_function *function;
    CU_TRY(function_on(kernel, dev, &function));
    return set_cache(function, config);
}

/* ---- names, owners, parameters */

CUresult CUDAAPI cuKernelGetFunction(CUfunction *pFunc, CUkernel kernel)
{
    struct client_kernel *found;
    struct client_function *function;
    struct client_context *context;
    CU_TRY(client_context_current(&context));
    if (pFunc == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CU_TRY(kernel_of(kernel, &found));
    CU_TRY(kernel_function(found, context, &function));
    *pFunc = (CUfunction)(uintptr_t)function->object.handle;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuKernelGetLibrary(CUlibrary *pLib, CUkernel kernel)
{
    struct client_kernel *found;
    CU_TRY(front_ready());
    CU_TRY(pLib == NULL ? CUDA_ERROR_INVALID_VALUE : kernel_of(kernel, &found));
    *pLib = (CUlibrary)(uintptr_t)found->library->object.handle;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuKernelGetName(const char **name, CUkernel hfunc)
{
    struct client_kernel *found;
    CU_TRY(kernel_of(hfunc, &found));
    if (name == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *name = found->name;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuFuncGetName(const char **name, CUfunction hfunc)
{
    struct client_function *function;
    CU_TRY(function_of(hfunc, &function));
    if (name == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *name = function->name;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuFuncGetModule(CUmodule *hmod, CUfunction hfunc)
{
    struct client_function *function;
    CU_TRY(function_of(hfunc, &function));
    if (hmod == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *hmod = (CUmodule)(uintptr_t)function->module->object.handle;
    return CUDA_SUCCESS;
}

static CUresult param_info(const struct client_function *function, size_t index, size_t *offset,
                           size_t *size)
{
    if (offset == NULL || index >= function->param_count) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *offset = function->params[index].offset;
    if (size != NULL) {
        *size = function->params[index].size;
    }
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuFuncGetParamInfo(CUfunction func, size_t paramIndex, size_t *paramOffset,
                                    size_t *paramSize)
{
    struct client_function *function;
    CU_TRY(function_of(func, &function));
    return param_info(function, paramIndex, paramOffset, paramSize);
}

CUresult CUDAAPI cuKernelGetParamInfo(CUkernel kernel, size_t paramIndex, size_t *paramOffset,
                                      size_t *paramSize)
{
    struct client_kernel *found;
    struct client_module *module;
    struct client_function *function;
    CU_TRY(kernel_of(kernel, &found));
    CU_TRY(client_library_module_anywhere(found->library, &module));
    CU_TRY(client_module_function(module, found->name, &function));
    return param_info(function, paramIndex, paramOffset, paramSize);
}

/* A function that has a handle is loaded. */
CUresult CUDAAPI cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction function)
{
    struct client_function *found;
    CU_TRY(function_of(function, &found));
    if (state == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *state = CU_FUNCTION_LOADING_STATE_LOADED;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuFuncLoad(CUfunction function)
{
    struct client_function *found;
    return function_of(function, &found);
}

CUresult client_function_check(struct client_call *call, CUfunction handle, uint64_t *wire)
{
    struct client_function *function;
    if (call->context == NULL) {
        return call->missing;
    }
    CU_TRY(client_function_resolve(call->context, handle, &function));
    *wire = function->object.handle;
    return client_call_route(call, function->object.context);
}
