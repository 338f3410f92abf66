/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries and their kernels: programs that outlive contexts. */
#include <string.h>

#include "softgpu/calls/call.h"
#include "softgpu/calls/load.h"
#include "softgpu/module/code.h"
#include "softgpu/module/library.h"
#include "softgpu/module/managed.h"
#include "softgpu/stream/waits.h"

static struct sg_library *call_library_find(CUlibrary handle)
{
    return ga_handle_table_find(&sg_process.libraries, (uint64_t)(uintptr_t)handle);
}

/* The image is parsed now and not read again, so CU_LIBRARY_BINARY_IS_PRESERVED makes no
 * difference. A table of host functions is not supported. */
static CUresult library_options(const CUlibraryOption *options, unsigned count)
{
    if (count != 0 && options == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    for (unsigned i = 0; i < count; i++) {
        if ((int)options[i] < 0 || options[i] >= CU_LIBRARY_NUM_OPTIONS) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        if (options[i] != CU_LIBRARY_BINARY_IS_PRESERVED) {
            return CUDA_ERROR_NOT_SUPPORTED;
        }
    }
    return CUDA_SUCCESS;
}

static CUresult library_enter(struct sg_code *code, CUlibrary *library)
{
    struct sg_library *made = NULL;
    sg_lock();
    CUresult rc = sg_library_make(code, &made);
    sg_code_drop(code);
    if (rc == CUDA_SUCCESS) {
        *library = (CUlibrary)(uintptr_t)made->handle;
    }
    return sg_leave(rc);
}

/* Checks before the image is read. */
static CUresult library_check(const CUlibrary *out, const CUlibraryOption *options, unsigned count)
{
    CUresult rc = sg_process_state();
    if (rc == CUDA_SUCCESS) {
        rc = out == NULL ? CUDA_ERROR_INVALID_VALUE : library_options(options, count);
    }
    return rc;
}

CUresult CUDAAPI cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jitOptions,
                                   void **jitOptionsValues, unsigned int numJitOptions,
                                   CUlibraryOption *libraryOptions, void **libraryOptionValues,
                                   unsigned int numLibraryOptions)
{
    (void)libraryOptionValues;
    struct sg_code *parsed = NULL;
    CUresult rc = library_check(library, libraryOptions, numLibraryOptions);
    if (rc == CUDA_SUCCESS) {
        rc = sg_load_image(code, numJitOptions, jitOptions, jitOptionsValues, 0, &parsed);
    }
    return rc == CUDA_SUCCESS ? library_enter(parsed, library) : rc;
}

CUresult CUDAAPI cuLibraryLoadFromFile(CUlibrary *library, const char *fileName,
                                       CUjit_option *jitOptions, void **jitOptionsValues,
                                       unsigned int numJitOptions, CUlibraryOption *libraryOptions,
                                       void **libraryOptionValues, unsigned int numLibraryOptions)
{
    (void)libraryOptionValues;
    struct sg_code *parsed = NULL;
    CUresult rc = library_check(library, libraryOptions, numLibraryOptions);
    if (rc == CUDA_SUCCESS) {
        rc = sg_load_file(fileName, numJitOptions, jitOptions, jitOptionsValues, 0, &parsed);
    }
    return rc == CUDA_SUCCESS ? library_enter(parsed, library) : rc;
}

CUresult CUDAAPI cuLibraryUnload(CUlibrary library)
{
    CU_TRY(sg_enter_teardown());
    struct sg_library *found = call_library_find(library);
    if (found == NULL) {
        return sg_leave(CUDA_ERROR_INVALID_HANDLE);
    }
    bool quiet = ga_list_empty(&found->modules) || sg_process_quiet();
    found = call_library_find(library); /* another thread may have unloaded it meanwhile */
    if (quiet && found != NULL) {
        sg_library_destroy(found);
    }
    return sg_leave(sg_process_state());
}

/* Enters and finds the library; the lock is held on success. */
static CUresult library_open(CUlibrary handle, const void *out, struct sg_library **library)
{
    CU_TRY(sg_enter_process());
    if (out == NULL) {
        return sg_leave(CUDA_ERROR_INVALID_VALUE);
    }
    *library = call_library_find(handle);
    return *library == NULL ? sg_leave(CUDA_ERROR_INVALID_HANDLE) : CUDA_SUCCESS;
}

CUresult CUDAAPI cuLibraryGetKernel(CUkernel *pKernel, CUlibrary library, const char *name)
{
    struct sg_library *found;
    CU_TRY(library_open(library, pKernel, &found));
    if (name == NULL) {
        return sg_leave(CUDA_ERROR_INVALID_VALUE);
    }
    size_t count = sg_program_kernel_count(found->code->program);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(found->kernels[i].kernel->name, name) == 0) {
            *pKernel = (CUkernel)(uintptr_t)found->kernels[i].handle;
            return sg_leave(CUDA_SUCCESS);
        }
    }
    return sg_leave(CUDA_ERROR_NOT_FOUND);
}

