/* SPDX-License-Identifier: Apache-2.0 */
/* Where drivers lie, and what a device is. */
#include "server/driver/driver.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/driver_places.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "server/driver/context_bytes.h"

/* Usual places of NVIDIA's driver on x86-64: Debian and Ubuntu, Red Hat and SUSE, WSL, containers.
 */
static const char *const nvidia_paths[] = {
    "/usr/lib/x86_64-linux-gnu/libcuda.so.1",
    "/usr/lib/x86_64-linux-gnu/nvidia/current/libcuda.so.1",
    "/usr/lib64/libcuda.so.1",
    "/usr/lib/libcuda.so.1",
    "/usr/lib/wsl/lib/libcuda.so.1",
    "/run/opengl-driver/lib/libcuda.so.1",
    "/usr/local/nvidia/lib64/libcuda.so.1",
    "/usr/local/cuda/compat/libcuda.so.1",
};

static enum ga_status soft_path(char *path, size_t size, char *why, size_t why_size)
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length > 0) {
        self[length] = 0;
        for (int up = 0; up < 2; up++) {
            char *slash = strrchr(self, '/');
            if (slash != NULL) {
                *slash = 0;
            }
        }
        int written = snprintf(path, size, "%s/lib/softgpu/libcuda.so.1", self);
        if (written > 0 && (size_t)written < size) {
            return GA_OK;
        }
    }
    snprintf(why, why_size, "cannot tell where gpuaasd lies; give driver_path");
    return GA_INVALID;
}

static enum ga_status nvidia_path(char *path, size_t size, char *why, size_t why_size)
{
    for (size_t i = 0; i < sizeof nvidia_paths / sizeof *nvidia_paths; i++) {
        if (access(nvidia_paths[i], R_OK) == 0) {
            snprintf(path, size, "%s", nvidia_paths[i]);
            return GA_OK;
        }
    }
    snprintf(why, why_size,
             "there is no NVIDIA driver in the usual places (%s, ...); install it or give "
             "driver_path",
             nvidia_paths[0]);
    return GA_INVALID;
}

const char *driver_result_name(const struct cuda_driver *driver, CUresult rc, char room[16])
{
    const char *name = NULL;
    if (driver->cuGetErrorName(rc, &name) == CUDA_SUCCESS && name != NULL) {
        return name;
    }
    snprintf(room, 16, "error %d", (int)rc);
    return room;
}

enum ga_status driver_open(const struct channel_setup *setup, struct cuda_driver *driver, char *why,
                           size_t why_size)
{
    char path[PATH_MAX], room[16];
    if (setup->driver_path[0] != 0) {
        snprintf(path, sizeof path, "%s", setup->driver_path);
    } else if (setup->driver == CONF_DRIVER_SOFT) {
        GA_TRY(soft_path(path, sizeof path, why, why_size));
    } else {
        GA_TRY(nvidia_path(path, sizeof path, why, why_size));
    }
    GA_TRY(cuda_driver_open(driver, path, why, why_size));
    CUresult rc = driver->cuInit(0);
    if (rc != CUDA_SUCCESS) {
        snprintf(why, why_size, "%.200s: cuInit: %s", path, driver_result_name(driver, rc, room));
        return GA_INVALID;
    }
    return GA_OK;
}

static CUresult facts_memory(const struct cuda_driver *driver, CUdevice device,
                             struct channel_facts *facts)
{
    size_t bytes = 0;
    CUresult rc = driver->cuDeviceTotalMem_v2(&bytes, device);
    facts->memory_bytes = bytes;
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    int mappable = 0;
    (void)driver->cuDeviceGetAttribute(
        &mappable, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device);
    if (mappable == 0) {
        facts->granularity_bytes = DRIVER_UNMAPPED_BYTES;
        return CUDA_SUCCESS;
    }
    const CUmemAllocationProp prop = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}};
    rc = driver->cuMemGetAllocationGranularity(&bytes, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    facts->granularity_bytes = bytes;
    return rc;
}

static CUresult facts_context(const struct cuda_driver *driver, CUdevice device,
                              struct channel_facts *facts)
{
    CUcontext context;
    char room[16];
    CU_TRY(driver->cuDevicePrimaryCtxRetain(&context, device));
    CUresult rc = driver->cuCtxSetCurrent(context);
    if (rc == CUDA_SUCCESS) {
        rc = driver->cuCtxGetStreamPriorityRange(&facts->priority_least, &facts->priority_greatest);
        CUresult measured = context_bytes_measure(driver, device, &facts->context_bytes);
        if (measured != CUDA_SUCCESS) {
            ga_warn("%s: what memory a context takes is not known, and not charged: %s",
                    facts->name, driver_result_name(driver, measured, room));
        }
        (void)driver->cuCtxSetCurrent(NULL);
    }
    (void)driver->cuDevicePrimaryCtxRelease_v2(device);
    return rc;
}

