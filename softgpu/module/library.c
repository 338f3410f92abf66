/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries: programs that outlive contexts. */
#include "softgpu/module/library.h"

#include <stdlib.h>

#include "softgpu/module/managed.h"
#include "softgpu/module/module.h"
#include "softgpu/process/process.h"

static void library_free(struct sg_library *library)
{
    size_t count = sg_program_kernel_count(library->code->program);
    for (size_t i = 0; library->kernels != NULL && i < count; i++) {
        if (library->kernels[i].handle != 0) {
            ga_handle_table_remove(&sg_process.kernels, library->kernels[i].handle);
        }
    }
    free(library->kernels);
    free(library->settings);
    sg_managed_drop(library->managed, library->code->program);
    sg_code_drop(library->code);
    free(library);
}

static CUresult kernels_make(struct sg_library *library)
{
    size_t count = sg_program_kernel_count(library->code->program);
    unsigned devices = sg_process.device_count;
    library->kernels = calloc(count + 1, sizeof *library->kernels);
    library->settings = calloc(count * devices + 1, sizeof *library->settings);
    if (library->kernels == NULL || library->settings == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        struct sg_library_kernel *kernel = &library->kernels[i];
        kernel->library = library;
        kernel->kernel = sg_program_kernel_at(library->code->program, i);
        kernel->settings = &library->settings[i * devices];
        for (unsigned device = 0; device < devices; device++) {
            kernel->settings[device] = (struct sg_kernel_settings){
                .dynamic_shared_max = -1, .carveout = -1, .cache = CU_FUNC_CACHE_PREFER_NONE};
        }
        if (ga_handle_table_make(&sg_process.kernels, kernel, &kernel->handle) != GA_OK) {
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    return CUDA_SUCCESS;
}

CUresult sg_library_make(struct sg_code *code, struct sg_library **library)
{
    struct sg_library *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    made->code = code;
    code->references++;
    ga_list_init(&made->modules);
    CUresult rc = kernels_make(made);
    if (rc == CUDA_SUCCESS &&
        ga_handle_table_make(&sg_process.libraries, made, &made->handle) != GA_OK) {
        rc = CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (rc != CUDA_SUCCESS) {
        library_free(made);
        return rc;
    }
    *library = made;
    return CUDA_SUCCESS;
}

void sg_library_destroy(struct sg_library *library)
{
    ga_handle_table_remove(&sg_process.libraries, library->handle);
    while (!ga_list_empty(&library->modules)) {
        sg_module_destroy(ga_container(library->modules.next, struct sg_module, in_library));
    }
    library_free(library);
}

CUresult sg_library_managed(struct sg_library *library, struct sg_managed **managed)
{
    CUresult rc = library->managed != NULL
                      ? CUDA_SUCCESS
                      : sg_managed_make(library->code->program, NULL, &library->managed);
    if (rc == CUDA_SUCCESS) {
        *managed = library->managed;
    }
    return rc;
}

CUresult sg_library_module(struct sg_library *library, struct sg_context *context,
                           struct sg_module **module)
{
    ga_list_each (at, following, &library->modules) {
        struct sg_module *found = ga_container(at, struct sg_module, in_library);
        if (found->context == context) {
            *module = found;
            return CUDA_SUCCESS;
        }
    }
    return sg_module_make(context, library->code, library, NULL, module);
}

struct sg_library_kernel *sg_library_kernel_find(CUkernel handle)
{
    return ga_handle_table_find(&sg_process.kernels, (uint64_t)(uintptr_t)handle);
}

CUresult sg_function_find(CUfunction handle, struct sg_context *context,
                          struct sg_function **function)
{
    struct sg_function *found =
        ga_handle_table_find(&sg_process.functions, (uint64_t)(uintptr_t)handle);
    if (found != NULL) {
        *function = found;
        return CUDA_SUCCESS;
    }
    struct sg_library_kernel *kernel = sg_library_kernel_find((CUkernel)handle);
    if (kernel == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    struct sg_module *module = NULL;
    CUresult rc = sg_library_module(kernel->library, context, &module);
    if (rc == CUDA_SUCCESS) {
        *function = &module->functions[kernel - kernel->library->kernels];
    }
    return rc;
}