CUresult CUDAAPI cuLibraryGetKernelCount(unsigned int *count, CUlibrary lib)
{
    struct sg_library *found;
    CU_TRY(library_open(lib, count, &found));
    *count = (unsigned)sg_program_kernel_count(found->code->program);
    return sg_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int numKernels,
                                           CUlibrary lib)
{
    struct sg_library *found;
    CU_TRY(library_open(lib, kernels, &found));
    size_t count = sg_program_kernel_count(found->code->program);
    for (unsigned i = 0; i < numKernels && i < count; i++) {
        kernels[i] = (CUkernel)(uintptr_t)found->kernels[i].handle;
    }
    return sg_leave(CUDA_SUCCESS);
}

/* Enters and finds the library's module in the current context; the lock is held on success. */
static CUresult library_module(CUlibrary handle, struct sg_module **module)
{
    struct sg_context *context;
    CUresult rc = sg_enter(&context);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct sg_library *library = call_library_find(handle);
    rc = library == NULL ? CUDA_ERROR_INVALID_HANDLE : sg_library_module(library, context, module);
    return rc == CUDA_SUCCESS ? rc : sg_leave(rc);
}

CUresult CUDAAPI cuLibraryGetModule(CUmodule *pMod, CUlibrary library)
{
    struct sg_module *module = NULL;
    CU_TRY(library_module(library, &module));
    if (pMod == NULL) {
        return sg_leave(CUDA_ERROR_INVALID_VALUE);
    }
    *pMod = (CUmodule)(uintptr_t)module->handle;
    return sg_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuLibraryGetGlobal(CUdeviceptr *dptr, size_t *bytes, CUlibrary library,
                                    const char *name)
{
    struct sg_module *module = NULL;
    CU_TRY(library_module(library, &module));
    return sg_leave(name == NULL || (dptr == NULL && bytes == NULL)
                        ? CUDA_ERROR_INVALID_VALUE
                        : sg_module_global(module, name, dptr, bytes));
}

CUresult CUDAAPI cuLibraryGetManaged(CUdeviceptr *dptr, size_t *bytes, CUlibrary library,
                                     const char *name)
{
    struct sg_library *found;
    CUresult rc = library_open(library, name, &found);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct sg_managed *managed = NULL;
    size_t index = sg_program_variable_find(found->code->program, name);
    rc = dptr == NULL && bytes == NULL ? CUDA_ERROR_INVALID_VALUE
         : index == SIZE_MAX           ? CUDA_ERROR_NOT_FOUND
                                       : sg_library_managed(found, &managed);
    if (rc == CUDA_SUCCESS && managed->ranges[index] == NULL) {
        rc = CUDA_ERROR_NOT_FOUND;
    }
    if (rc != CUDA_SUCCESS) {
        return sg_leave(rc);
    }
    if (dptr != NULL) {
        *dptr = managed->ranges[index]->span.base;
    }
    if (bytes != NULL) {
        *bytes = managed->ranges[index]->span.bytes;
    }
    return sg_leave(CUDA_SUCCESS);
}

/* No device has functions that the host calls as well (UNIFIED_FUNCTION_POINTERS is 0). */
CUresult CUDAAPI cuLibraryGetUnifiedFunction(void **fptr, CUlibrary library, const char *symbol)
{
    struct sg_library *found;
    CUresult rc = library_open(library, symbol != NULL ? fptr : NULL, &found);
    return rc == CUDA_SUCCESS ? sg_leave(CUDA_ERROR_NOT_FOUND) : rc;
}

/* ---- kernels ---- */

CUresult CUDAAPI cuKernelGetFunction(CUfunction *pFunc, CUkernel kernel)
{
    struct sg_context *context;
    CUresult rc = sg_enter(&context);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct sg_function *function = NULL;
    if (pFunc == NULL || sg_library_kernel_find(kernel) == NULL) {
        return sg_leave(pFunc == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE);
    }
    rc = sg_function_find((CUfunction)kernel, context, &function);
    if (rc == CUDA_SUCCESS) {
        rc = sg_function_publish(function);
    }
    if (rc == CUDA_SUCCESS) {
        *pFunc = (CUfunction)(uintptr_t)function->handle;
    }
    return sg_leave(rc);
}

CUresult CUDAAPI cuKernelGetLibrary(CUlibrary *pLib, CUkernel kernel)
{
    CU_TRY(sg_enter_process());
    const struct sg_library_kernel *found = sg_library_kernel_find(kernel);
    if (pLib == NULL || found == NULL) {
        return sg_leave(pLib == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE);
    }
    *pLib = (CUlibrary)(uintptr_t)found->library->handle;
    return sg_leave(CUDA_SUCCESS);
}