/* A context with some of the multiprocessors: NVIDIA's has it in some set-ups (MPS). */
static uint32_t facts_affinity(const struct cuda_driver *driver, CUdevice device)
{
    int supported = 0;
    CUresult rc =
        driver->cuDeviceGetExecAffinitySupport(&supported, CU_EXEC_AFFINITY_TYPE_SM_COUNT, device);
    return rc == CUDA_SUCCESS && supported != 0 ? CUDA_DEVICE_AFFINITY : 0;
}

/* Only drivers of our own have one. NULL: this one is none. */
static const struct cuda_driver_traits *traits_table(const struct cuda_driver *driver)
{
    static const CUuuid uuid = {.bytes = CUDA_DRIVER_TRAITS_UUID};
    const void *table = NULL;
    return driver->cuGetExportTable(&table, &uuid) == CUDA_SUCCESS ? table : NULL;
}

static uint32_t facts_traits(const struct cuda_driver *driver, CUdevice device)
{
    const struct cuda_driver_traits *ours = traits_table(driver);
    unsigned traits = 0;
    return ours != NULL && ours->device_traits(device, &traits) == CUDA_SUCCESS ? traits : 0;
}

void *(*driver_output_context(const struct cuda_driver *driver))(void)
{
    const struct cuda_driver_traits *ours = traits_table(driver);
    bool tells =
        ours != NULL && ours->bytes >= offsetof(struct cuda_driver_traits, output_context) +
                                           sizeof ours->output_context;
    return tells ? ours->output_context : NULL;
}

driver_limit_call *driver_kernel_limit(const struct cuda_driver *driver)
{
    const struct cuda_driver_traits *ours = traits_table(driver);
    bool can = ours != NULL && ours->bytes >= offsetof(struct cuda_driver_traits, kernel_limit) +
                                                  sizeof ours->kernel_limit;
    return can && !GA_FAILPOINT("backend: kernels can be stopped") ? ours->kernel_limit : NULL;
}

const struct cuda_driver_places *driver_places(const struct cuda_driver *driver)
{
    const struct cuda_driver_traits *ours = traits_table(driver);
    bool tells = ours != NULL &&
                 ours->bytes >= offsetof(struct cuda_driver_traits, places) + sizeof ours->places;
    return tells ? ours->places() : NULL;
}

const struct cuda_driver_places *driver_counts(const struct cuda_driver *driver)
{
    const struct cuda_driver_places *places =
        GA_FAILPOINT("backend: variables are told") ? NULL : driver_places(driver);
    bool counts =
        places != NULL && places->bytes >= offsetof(struct cuda_driver_places, module_drop) +
                                               sizeof places->module_drop;
    return counts ? places : NULL;
}

const struct cuda_driver_traits *driver_event_files(const struct cuda_driver *driver)
{
    const struct cuda_driver_traits *ours = traits_table(driver);
    bool can = ours != NULL && ours->bytes >= offsetof(struct cuda_driver_traits, event_import) +
                                                  sizeof ours->event_import;
    return can ? ours : NULL;
}

enum ga_status driver_facts(const struct cuda_driver *driver, uint32_t ordinal,
                            struct channel_facts *facts, char *why, size_t why_size)
{
    CUdevice device;
    CUuuid uuid = {{0}};
    const char *what = "cuDeviceGet";
    CUresult rc = driver->cuDeviceGet(&device, (int)ordinal);
    if (rc == CUDA_SUCCESS) {
        what = "its name and uuid";
        rc = driver->cuDeviceGetName(facts->name, sizeof facts->name, device);
    }
    if (rc == CUDA_SUCCESS) {
        rc = driver->cuDeviceGetUuid(&uuid, device);
        memcpy(facts->uuid, uuid.bytes, sizeof facts->uuid);
    }
    if (rc == CUDA_SUCCESS) {
        what = "cuDriverGetVersion";
        rc = driver->cuDriverGetVersion(&facts->driver_version);
    }
    if (rc == CUDA_SUCCESS) {
        what = "its memory";
        rc = facts_memory(driver, device, facts);
    }
    if (rc == CUDA_SUCCESS) {
        what = "a context";
        rc = facts_context(driver, device, facts);
    }
    if (rc != CUDA_SUCCESS) {
        char room[16];
        snprintf(why, why_size, "device %u: %s: %s", ordinal, what,
                 driver_result_name(driver, rc, room));
        return GA_INVALID;
    }
    facts->traits = facts_traits(driver, device) | facts_affinity(driver, device);
    /* An attribute that the driver does not know is 0, as for a program that asks it. */
    facts->attribute_count = CU_DEVICE_ATTRIBUTE_MAX;
    for (int i = 1; i < CU_DEVICE_ATTRIBUTE_MAX; i++) {
        if (driver->cuDeviceGetAttribute(&facts->attributes[i], (CUdevice_attribute)i, device) !=
            CUDA_SUCCESS) {
            facts->attributes[i] = 0;
        }
    }
    return GA_OK;
}

_Static_assert(CU_DEVICE_ATTRIBUTE_MAX <= HANDSHAKE_ATTRIBUTES_MAX, "all attributes travel");
