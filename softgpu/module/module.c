/* SPDX-License-Identifier: Apache-2.0 */
/* A program in a context: memory for its variables, and its functions. */
#include "softgpu/module/module.h"

#include <stdlib.h>
#include <string.h>

#include "api/driver_places.h"
#include "base/log.h"
#include "softgpu/memory/heap.h"
#include "softgpu/module/code.h"
#include "softgpu/module/device_launch.h"
#include "softgpu/module/kernel_heap.h"
#include "softgpu/module/library.h"
#include "softgpu/module/managed.h"
#include "softgpu/process/process.h"
#include "softgpu/process/report.h"

static const struct sg_kernel_settings unset = {
    .dynamic_shared_max = -1, .carveout = -1, .cache = CU_FUNC_CACHE_PREFER_NONE};

static bool needs_memory(const struct sg_variable *variable)
{
    return !variable->external && variable->bytes != 0;
}

static CUresult managed_make(struct sg_module *module, const uint64_t *places)
{
    if (module->library == NULL) {
        return sg_managed_make(module->code->program, places, &module->managed);
    }
    CUresult rc = sg_library_managed(module->library, &module->managed);
    if (rc == CUDA_SUCCESS) {
        module->managed->references++;
    }
    return rc;
}

/* The memory of a variable that is not managed, at the address `place`; 0: anywhere. */
static CUresult variable_make(struct sg_module *module, const struct sg_variable *variable,
                              uint64_t place, struct sg_range **range)
{
    CUresult rc =
        sg_heap_alloc_at(module->context->device, module->context, variable->bytes, place, range);
    if (rc == CUDA_ERROR_OUT_OF_MEMORY) {
        sg_tell("no device memory for variable %s (%llu bytes)", variable->name,
                (unsigned long long)variable->bytes);
    } else if (rc != CUDA_SUCCESS) {
        ga_warn("softgpu: variable %s cannot be at 0x%llx (%llu bytes)%s", variable->name,
                (unsigned long long)place, (unsigned long long)variable->bytes,
                rc == CUDA_ERROR_ALREADY_ACQUIRED ? ": something else is there" : "");
    }
    return rc;
}

static CUresult variables_make(struct sg_module *module, const uint64_t *places,
                               uint64_t *addresses)
{
    size_t count = sg_program_variable_count(module->code->program);
    for (size_t i = 0; i < count; i++) {
        const struct sg_variable *variable = sg_program_variable_at(module->code->program, i);
        if (!needs_memory(variable)) {
            continue;
        }
        module->variables[i] = module->managed->ranges[i];
        if (!variable->managed) {
            CU_TRY(variable_make(module, variable, places != NULL ? places[i] : 0,
                                 &module->variables[i]));
        }
        module->variables[i]->variable = true;
        addresses[i] = module->variables[i]->span.base;
    }
    return CUDA_SUCCESS;
}

static void variables_free(struct sg_module *module)
{
    size_t count = sg_program_variable_count(module->code->program);
    for (size_t i = 0; module->variables != NULL && i < count; i++) {
        bool managed = sg_program_variable_at(module->code->program, i)->managed;
        if (module->variables[i] != NULL && !managed) {
            sg_heap_free(module->variables[i]);
        }
    }
}

/* A heap that no kernel has used goes with the last module that needs it. */
static void heap_leave(struct sg_module *module)
{
    struct sg_context *context = module->context;
    if (module->mallocs && --context->heap_modules == 0 && !context->heap_used) {
        sg_context_heap_drop(context);
    }
}

static void module_free(struct sg_module *module)
{
    if (module->image != NULL) {
        sg_image_destroy(module->image);
    }
    sg_device_launch_drop(module);
    variables_free(module);
    sg_managed_drop(module->managed, module->code->program);
    heap_leave(module);
    free(module->variables);
    free(module->functions);
    sg_code_drop(module->code);
    free(module);
}

/* Makes the heap of the context, for kernels that call malloc. */
static CUresult heap_make(struct sg_module *module)
{
    const struct sg_program *program = module->code->program;
    for (size_t i = 0; i < sg_program_kernel_count(program); i++) {
        module->mallocs |= sg_program_kernel_at(program, i)->mallocs;
    }
    module->context->heap_modules += module->mallocs;
    CUresult rc = module->mallocs ? sg_context_heap_make(module->context) : CUDA_SUCCESS;
    if (rc != CUDA_SUCCESS) {
        sg_tell("no device memory for the heap of kernels (%zu bytes)",
                module->context->heap_bytes);
    }
    return rc;
}

/* Makes the memory of kernels that launch kernels. */
static CUresult launcher_make(struct sg_module *module, const struct cuda_module_layout *layout)
{
    const struct sg_program *program = module->code->program;
    bool launches = false;
    for (size_t i = 0; i < sg_program_kernel_count(program); i++) {
        launches |= sg_program_kernel_at(program, i)->launches;
    }
    return launches ? sg_device_launch_make(module, layout != NULL ? layout->runtime_base : 0)
                    : CUDA_SUCCESS;
}

/* Whether it may be one of this program. */
static bool layout_fits(const struct sg_program *program, const struct cuda_module_layout *layout)
{
    size_t count = sg_program_variable_count(program);
    bool fits = layout->variable_count == count && (count == 0 || layout->addresses != NULL);
    for (size_t i = 0; fits && i < count; i++) {
        bool needs = needs_memory(sg_program_variable_at(program, i));
        fits = needs == (layout->addresses[i] != 0);
    }
    return fits;
}

