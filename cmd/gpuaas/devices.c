/* SPDX-License-Identifier: Apache-2.0 */
/* gpuaas devices: the devices that a program would see. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/gpuaas/cmd.h"
#include "cmd/gpuaas/driver.h"
#include "cmd/gpuaas/json.h"

static void device_print(const struct cmd_device *device)
{
    printf("GPU %d: %s (UUID: %s), %llu MiB, compute capability %d.%d%s\n", device->number,
           device->name, device->uuid, (unsigned long long)device->memory_bytes >> 20,
           device->major, device->minor, device->ptx_only ? ", software: runs PTX" : "");
}

static int devices_print_all(const struct cmd_driver *driver, int count, struct cmd_json *json)
{
    for (int i = 0; i < count; i++) {
        struct cmd_device device;
        if (!cmd_driver_device(driver, i, &device)) {
            return cmd_wrong(EXIT_FAILURE, "device %d does not answer", i);
        }
        if (json != NULL) {
            cmd_json_open(json, NULL, '{');
            cmd_driver_device_json(&device, json);
            cmd_json_close(json, '}');
        } else {
            device_print(&device);
        }
    }
    return EXIT_SUCCESS;
}

int cmd_devices(const struct cmd_options *options)
{
    char library[PATH_MAX];
    struct cmd_driver driver;
    int count = 0;
    int status = cmd_environment_driver(options, library, sizeof library);
    if (status != 0) {
        return status;
    }
    if (!cmd_driver_open(library, &driver)) {
        return EXIT_FAILURE;
    }
    const char *empty = cmd_environment_chooses_none(options->local);
    if (cmd_driver_count(&driver, &count) != CUDA_SUCCESS || count == 0) {
        return empty == NULL
                   ? EXIT_FAILURE /* the driver has logged the reason */
                   : cmd_wrong(EXIT_FAILURE, "%s is set and empty: it chooses no device", empty);
    }
    if (!options->json) {
        return devices_print_all(&driver, count, NULL);
    }
    struct cmd_json json = {.out = stdout};
    cmd_json_open(&json, NULL, '{');
    cmd_json_open(&json, "devices", '[');
    status = devices_print_all(&driver, count, &json);
    cmd_json_close(&json, ']');
    cmd_json_close(&json, '}');
    return status;
}
