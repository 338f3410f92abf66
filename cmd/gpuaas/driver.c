/* SPDX-License-Identifier: Apache-2.0 */
/* A CUDA driver, opened at run time.
 *
 * Note: a program that asks for devices will soon use the first one, so a backend process is
 * made ready for it (client/session/ticket.c), unless the program chooses devices. This command
 * says that it only looks (`observe`), and chooses all, for an older library. */
#include "cmd/gpuaas/driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/driver_open.h"
#include "base/text.h"
#include "cmd/gpuaas/cmd.h"

enum { DEVICES_MAX = 1024 };

/* A newer library may have a longer table, which begins with the known members. */
static const struct cuda_driver_servers *servers_of(const struct cmd_driver *driver)
{
    static const CUuuid uuid = {.bytes = CUDA_DRIVER_SERVERS_UUID};
    const void *table = NULL;
    if (driver->table(&table, &uuid) != CUDA_SUCCESS) {
        return NULL;
    }
    const struct cuda_driver_servers *servers = table;
    return servers->bytes >= sizeof *servers ? servers : NULL;
}

bool cmd_driver_open(const char *path, struct cmd_driver *driver)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        (void)cmd_wrong(0, "%s", dlerror());
        return false;
    }
    driver->init = (__typeof__(driver->init))dlsym(library, "cuInit");
    driver->count = (__typeof__(driver->count))dlsym(library, "cuDeviceGetCount");
    driver->name = (__typeof__(driver->name))dlsym(library, "cuDeviceGetName");
    driver->uuid = (__typeof__(driver->uuid))dlsym(library, "cuDeviceGetUuid_v2");
    driver->memory = (__typeof__(driver->memory))dlsym(library, "cuDeviceTotalMem_v2");
    driver->attribute = (__typeof__(driver->attribute))dlsym(library, "cuDeviceGetAttribute");
    driver->table = (__typeof__(driver->table))dlsym(library, "cuGetExportTable");
    driver->retain = (__typeof__(driver->retain))dlsym(library, "cuDevicePrimaryCtxRetain");
    driver->set_current = (__typeof__(driver->set_current))dlsym(library, "cuCtxSetCurrent");
    driver->memory_info = (__typeof__(driver->memory_info))dlsym(library, "cuMemGetInfo_v2");
    bool whole = driver->init && driver->count && driver->name && driver->uuid && driver->memory &&
                 driver->attribute && driver->table && driver->retain && driver->set_current &&
                 driver->memory_info;
    if (!whole) {
        (void)cmd_wrong(0, "%s is not gpuaas's: install it anew", path);
    }
    driver->servers = whole ? servers_of(driver) : NULL;
    return whole;
}

CUresult cmd_driver_count(const struct cmd_driver *driver, int *count)
{
    char all[DEVICES_MAX * sizeof "1023,"];
    size_t used = 0;
    bool chosen = getenv("GPUAAS_DEVICES") != NULL;
    for (unsigned i = 0; i < DEVICES_MAX; i++) {
        used += (size_t)snprintf(all + used, sizeof all - used, "%s%u", i != 0 ? "," : "", i);
    }
    if (!chosen && setenv("GPUAAS_DEVICES", all, 1) != 0) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (driver->servers != NULL) {
        driver->servers->observe();
    }
    CUresult rc = driver->init(0);
    if (!chosen) {
        (void)unsetenv("GPUAAS_DEVICES");
    }
    return rc == CUDA_SUCCESS ? driver->count(count) : rc;
}

bool cmd_driver_ptx_only(const struct cmd_driver *driver, int number)
{
    static const CUuuid uuid = {.bytes = CUDA_DRIVER_TRAITS_UUID};
    const void *table = NULL;
    unsigned traits = 0;
    if (driver->table(&table, &uuid) != CUDA_SUCCESS || table == NULL) {
        return false;
    }
    const struct cuda_driver_traits *ours = table;
    return ours->device_traits(number, &traits) == CUDA_SUCCESS &&
           (traits & CUDA_DEVICE_PTX_ONLY) != 0;
}

bool cmd_driver_device(const struct cmd_driver *driver, int number, struct cmd_device *device)
{
    CUuuid uuid;
    size_t bytes;
    *device = (struct cmd_device){.number = number};
    if (driver->name(device->name, sizeof device->name, number) != CUDA_SUCCESS ||
        driver->uuid(&uuid, number) != CUDA_SUCCESS ||
        driver->memory(&bytes, number) != CUDA_SUCCESS ||
        driver->attribute(&device->major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, number) !=
            CUDA_SUCCESS ||
        driver->attribute(&device->minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, number) !=
            CUDA_SUCCESS) {
        return false;
    }
    ga_text_clean(device->name); /* it comes from a server */
    size_t used = (size_t)snprintf(device->uuid, sizeof device->uuid, "GPU-");
    for (size_t i = 0; i < sizeof uuid.bytes; i++) {
        used += (size_t)snprintf(device->uuid + used, sizeof device->uuid - used, "%s%02x",
                                 i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                                 (unsigned)(unsigned char)uuid.bytes[i]);
    }
    device->memory_bytes = bytes;
    device->ptx_only = cmd_driver_ptx_only(driver, number);
    return true;
}

void cmd_driver_device_json(const struct cmd_device *device, struct cmd_json *json)
{
    char capability[32];
    snprintf(capability, sizeof capability, "%d.%d", device->major, device->minor);
    cmd_json_number(json, "number", (uint64_t)device->number);
    cmd_json_text(json, "name", device->name);
    cmd_json_text(json, "uuid", device->uuid);
    cmd_json_number(json, "memory_bytes", device->memory_bytes);
    cmd_json_text(json, "compute_capability", capability);
    cmd_json_flag(json, "software", device->ptx_only);
}
