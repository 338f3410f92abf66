/* SPDX-License-Identifier: Apache-2.0 */
/* Modules: programs loaded in the current context. */
#include "softgpu/calls/call.h"
#include "softgpu/calls/load.h"
#include "softgpu/module/code.h"
#include "softgpu/module/module.h"
#include "softgpu/process/placement.h"
#include "softgpu/process/print.h"
#include "softgpu/stream/waits.h"

/* Loads the code into the current context and consumes the reference. */
static CUresult module_enter(struct sg_code *code, const struct cuda_module_layout *layout,
                             CUmodule *module)
{
    struct sg_context *context;
    struct sg_module *made = NULL;
    CUresult rc = sg_enter(&context);
    bool entered = rc == CUDA_SUCCESS;
    if (entered) {
        sg_print_due(context->print);
        rc = sg_module_make(context, code, NULL, layout, &made);
    } else {
        sg_lock();
    }
    sg_code_drop(code);
    if (rc == CUDA_SUCCESS) {
        *module = (CUmodule)(uintptr_t)made->handle;
    }
    return sg_leave(rc);
}

static uint64_t code_base(const struct cuda_module_layout *layout)
{
    return layout != NULL ? layout->code_base : 0;
}

/* Programs are parsed without the lock, so the context is checked before and used after. */
static CUresult check_context(const void *out)
{
    struct sg_context *context;
    CU_TRY(sg_enter(&context));
    return sg_leave(out == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS);
}

CUresult CUDAAPI cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int numOptions,
                                    CUjit_option *options, void **optionValues)
{
    const struct cuda_module_layout *layout = sg_placement_take_module();
    struct sg_code *code = NULL;
    struct front_jit_verbose verbose;
    CUresult rc = check_context(module);
    front_jit_verbose_begin(&verbose, numOptions, options, optionValues);
    if (rc == CUDA_SUCCESS) {
        rc = sg_load_image(image, numOptions, options, optionValues, code_base(layout), &code);
    }
    if (rc == CUDA_SUCCESS) {
        rc = module_enter(code, layout, module);
    }
    if (rc == CUDA_SUCCESS) {
        front_jit_verbose_end(&verbose, *module);
    }
    return rc;
}

CUresult CUDAAPI cuModuleLoadData(CUmodule *module, const void *image)
{
    return cuModuleLoadDataEx(module, image, 0, NULL, NULL);
}

CUresult CUDAAPI cuModuleLoadFatBinary(CUmodule *module, const void *fatCubin)
{
    return cuModuleLoadDataEx(module, fatCubin, 0, NULL, NULL);
}

CUresult CUDAAPI cuModuleLoad(CUmodule *module, const char *fname)
{
    const struct cuda_module_layout *layout = sg_placement_take_module();
    struct sg_code *code = NULL;
    CUresult rc = check_context(module);
    if (rc == CUDA_SUCCESS) {
        rc = sg_load_file(fname, 0, NULL, NULL, code_base(layout), &code);
    }
    return rc == CUDA_SUCCESS ? module_enter(code, layout, module) : rc;
}

static struct sg_module *module_find(CUmodule handle)
{
    return ga_handle_table_find(&sg_process.modules, (uint64_t)(uintptr_t)handle);
}

CUresult CUDAAPI cuModuleUnload(CUmodule hmod)
{
    CU_TRY(sg_enter_teardown());
    struct sg_module *module = module_find(hmod);
    if (module == NULL || module->library != NULL) {
        return sg_leave(module == NULL ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_NOT_PERMITTED);
    }
    bool quiet = sg_context_quiet(module->context);
    module = module_find(hmod); /* another thread may have unloaded it meanwhile */
    if (quiet && module != NULL) {
        sg_module_destroy(module);
    }
    return sg_leave(sg_process_state());
}

CUresult CUDAAPI cuModuleGetFunction(CUfunction *hfunc, CUmodule hmod, const char *name)
{
    CUresult rc = sg_enter_process();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct sg_module *module = module_find(hmod);
    if (module == NULL) {
        return sg_leave(CUDA_ERROR_INVALID_HANDLE);
    }
    if (hfunc == NULL || name == NULL) {
        return sg_leave(CUDA_ERROR_INVALID_VALUE);
    }
    struct sg_function *function = sg_module_function(module, name);
    rc = function == NULL ? CUDA_ERROR_NOT_FOUND : sg_function_publish(function);
    if (rc == CUDA_SUCCESS) {
        *hfunc = (CUfunction)(uintptr_t)function->handle;
    }
    return sg_leave(rc);
}

CUresult CUDAAPI cuModuleGetFunctionCount(unsigned int *count, CUmodule mod)
{
    CU_TRY(sg_enter_process());
    const struct sg_module *module = module_find(mod);
    if (module == NULL || count == NULL) {
        return sg_leave(module == NULL ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE);
    }
    *count = (unsigned)sg_program_kernel_count(module->code->program);
    return sg_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuModuleEnumerateFunctions(CUfunction *functions, unsigned int numFunctions,
                                            CUmodule mod)
{
    CUresult rc = sg_enter_process();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    const struct sg_module *module = module_find(mod);
    if (module == NULL || functions == NULL) {
        return sg_leave(module == NULL ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE);
    }
    size_t count = sg_program_kernel_count(module->code->program);
    for (unsigned i = 0; rc == CUDA_SUCCESS && i < numFunctions && i < count; i++) {
        rc = sg_function_publish(&module->functions[i]);
        functions[i] = (CUfunction)(uintptr_t)module->functions[i].handle;
    }
    return sg_leave(rc);
}

CUresult CUDAAPI cuModuleGetGlobal_v2(CUdeviceptr *dptr, size_t *bytes, CUmodule hmod,
                                      const char *name)
{
    CU_TRY(sg_enter_process());
    struct sg_module *module = module_find(hmod);
    if (module == NULL) {
        return sg_leave(CUDA_ERROR_INVALID_HANDLE);
    }
    return sg_leave(name == NULL || (dptr == NULL && bytes == NULL)
                        ? CUDA_ERROR_INVALID_VALUE
                        : sg_module_global(module, name, dptr, bytes));
}
