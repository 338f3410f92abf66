/* SPDX-License-Identifier: Apache-2.0 */
/* cuInit, once. */
#include "softgpu/lifetime/init.h"

#include <stdio.h>
#include <stdlib.h>

#include "api/visible_devices.h"
#include "base/amount.h"
#include "base/log.h"
#include "softgpu/engine/budget.h"
#include "softgpu/engine/cost.h"
#include "softgpu/lifetime/context_lifetime.h"
#include "softgpu/memory/ranges.h"
#include "softgpu/process/config.h"
#include "softgpu/process/process.h"
#include "softgpu/stream/clock.h"
#include "softgpu/stream/trace.h"

/* Live objects of each kind at most: a loop that leaks must end in an error, not use up the
 * machine's memory. */
#define PROCESS_OBJECTS_MAX (1u << 22)

/* The driver does not work in a child of fork(). */
static void after_fork(void)
{
    atomic_store(&sg_process.ready, 0);
    pthread_mutex_init(&sg_process.lock, NULL);
}

/* From here on no thread waits for a kernel that never ends. */
static void process_exit_begins(void)
{
    atomic_store(&sg_process.exiting, 1);
    sg_clock_report();
}

static void tables_init(void)
{
    ga_handle_table_init(&sg_process.contexts, GA_HANDLE_CONTEXT, PROCESS_OBJECTS_MAX);
    ga_handle_table_init(&sg_process.streams, GA_HANDLE_STREAM, PROCESS_OBJECTS_MAX);
    ga_handle_table_init(&sg_process.events, GA_HANDLE_EVENT, PROCESS_OBJECTS_MAX);
    ga_handle_table_init(&sg_process.modules, GA_HANDLE_MODULE, PROCESS_OBJECTS_MAX);
    ga_handle_table_init(&sg_process.functions, GA_HANDLE_FUNCTION, PROCESS_OBJECTS_MAX);
    ga_handle_table_init(&sg_process.libraries, GA_HANDLE_LIBRARY, PROCESS_OBJECTS_MAX);
    ga_handle_table_init(&sg_process.kernels, GA_HANDLE_KERNEL, PROCESS_OBJECTS_MAX);
    ga_handle_table_init(&sg_process.arrays, GA_HANDLE_ARRAY, PROCESS_OBJECTS_MAX);
    ga_handle_table_init(&sg_process.mipmaps, GA_HANDLE_MIPMAP, PROCESS_OBJECTS_MAX);
    ga_handle_table_init(&sg_memory.allocations, GA_HANDLE_NONE, PROCESS_OBJECTS_MAX);
    ga_list_init(&sg_memory.lingering);
    ga_list_init(&sg_process.active);
    ga_list_init(&sg_process.waits);
}

