/* SPDX-License-Identifier: Apache-2.0 */
/* Green contexts, their resources, and entries of the log. */
#include "tests/arguments/good.h"

#include "tests/arguments/structs.h"
#include "tests/arguments/table.h"

#define HANDLE(from) ((uint64_t)(uintptr_t)(from))

static void CUDA_CB log_callback(void *data, CUlogLevel level, char *message, size_t length)
{
    (void)data, (void)level, (void)message, (void)length;
}

uint64_t good_log_callback_make(void)
{
    return HANDLE(log_callback);
}

uint64_t good_resources_make(void)
{
    CUdevResource all;
    CUdevResourceDesc desc;
    MUST(driver.cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM));
    MUST(driver.cuDevResourceGenerateDesc(&desc, &all, 1));
    return HANDLE(desc);
}

uint64_t new_green(void)
{
    CUgreenCtx green;
    MUST(driver.cuGreenCtxCreate(&green, (CUdevResourceDesc)good_resources(), 0,
                                 CU_GREEN_CTX_DEFAULT_STREAM));
    return HANDLE(green);
}

uint64_t good_green_event_make(void)
{
    CUcontext primary, popped;
    CUevent event;
    MUST(driver.cuDevicePrimaryCtxRetain(&primary, 0));
    MUST(driver.cuCtxPushCurrent_v2(primary));
    MUST(driver.cuEventCreate(&event, 0));
    MUST(driver.cuCtxPopCurrent_v2(&popped));
    return HANDLE(event);
}

uint64_t new_dead_green(void)
{
    uint64_t green = new_green();
    MUST(driver.cuGreenCtxDestroy((CUgreenCtx)green));
    return green;
}

uint64_t new_attached(void)
{
    CUcontext context;
    MUST(driver.cuCtxAttach(&context, 0));
    return HANDLE(context);
}

uint64_t new_log_entry(void)
{
    CUlogsCallbackHandle entry;
    MUST(driver.cuLogsRegisterCallback((CUlogsCallback)good_log_callback(), NULL, &entry));
    return HANDLE(entry);
}

/* A dump says in it how much there was. */
uint64_t new_log_size(void)
{
    static size_t size;
    size = 4096;
    return HANDLE(&size);
}

uint64_t new_dead_log_entry(void)
{
    uint64_t entry = new_log_entry();
    MUST(driver.cuLogsUnregisterCallback((CUlogsCallbackHandle)entry));
    return entry;
}

static void *sms_of(CUdevResource *resource)
{
    MUST(driver.cuDeviceGetDevResource(0, resource, CU_DEV_RESOURCE_TYPE_SM));
    return resource;
}

const void *structs_sms(void)
{
    static CUdevResource resource;
    return sms_of(&resource);
}

const void *structs_sms_unknown(void)
{
    static CUdevResource resource;
    (void)sms_of(&resource);
    resource.type = (CUdevResourceType)77;
    return &resource;
}

const void *structs_sms_changed(void)
{
    static CUdevResource resource;
    (void)sms_of(&resource);
    resource.sm.smCount++;
    return &resource;
}
