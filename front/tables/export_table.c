/* SPDX-License-Identifier: Apache-2.0 */
/* cuGetExportTable. A refused table is named on stderr, because programs that miss one fail
 * without a reason. Tables that every program asks for and none needs are named at level debug. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "api/driver_open.h"
#include "api/driver_servers.h"
#include "base/log.h"
#include "front/front.h"
#include "front/tables/tables.h"

static const CUuuid forwards_uuid = {.bytes = CUDA_DRIVER_FORWARDS_UUID};
static const CUuuid servers_uuid = {.bytes = CUDA_DRIVER_SERVERS_UUID};
static const CUuuid traits_uuid = {.bytes = CUDA_DRIVER_TRAITS_UUID};

static int device_traits(int device, unsigned *traits)
{
    struct front_device facts;
    CUresult rc = front_ready();
    if (rc == CUDA_SUCCESS) {
        rc = front_host.device(device, &facts);
    }
    if (rc == CUDA_SUCCESS) {
        *traits = facts.traits;
    }
    return (int)rc;
}

static const struct cuda_driver_places *driver_places(void)
{
    return front_host.places;
}

static int driver_kernel_limit(void *context, unsigned long long ms)
{
    CUresult rc = front_ready();
    if (rc == CUDA_SUCCESS) {
        rc = front_host.kernel_limit != NULL ? front_host.kernel_limit(context, ms)
                                             : CUDA_ERROR_NOT_SUPPORTED;
    }
    return (int)rc;
}

static int driver_event_export(void *event, int *fd)
{
    return front_host.event_export != NULL ? (int)front_host.event_export(event, fd)
                                           : CUDA_ERROR_NOT_SUPPORTED;
}

static int driver_event_import(int fd, void **event)
{
    CUevent made;
    CUresult rc = front_host.event_import != NULL ? front_host.event_import(fd, &made)
                                                  : CUDA_ERROR_NOT_SUPPORTED;
    if (rc == CUDA_SUCCESS) {
        *event = made;
    }
    return (int)rc;
}

static const struct cuda_driver_traits traits_table = {.bytes = sizeof traits_table,
                                                       .device_traits = device_traits,
                                                       .output_context = front_output_context,
                                                       .places = driver_places,
                                                       .kernel_limit = driver_kernel_limit,
                                                       .event_export = driver_event_export,
                                                       .event_import = driver_event_import};

#ifdef GPUAAS_PRIVATE_TABLES
/* Tables that the runtime and nvrtc ask for first and can do without. */
static const uint8_t tolerated[][16] = {
    {0xf8, 0xcf, 0xf9, 0x51, 0x21, 0x46, 0x8b, 0x4e, 0xb9, 0xe2, 0xfb, 0x46, 0x9e, 0x7c, 0x0d,
     0xd9},
    {0xda, 0x91, 0x51, 0xd3, 0x3a, 0xe6, 0xcc, 0x41, 0xa5, 0xc0, 0x4f, 0x26, 0xd5, 0x33, 0xe3,
     0x28},
};

static bool is_tolerated(const CUuuid *uuid)
{
    for (size_t i = 0; i < sizeof tolerated / sizeof tolerated[0]; i++) {
        if (memcmp(uuid->bytes, tolerated[i], 16) == 0) {
            return true;
        }
    }
    return false;
}
#else
static bool is_tolerated(const CUuuid *uuid)
{
    (void)uuid;
    return false;
}

const void *front_table_find(const CUuuid *uuid)
{
    (void)uuid;
    return NULL;
}
#endif

static void log_refused(const CUuuid *uuid)
{
    char text[40];
    size_t used = 0;
    for (size_t i = 0; i < 16; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%02X",
                                 i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                                 (unsigned)(uint8_t)uuid->bytes[i]);
    }
    if (is_tolerated(uuid)) {
        ga_debug("driver table %s is not provided", text);
    } else {
        ga_warn("driver table %s is not provided: the library that asked may not work", text);
    }
}

CUresult CUDAAPI cuGetExportTable(const void **ppExportTable, const CUuuid *pExportTableId)
{
    if (ppExportTable == NULL || pExportTableId == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *ppExportTable = NULL;
    bool servers = memcmp(pExportTableId->bytes, servers_uuid.bytes, sizeof servers_uuid) == 0;
    if (servers || memcmp(pExportTableId->bytes, forwards_uuid.bytes, sizeof forwards_uuid) == 0) {
        if (front_host.servers == NULL) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        *ppExportTable = servers ? (const void *)front_host.servers : &forwards_uuid;
        return CUDA_SUCCESS;
    }
    if (memcmp(pExportTableId->bytes, traits_uuid.bytes, sizeof traits_uuid.bytes) == 0) {
        *ppExportTable = &traits_table;
        return CUDA_SUCCESS;
    }
    const void *table = front_table_find(pExportTableId);
    if (table == NULL) {
        log_refused(pExportTableId);
        return CUDA_ERROR_INVALID_VALUE;
    }
    *ppExportTable = table;
    return CUDA_SUCCESS;
}
