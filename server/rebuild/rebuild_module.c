/* SPDX-License-Identifier: Apache-2.0 */
/* Modules with the contents of their variables, and functions with their settings. Code and
 * variables get the addresses that they had: the program and its kernels hold them. */
#include <stdlib.h>
#include <string.h>

#include "api/driver_places.h"
#include "server/calls/module.h"
#include "server/rebuild/rebuild_state.h"

/* Attributes of a function that a program can set. */
static const CUfunction_attribute settable[] = {
    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
    CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
    CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH,
    CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT,
    CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH,
    CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
    CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
};
#define SETTABLE (sizeof settable / sizeof *settable)

/* The saved facts of a function, with its name behind them. */
struct function_facts {
    int values[SETTABLE]; /* an attribute that the driver does not know is 0 */
    size_t name_bytes;
};

/* ---- functions */

static void function_down(struct rebuild *rebuild, const struct server_function *function)
{
    const struct cuda_driver *driver = rebuild->app->driver;
    struct function_facts facts = {{0}, 0};
    const char *name = "";
    CUresult rc = driver->cuFuncGetName(&name, function->real);
    for (size_t i = 0; i < SETTABLE; i++) {
        (void)driver->cuFuncGetAttribute(&facts.values[i], settable[i], function->real);
    }
    facts.name_bytes = rc == CUDA_SUCCESS ? strlen(name) + 1 : 0;
    if (!saved_put(&rebuild->modules, &facts, sizeof facts) ||
        !saved_put(&rebuild->modules, name, facts.name_bytes)) {
        rc = CUDA_ERROR_OUT_OF_MEMORY;
    }
    (void)rebuild_check(rebuild, rc, "the name of a function");
}

static CUresult settings_set(const struct cuda_driver *driver,
                             const struct server_function *function,
                             const struct function_facts *facts)
{
    const struct made_function *made = &function->made_from;
    for (size_t i = 0; i < SETTABLE; i++) {
        int now = 0;
        (void)driver->cuFuncGetAttribute(&now, settable[i], function->real);
        if (now != facts->values[i]) {
            CU_TRY(driver->cuFuncSetAttribute(function->real, settable[i], facts->values[i]));
        }
    }
    if (made->cache_set) {
        CU_TRY(driver->cuFuncSetCacheConfig(function->real, made->cache));
    }
    return made->banks_set ? driver->cuFuncSetSharedMemConfig(function->real, made->banks)
                           : CUDA_SUCCESS;
}

static void function_up(struct rebuild *rebuild, const struct server_module *module,
                        struct server_function *function)
{
    const struct cuda_driver *driver = rebuild->app->driver;
    struct function_facts facts = {{0}, 0};
    bool there = saved_take(&rebuild->modules, &facts, sizeof facts);
    const char *name = there ? saved_look(&rebuild->modules, facts.name_bytes) : NULL;
    CUresult rc = name != NULL ? driver->cuModuleGetFunction(&function->real, module->real, name)
                               : CUDA_ERROR_INVALID_VALUE;
    rc = rc == CUDA_SUCCESS ? settings_set(driver, function, &facts) : rc;
    (void)rebuild_check(rebuild, rc, "a function");
}

/* ---- variables */

static CUresult variable_read(const struct rebuild *rebuild, CUmodule module, size_t index,
                              struct cuda_module_variable *variable)
{
    return (CUresult)rebuild->places->module_variable(module, index, variable);
}

/* The layout, and behind it the addresses of the variables. */
static CUresult layout_keep(struct rebuild *rebuild, const struct server_module *module,
                            struct cuda_module_layout *layout)
{
    const struct cuda_driver_places *places = rebuild->places;
    CU_TRY((CUresult)places->module_layout(module->real, layout));
    if (!saved_put(&rebuild->modules, layout, sizeof *layout)) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    uint64_t *addresses = saved_room(&rebuild->modules, layout->variable_count * sizeof *addresses);
    CUresult rc = addresses != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < layout->variable_count && rc == CUDA_SUCCESS; i++) {
        struct cuda_module_variable variable;
        rc = variable_read(rebuild, module->real, i, &variable);
        addresses[i] = rc == CUDA_SUCCESS ? variable.address : 0;
        if (addresses[i] != 0) { /* its memory stays taken when the module goes */
            rc = (CUresult)places->address_keep(addresses[i]);
        }
    }
    if (rc == CUDA_SUCCESS && layout->runtime_base != 0) {
        rc = (CUresult)places->address_keep(layout->runtime_base);
    }
    return rc;
}

static CUresult module_contents_keep(struct rebuild *rebuild, const struct server_module *module,
                                     size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct cuda_module_variable variable;
        CU_TRY(variable_read(rebuild, module->real, i, &variable));
        void *room = saved_room(&rebuild->modules, variable.bytes);
        if (room == NULL) {
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        if (variable.bytes != 0) {
            CU_TRY(rebuild->app->driver->cuMemcpyDtoH_v2(room, variable.address, variable.bytes));
        }
    }
    return CUDA_SUCCESS;
}

static CUresult module_contents_put(struct rebuild *rebuild, const struct server_module *module,
                                    size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct cuda_module_variable variable;
        CU_TRY(variable_read(rebuild, module->real, i, &variable));
        const void *saved = saved_look(&rebuild->modules, variable.bytes);
        if (saved == NULL) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        if (variable.bytes != 0) {
            CU_TRY(rebuild->app->driver->cuMemcpyHtoD_v2(variable.address, saved, variable.bytes));
        }
    }
    return CUDA_SUCCESS;
}

/* ---- modules */

static void module_down(struct rebuild *rebuild, const struct server_module *module)
{
    struct cuda_module_layout layout;
    CUresult rc = layout_keep(rebuild, module, &layout);
    rc = rc == CUDA_SUCCESS ? module_contents_keep(rebuild, module, layout.variable_count) : rc;
    if (!rebuild_check(rebuild, rc, "the variables of a module")) {
        return;
    }
    ga_list_each (at, next, &module->functions) {
        function_down(rebuild, ga_container(at, struct server_function, link));
    }
    rc = rebuild->app->driver->cuModuleUnload(module->real);
    (void)rebuild_check(rebuild, rc, "a module");
}

static CUresult module_make(struct rebuild *rebuild, struct server_module *module)
{
    struct cuda_module_layout layout;
    if (!saved_take(&rebuild->modules, &layout, sizeof layout)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    layout.addresses =
        saved_look(&rebuild->modules, layout.variable_count * sizeof *layout.addresses);
    CU_TRY((CUresult)rebuild->places->module_place(&layout));
    CU_TRY(module_real_load(rebuild->app, module));
    return module_contents_put(rebuild, module, layout.variable_count);
}

void rebuild_modules_down(struct rebuild *rebuild, struct server_context *context)
{
    ga_list_each (at, next, &context->modules) {
        module_down(rebuild, ga_container(at, struct server_module, link));
    }
}

void rebuild_modules_up(struct rebuild *rebuild, struct server_context *context)
{
    ga_list_each (at, next, &context->modules) {
        struct server_module *module = ga_container(at, struct server_module, link);
        if (!rebuild_check(rebuild, module_make(rebuild, module), "a module")) {
            return;
        }
        ga_list_each (of, after, &module->functions) {
            function_up(rebuild, module, ga_container(of, struct server_function, link));
        }
    }
}
