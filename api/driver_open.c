/* SPDX-License-Identifier: Apache-2.0 */
/* dlopen and dlsym of a CUDA driver. There is no dlclose: a driver has threads and state that do
 * not survive it. */
#include "api/driver_open.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "api/cuda_driver.h"

static void driver_fill(struct cuda_driver *driver, void *library)
{
    for (size_t i = 0; i < cuda_driver_symbol_count; i++) {
        const struct cuda_driver_symbol *symbol = &cuda_driver_symbols[i];
        void *function = dlsym(library, symbol->name);
        if (function == NULL && symbol->older != NULL) {
            function = dlsym(library, symbol->older);
        }
        if (function == NULL) {
            function = (void *)cuda_driver_missing;
        }
        memcpy((char *)driver + symbol->offset, &function, sizeof function);
    }
}

/* Only our own client library has this table. */
static bool forwards(const struct cuda_driver *driver)
{
    static const CUuuid uuid = {.bytes = CUDA_DRIVER_FORWARDS_UUID};
    const void *table = NULL;
    /* NOLINTNEXTLINE: driver_fill() leaves no member NULL */
    return driver->cuGetExportTable(&table, &uuid) == 0 && table != NULL;
}

enum ga_status cuda_driver_open(struct cuda_driver *driver, const char *path, char *why,
                                size_t why_size)
{
    if (path == NULL || path[0] != '/') {
        snprintf(why, why_size, "'%s' is not an absolute path", path != NULL ? path : "");
        return GA_INVALID;
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        const char *error = dlerror();
        snprintf(why, why_size, "%s", error != NULL ? error : "dlopen failed");
        return GA_INVALID;
    }
    struct cuda_driver opened = {.library = library};
    driver_fill(&opened, library);
    const char *problem = NULL;
    if (dlsym(library, "cuInit") == NULL || dlsym(library, "cuDeviceGetCount") == NULL) {
        problem = "is not a CUDA driver: no cuInit, cuDeviceGetCount";
    } else if (forwards(&opened)) {
        problem = "is the gpuaas client library: a server needs a driver of its own machine";
    }
    if (problem != NULL) {
        snprintf(why, why_size, "%s %s", path, problem);
        dlclose(library);
        return GA_INVALID;
    }
    *driver = opened;
    return GA_OK;
}
