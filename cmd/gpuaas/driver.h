/* SPDX-License-Identifier: Apache-2.0 */
/* One of our CUDA drivers, opened at run time and used as a program would use it. */
#ifndef CMD_GPUAAS_DRIVER_H
#define CMD_GPUAAS_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"
#include "api/driver_servers.h"
#include "cmd/gpuaas/json.h"

struct cmd_driver {
    __typeof__(&cuInit) init;
    __typeof__(&cuDeviceGetCount) count;
    __typeof__(&cuDeviceGetName) name;
    __typeof__(&cuDeviceGetUuid_v2) uuid;
    __typeof__(&cuDeviceTotalMem_v2) memory;
    __typeof__(&cuDeviceGetAttribute) attribute;
    __typeof__(&cuGetExportTable) table;
    __typeof__(&cuDevicePrimaryCtxRetain) retain;
    __typeof__(&cuCtxSetCurrent) set_current;
    __typeof__(&cuMemGetInfo_v2) memory_info;
    const struct cuda_driver_servers *servers; /* the client library's; NULL for softgpu */
};

struct cmd_device {
    int number;
    char name[256], uuid[48]; /* without control characters; "GPU-..." */
    uint64_t memory_bytes;
    int major, minor; /* compute capability */
    bool ptx_only;    /* software GPU: runs PTX, but no machine code */
};

/* False: it cannot be opened; the reason is on stderr. */
bool cmd_driver_open(const char *library, struct cmd_driver *driver);
/* cuInit and cuDeviceGetCount. No backend process is made ready for the first device. */
CUresult cmd_driver_count(const struct cmd_driver *driver, int *count);
/* False: the device does not answer. */
bool cmd_driver_device(const struct cmd_driver *driver, int number, struct cmd_device *device);
/* Writes the device's members into the open object. */
void cmd_driver_device_json(const struct cmd_device *device, struct cmd_json *json);
bool cmd_driver_ptx_only(const struct cmd_driver *driver, int number);

/* Asks in a child process, so that nothing of it is left in this process, which may become a
 * program. Its connection is one more than the program's own: what it learns has to be known before
 * the program is loaded (LD_PRELOAD is read then, and whether there is a GPU at all), and nothing
 * of it can be handed on, as a TLS connection and a greeting belong to the process that made them.
 * It is an observer, so it takes no session and no GPU. */
enum cmd_gpus {
    CMD_GPUS_NONE, /* `aloud`: the driver's messages are on stderr */
    CMD_GPUS_PTX,  /* some, all of which run PTX only */
    CMD_GPUS_SOME,
};
enum cmd_gpus cmd_gpus_ask(const char *library, bool aloud);

#endif
