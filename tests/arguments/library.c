/* SPDX-License-Identifier: Apache-2.0 */
/* The library under test, and the right arguments of a call. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/arguments/good.h"
#include "tests/arguments/table.h"

struct cuda_driver driver;
_Alignas(16) unsigned char table_rooms[ARGUMENTS_MAX][TABLE_ROOM];

/* By hand, because cuda_driver_open refuses the client library. */
void table_open(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        printf("%s\n", dlerror());
        exit(1);
    }
    for (size_t i = 0; i < cuda_driver_symbol_count; i++) {
        void *function = dlsym(library, cuda_driver_symbols[i].name);
        if (function == NULL && cuda_driver_symbols[i].older != NULL) {
            function = dlsym(library, cuda_driver_symbols[i].older);
        }
        if (function == NULL) {
            function = (void *)cuda_driver_missing;
        }
        memcpy((char *)&driver + cuda_driver_symbols[i].offset, &function, sizeof function);
    }
}

void table_fill(const struct call *call, uint64_t *values)
{
    for (unsigned i = 0; i < call->params; i++) {
        const struct value *right = &call->right[i];
        if ((call->rooms >> i & 1) != 0) {
            memset(table_rooms[i], TABLE_PATTERN, TABLE_ROOM);
            values[i] = (uint64_t)(uintptr_t)table_rooms[i];
        } else {
            values[i] = right->make != NULL ? right->make() : right->number;
        }
    }
}

void table_context(void)
{
    CUcontext current = NULL;
    for (int i = 0; i < 8; i++) {
        (void)driver.cuCtxGetCurrent(&current);
        if (current == NULL || driver.cuCtxPopCurrent_v2(&current) != CUDA_SUCCESS) {
            break;
        }
    }
    MUST(driver.cuCtxPushCurrent_v2((CUcontext)good_context()));
}
