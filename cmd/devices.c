/* Asks for the devices as a program would: through the client library, opened at run time.
 *
 * What a reader would get wrong: who asks for devices is expected to use the first one soon, and a
 * backend process is made ready for it (ticket.c), but for programs that choose devices. So we
 * choose: all. */
#include "cmd/devices.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/cuda_names.h"
#include "api/driver_open.h"

enum { DEVICES_MOST = 1024 };

struct driver {
    __typeof__(&cuInit) init;
    __typeof__(&cuDeviceGetCount) count;
    __typeof__(&cuDeviceGetName) name;
    __typeof__(&cuDeviceGetUuid_v2) uuid;
    __typeof__(&cuDeviceTotalMem_v2) memory;
    __typeof__(&cuDeviceGetAttribute) attribute;
    __typeof__(&cuGetExportTable) table;
};

static bool driver_open(const char *path, struct driver *driver)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        return false;
    }
    driver->init = (__typeof__(driver->init))dlsym(library, "cuInit");
    driver->count = (__typeof__(driver->count))dlsym(library, "cuDeviceGetCount");
    driver->name = (__typeof__(driver->name))dlsym(library, "cuDeviceGetName");
    driver->uuid = (__typeof__(driver->uuid))dlsym(library, "cuDeviceGetUuid_v2");
    driver->memory = (__typeof__(driver->memory))dlsym(library, "cuDeviceTotalMem_v2");
    driver->attribute = (__typeof__(driver->attribute))dlsym(library, "cuDeviceGetAttribute");
    driver->table = (__typeof__(driver->table))dlsym(library, "cuGetExportTable");
    return driver->init && driver->count && driver->name && driver->uuid && driver->memory &&
           driver->attribute && driver->table;
}

/* cuInit with all devices chosen; their number. */
static CUresult devices_count(const struct driver *driver, int *count)
{
    char all[DEVICES_MOST * sizeof "1023,"];
    size_t used = 0;
    bool chosen = getenv("GPUAAS_DEVICES") != NULL;
    for (unsigned i = 0; i < DEVICES_MOST; i++) {
        used += (size_t)snprintf(all + used, sizeof all - used, "%s%u", i != 0 ? "," : "", i);
    }
    if (!chosen && setenv("GPUAAS_DEVICES", all, 1) != 0) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUresult rc = driver->init(0);
    if (!chosen) {
        (void)unsetenv("GPUAAS_DEVICES");
    }
    return rc == CUDA_SUCCESS ? driver->count(count) : rc;
}

static unsigned traits_of(const struct driver *driver, CUdevice device)
{
    static const CUuuid uuid = {.bytes = CUDA_DRIVER_TRAITS_UUID};
    const void *table = NULL;
    unsigned traits = 0;
    if (driver->table(&table, &uuid) != CUDA_SUCCESS || table == NULL) {
        return 0;
    }
    const struct cuda_driver_traits *ours = table;
    return ours->device_traits(device, &traits) == CUDA_SUCCESS ? traits : 0;
}

bool gpuaas_devices_ptx_only(const char *library)
{
    struct driver driver;
    int count = 0;
    if (!driver_open(library, &driver)) {
        return false;
    }
    int errors = dup(STDERR_FILENO), nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (errors >= 0 && nowhere >= 0) {
        (void)dup2(nowhere, STDERR_FILENO);
    }
    bool all = devices_count(&driver, &count) == CUDA_SUCCESS && count > 0;
    if (errors >= 0 && nowhere >= 0) {
        (void)dup2(errors, STDERR_FILENO);
    }
    for (CUdevice i = 0; all && i < count; i++) {
        all = (traits_of(&driver, i) & CUDA_DEVICE_PTX_ONLY) != 0;
    }
    (void)close(nowhere);
    (void)close(errors);
    return all;
}

static bool device_print(const struct driver *driver, CUdevice device)
{
    char name[256];
    CUuuid uuid;
    size_t bytes;
    int major, minor;
    if (driver->name(name, sizeof name, device) != CUDA_SUCCESS ||
        driver->uuid(&uuid, device) != CUDA_SUCCESS ||
        driver->memory(&bytes, device) != CUDA_SUCCESS ||
        driver->attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device) !=
            CUDA_SUCCESS ||
        driver->attribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device) !=
            CUDA_SUCCESS) {
        return false;
    }
    printf("GPU %d: %s (UUID: GPU-", device, name);
    for (size_t i = 0; i < sizeof uuid.bytes; i++) {
        printf("%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
               (unsigned)(unsigned char)uuid.bytes[i]);
    }
    printf("), %zu MiB, compute capability %d.%d%s\n", bytes >> 20, major, minor,
           (traits_of(driver, device) & CUDA_DEVICE_PTX_ONLY) != 0 ? ", software: runs PTX" : "");
    return true;
}

int gpuaas_devices_print(const char *library)
{
    struct driver driver;
    int count = 0;
    if (!driver_open(library, &driver)) {
        fprintf(stderr, "gpuaas: %s: %s\n", library, dlerror());
        return EXIT_FAILURE;
    }
    if (devices_count(&driver, &count) != CUDA_SUCCESS) {
        return EXIT_FAILURE; /* the library has said why */
    }
    for (CUdevice i = 0; i < count; i++) {
        if (!device_print(&driver, i)) {
            fprintf(stderr, "gpuaas: device %d does not answer\n", i);
            return EXIT_FAILURE;
        }
    }
    return EXIT_SUCCESS;
}