static CUresult devices_make(const struct sg_config *config)
{
    sg_process.devices = calloc(config->count, sizeof *sg_process.devices);
    if (sg_process.devices == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    for (unsigned i = 0; i < config->count; i++) {
        struct sg_device *device = &sg_process.devices[i];
        if (sg_device_init(device, i, &config->devices[i]) != GA_OK) {
            ga_error("softgpu: no memory for device %u (%s, %llu bytes)", i,
                     config->devices[i].name, (unsigned long long)config->devices[i].memory);
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        sg_process.device_count = i + 1;
        CUresult rc = sg_context_make(device, 0, true, &device->primary);
        if (rc != CUDA_SUCCESS) {
            return rc;
        }
    }
    return CUDA_SUCCESS;
}

/* Called before any program is loaded. */
static void timing_begin(const struct sg_config *config)
{
    bool timed = false;
    for (unsigned i = 0; i < config->count; i++) {
        const struct soft_device *device = &config->devices[i];
        timed |= device->timing;
        if (!device->execute) {
            ga_log_write(NULL, GA_LOG_WARN, NULL,
                         "softgpu: device %u (%s): execute = no: KERNELS ARE NOT RUN, only their "
                         "time passes; what they should compute is not there",
                         i, device->name);
        }
    }
    sg_cost_count(timed);
}

/* The system kills programs that use up its memory, without a reason. Therefore a warning appears
 * where a person reads it: in a program that uses softgpu, and in gpuaasd when it looks at its
 * GPUs, but not in each of its backend processes, whose stderr is no file. */
static void memory_tell(const struct sg_config *config)
{
    uint64_t machine = soft_machine_memory();
    unsigned larger = 0, first = 0;
    for (unsigned i = config->count; i-- > 0;) {
        if (config->devices[i].memory > machine) {
            larger++;
            first = i;
        }
    }
    if (larger != 0 && fileno(stderr) >= 0) {
        ga_warn("softgpu: of %u GPUs %u have more memory than this machine (GPU %u: %llu of %llu "
                "MiB): a program that uses it all is ended by the system; the key memory makes it "
                "less",
                config->count, larger, first,
                (unsigned long long)(config->devices[first].memory >> 20),
                (unsigned long long)(machine >> 20));
    }
}

static const uint8_t *uuid_of_soft(const void *device)
{
    return ((const struct soft_device *)device)->uuid;
}

/* Leaves the devices that `visible` names, in its order; each keeps its UUID, by which processes
 * know it. False: none is left. */
static bool init_devices_choose(struct sg_config *config, const char *visible)
{
    config->count =
        (unsigned)api_visible_choose(API_VISIBLE_DEVICES, visible, config->devices,
                                     sizeof config->devices[0], (int)config->count, uuid_of_soft);
    return config->count != 0;
}

/* `visible` NULL: all devices. */
static CUresult process_make(const char *text, const char *visible, const char *node)
{
    static struct sg_config config;
    char why[512] = "";
    if (sg_config_read(text, &config, why, sizeof why) != GA_OK) {
        ga_error("softgpu: SOFTGPU_DEVICES: %s", why);
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (!init_devices_choose(&config, visible)) {
        return CUDA_ERROR_NO_DEVICE;
    }
    memory_tell(&config);
    tables_init();
    timing_begin(&config);
    CUresult rc = CUDA_ERROR_OUT_OF_MEMORY;
    if (sg_node_open(node) == GA_OK) {
        rc = devices_make(&config);
    }
    if (rc != CUDA_SUCCESS) {
        sg_process_fini();
        return rc;
    }
    static bool hooked;
    if (!hooked) {
        pthread_atfork(NULL, NULL, after_fork);
        atexit(process_exit_begins);
        hooked = true;
    }
    atomic_store_explicit(&sg_process.ready, 1, memory_order_release);
    return CUDA_SUCCESS;
}

#define BUDGET_MIN (UINT64_C(1) << 20)

static CUresult budget_read(const char *text)
{
    uint64_t bytes = soft_machine_memory() / 2;
    if (text != NULL && *text != 0 && (!ga_bytes_read(text, &bytes) || bytes < BUDGET_MIN)) {
        ga_error(
            "softgpu: SOFTGPU_HOST_MEMORY=%s is not allowed; allowed: 1MiB or more: " GA_BYTES_FORM,
            text);
        return CUDA_ERROR_INVALID_VALUE;
    }
    sg_budget_set(bytes);
    return CUDA_SUCCESS;
}

static CUresult process_init(const char *devices, const char *visible, const char *node,
                             const char *trace)
{
    sg_lock();
    CUresult rc =
        atomic_load(&sg_process.ready) ? CUDA_SUCCESS : process_make(devices, visible, node);
    if (rc == CUDA_SUCCESS) {
        sg_trace_open(trace);
    }
    sg_unlock();
    return rc;
}

CUresult sg_process_init_with(const char *devices)
{
    return process_init(devices, NULL, SG_NODE_SELF, NULL);
}

CUresult sg_process_init(void)
{
    CU_TRY(budget_read(getenv("SOFTGPU_HOST_MEMORY")));
    return process_init(getenv("SOFTGPU_DEVICES"), getenv(API_VISIBLE_DEVICES),
                        getenv("SOFTGPU_NODE"), getenv("SOFTGPU_TRACE"));
}

void sg_process_fini(void)
{
    for (unsigned i = 0; i < sg_process.device_count; i++) {
        struct sg_device *device = &sg_process.devices[i];
        if (device->primary != NULL) {
            ga_handle_table_remove(&sg_process.contexts, device->primary->handle);
            sg_context_drop(device->primary);
        }
        sg_device_fini(device);
    }
    sg_node_close();
    free(sg_process.devices);
    sg_process.devices = NULL;
    sg_process.device_count = 0;
    ga_handle_table_fini(&sg_process.contexts);
    ga_handle_table_fini(&sg_process.streams);
    ga_handle_table_fini(&sg_process.events);
    ga_handle_table_fini(&sg_process.modules);
    ga_handle_table_fini(&sg_process.functions);
    ga_handle_table_fini(&sg_process.libraries);
    ga_handle_table_fini(&sg_process.kernels);
    ga_handle_table_fini(&sg_memory.allocations);
    sg_spans_fini(&sg_memory.ranges);
    sg_spans_fini(&sg_memory.reservations);
    atomic_store(&sg_process.condemned, 0);
    atomic_store(&sg_process.stop, 0);
    atomic_store(&sg_process.ready, 0);
}
