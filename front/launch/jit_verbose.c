/* SPDX-License-Identifier: Apache-2.0 */
/* CU_JIT_LOG_VERBOSE: the resources of each kernel of a module, in the information log. */
#include "front/launch/jit_verbose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "front/front.h"

#define FUNCTIONS_MAX 65536u

void front_jit_verbose_begin(struct front_jit_verbose *wanted, unsigned count,
                             const CUjit_option *options, void **values)
{
    bool verbose = false;
    *wanted = (struct front_jit_verbose){0};
    for (unsigned i = 0; options != NULL && values != NULL && i < count; i++) {
        switch ((int)options[i]) {
        case CU_JIT_LOG_VERBOSE:
            verbose = (uintptr_t)values[i] != 0;
            break;
        case CU_JIT_INFO_LOG_BUFFER:
            wanted->text = values[i];
            break;
        case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
            wanted->size = (uint32_t)(uintptr_t)values[i];
            wanted->told = &values[i];
            break;
        default:
            break;
        }
    }
    if (!verbose || wanted->text == NULL) {
        wanted->size = 0;
    }
}

static int fact(CUfunction function, CUfunction_attribute which)
{
    int value = 0;
    (void)cuFuncGetAttribute(&value, which, function);
    return value;
}

/* Appends as much as fits. */
static void jit_verbose_add(const struct front_jit_verbose *wanted, CUfunction function)
{
    size_t used = strlen(wanted->text), room = wanted->size - used;
    const char *name = NULL;
    if (cuFuncGetName(&name, function) != CUDA_SUCCESS) {
        return;
    }
    (void)snprintf(wanted->text + used, room,
                   "info    : Function properties for '%s':\n"
                   "info    : used %d registers, %d bytes smem, %d bytes cmem, %d bytes lmem\n",
                   name, fact(function, CU_FUNC_ATTRIBUTE_NUM_REGS),
                   fact(function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES),
                   fact(function, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES),
                   fact(function, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES));
}

void front_jit_verbose_end(const struct front_jit_verbose *wanted, CUmodule module)
{
    unsigned count = 0;
    if (wanted->size == 0 || front_host.module_function_count(&count, module) != CUDA_SUCCESS ||
        count == 0 || count > FUNCTIONS_MAX) {
        return;
    }
    CUfunction *functions = calloc(count, sizeof(CUfunction));
    if (functions != NULL &&
        front_host.module_functions(functions, count, module) == CUDA_SUCCESS) {
        for (unsigned i = 0; i < count; i++) {
            jit_verbose_add(wanted, functions[i]);
        }
        *wanted->told = (void *)strlen(wanted->text);
    }
    free(functions);
}