static CUresult image_make(struct sg_module *module, const struct cuda_module_layout *layout)
{
    const struct sg_program *program = module->code->program;
    size_t count = sg_program_variable_count(program);
    uint64_t *addresses = calloc(count + 1, sizeof *addresses);
    module->variables = calloc(count + 1, sizeof(struct sg_range *));
    if (addresses == NULL || module->variables == NULL) {
        free(addresses);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    const uint64_t *places = layout != NULL ? layout->addresses : NULL;
    CUresult rc = layout != NULL && !layout_fits(program, layout) ? CUDA_ERROR_INVALID_VALUE
                                                                  : managed_make(module, places);
    if (rc == CUDA_SUCCESS) {
        rc = variables_make(module, places, addresses);
    }
    if (rc == CUDA_SUCCESS) {
        enum ga_status status = sg_image_create(program, addresses, &module->image);
        rc = status == GA_OK          ? CUDA_SUCCESS
             : status == GA_NO_MEMORY ? CUDA_ERROR_OUT_OF_MEMORY
                                      : CUDA_ERROR_INVALID_IMAGE;
    }
    free(addresses);
    return rc;
}

static CUresult functions_make(struct sg_module *module)
{
    size_t count = sg_program_kernel_count(module->code->program);
    module->functions = calloc(count + 1, sizeof *module->functions);
    if (module->functions == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        struct sg_function *function = &module->functions[i];
        function->module = module;
        function->kernel = sg_program_kernel_at(module->code->program, i);
        function->own = unset;
        function->settings =
            module->library != NULL
                ? &module->library->kernels[i].settings[module->context->device->ordinal]
                : &function->own;
    }
    return CUDA_SUCCESS;
}

/* The module has its places: they need not be kept for it any more. */
static void places_settle(struct sg_module *module)
{
    size_t count = sg_program_variable_count(module->code->program);
    for (size_t i = 0; i < count; i++) {
        if (module->variables[i] != NULL) {
            module->variables[i]->kept = false;
        }
    }
    if (module->launcher_memory != NULL) {
        module->launcher_memory->kept = false;
    }
}

CUresult sg_module_make(struct sg_context *context, struct sg_code *code,
                        struct sg_library *library, const struct cuda_module_layout *layout,
                        struct sg_module **module)
{
    CUresult rc = sg_code_fits(code, context->device->config.capability, NULL, NULL);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct sg_module *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    made->context = context;
    made->library = library;
    made->code = code;
    made->references = 1;
    code->references++;
    ga_list_init(&made->in_context);
    ga_list_init(&made->in_library);
    rc = heap_make(made);
    if (rc == CUDA_SUCCESS) {
        rc = image_make(made, layout);
    }
    if (rc == CUDA_SUCCESS) {
        rc = launcher_make(made, layout);
    }
    if (rc == CUDA_SUCCESS) {
        rc = functions_make(made);
    }
    if (rc == CUDA_SUCCESS &&
        ga_handle_table_make(&sg_process.modules, made, &made->handle) != GA_OK) {
        rc = CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (rc != CUDA_SUCCESS) {
        module_free(made);
        return rc;
    }
    if (layout != NULL) {
        places_settle(made);
    }
    ga_list_append(&context->modules, &made->in_context);
    if (library != NULL) {
        ga_list_append(&library->modules, &made->in_library);
    }
    *module = made;
    return CUDA_SUCCESS;
}

void sg_module_hold(struct sg_module *module)
{
    module->references++;
}

void sg_module_drop(struct sg_module *module)
{
    if (--module->references == 0) {
        module_free(module);
    }
}

void sg_module_destroy(struct sg_module *module)
{
    ga_handle_table_remove(&sg_process.modules, module->handle);
    ga_list_remove(&module->in_context);
    ga_list_remove(&module->in_library);
    size_t count = sg_program_kernel_count(module->code->program);
    for (size_t i = 0; i < count; i++) {
        if (module->functions[i].handle != 0) {
            ga_handle_table_remove(&sg_process.functions, module->functions[i].handle);
        }
    }
    sg_module_drop(module);
}

CUresult sg_function_publish(struct sg_function *function)
{
    if (function->handle == 0 &&
        ga_handle_table_make(&sg_process.functions, function, &function->handle) != GA_OK) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_SUCCESS;
}

struct sg_function *sg_module_function(struct sg_module *module, const char *name)
{
    size_t count = sg_program_kernel_count(module->code->program);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(module->functions[i].kernel->name, name) == 0) {
            return &module->functions[i];
        }
    }
    return NULL;
}

CUresult sg_module_global(struct sg_module *module, const char *name, CUdeviceptr *address,
                          size_t *bytes)
{
    size_t index = sg_program_variable_find(module->code->program, name);
    if (index == SIZE_MAX || module->variables[index] == NULL) {
        return CUDA_ERROR_NOT_FOUND;
    }
    if (address != NULL) {
        *address = module->variables[index]->span.base;
    }
    if (bytes != NULL) {
        *bytes = (size_t)sg_program_variable_at(module->code->program, index)->bytes;
    }
    return CUDA_SUCCESS;
}
