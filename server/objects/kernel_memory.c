/* SPDX-License-Identifier: Apache-2.0 */
#include "server/objects/kernel_memory.h"

#include "api/driver_places.h"
#include "api/extent.h"
#include "server/app/app.h"
#include "server/driver/driver.h"
#include "server/objects/mapped_memory.h"

#define HEAP_BYTES_MIN  4096u
#define STACK_BYTES_MAX ((uint64_t)512 << 10) /* of a thread, in all of CUDA */
/* By estimate: the parameters of a launch, at most 4 KiB, and as much for the rest of it. */
#define LAUNCH_BYTES ((uint64_t)8 << 10)
/* CUDA C++ Programming Guide, "Memory footprint" of nested launches: 150 MB for each level. */
#define NESTING_BYTES ((uint64_t)150 << 20)

static const struct kernel_limit {
    CUlimit limit;
    uint64_t unit; /* bytes of the GPU for each one of the limit; 0: one for each thread on it */
} kernel_limits[KERNEL_MEMORY_KINDS] = {
    [KERNEL_MEMORY_HEAP] = {CU_LIMIT_MALLOC_HEAP_SIZE, 1},
    [KERNEL_MEMORY_OUTPUT] = {CU_LIMIT_PRINTF_FIFO_SIZE, 1},
    [KERNEL_MEMORY_STACKS] = {CU_LIMIT_STACK_SIZE, 0},
    [KERNEL_MEMORY_LAUNCHES] = {CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, LAUNCH_BYTES},
    [KERNEL_MEMORY_NESTING] = {CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, NESTING_BYTES},
};

/* ---- by estimate */

static uint64_t kernel_threads(const struct server_app *app, const struct server_context *context)
{
    int sms = 0, threads = 0;
    CUdevice device = context->session->real;
    (void)app->driver->cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
    (void)app->driver->cuDeviceGetAttribute(
        &threads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, device);
    return sms > 0 && threads > 0 ? (uint64_t)sms * (uint64_t)threads : 1;
}

static uint64_t times(uint64_t bytes, uint64_t unit)
{
    return unit != 0 && bytes > UINT64_MAX / 2 / unit ? UINT64_MAX / 2 : bytes * unit;
}

/* Above what a context takes with the limit that it began with, if the limit were `value`. */
static uint64_t estimate(const struct server_app *app, const struct server_context *context,
                         enum kernel_memory_kind kind, uint64_t value)
{
    CUlimit limit = kernel_limits[kind].limit;
    bool changed = (context->limits_set >> limit & 1) != 0;
    size_t began = 0;
    uint64_t unit = kernel_limits[kind].unit;
    if (changed) {
        began = context->limits[limit];
    } else if (app->driver->cuCtxGetLimit(&began, limit) != CUDA_SUCCESS) {
        return 0;
    }
    if (kind == KERNEL_MEMORY_STACKS) {
        uint64_t local = context->kernel_memory.local_bytes;
        value = value > local ? value : local;
        value = value < STACK_BYTES_MAX ? value : STACK_BYTES_MAX;
        unit = kernel_threads(app, context);
    }
    return value > began ? times(value - began, unit) : 0;
}

/* ---- as it is */

static uint64_t heap_extent(uint64_t bytes)
{
    return api_extent(bytes > HEAP_BYTES_MIN ? bytes : HEAP_BYTES_MIN);
}

static CUresult heap_counted(const struct server_context *context,
                             const struct cuda_driver_places *places, uint64_t *bytes)
{
    struct cuda_kernel_heap heap = {0};
    CU_TRY((CUresult)places->heap_read(context->real, &heap));
    *bytes = heap.bytes != 0 ? api_extent(heap.bytes) : 0;
    return CUDA_SUCCESS;
}

/* The memory that the driver has taken, or may take now. */
static CUresult due_now(const struct server_app *app, const struct server_context *context,
                        enum kernel_memory_kind kind, uint64_t *bytes)
{
    const struct cuda_driver_places *places = driver_counts(app->driver);
    size_t value;
    *bytes = 0;
    if (places != NULL) {
        return kind == KERNEL_MEMORY_HEAP ? heap_counted(context, places, bytes) : CUDA_SUCCESS;
    }
    if (app->driver->cuCtxGetLimit(&value, kernel_limits[kind].limit) == CUDA_SUCCESS) {
        *bytes = estimate(app, context, kind, value);
    }
    return CUDA_SUCCESS;
}

/* As due_now, when the limit is `value`. */
static CUresult due_then(const struct server_app *app, const struct server_context *context,
                         enum kernel_memory_kind kind, uint64_t value, uint64_t *bytes)
{
    const struct cuda_driver_places *places = driver_counts(app->driver);
    if (places == NULL) {
        *bytes = estimate(app, context, kind, value);
        return CUDA_SUCCESS;
    }
    CU_TRY(due_now(app, context, kind, bytes));
    *bytes = *bytes != 0 ? heap_extent(value) : 0;
    return CUDA_SUCCESS;
}

/* ---- charging */

static CUresult charge_to(struct server_app *app, struct server_context *context,
                          enum kernel_memory_kind kind, uint64_t bytes)
{
    uint64_t *charged = &context->kernel_memory.charged[kind];
    if (bytes > *charged) {
        CU_TRY(memory_charge(app, context->session, bytes - *charged));
    } else if (bytes < *charged) {
        ledger_return_device(app->ledger, context->session->gpu, *charged - bytes);
    }
    *charged = bytes;
    return CUDA_SUCCESS;
}

static CUresult charge_up_to(struct server_app *app, struct server_context *context,
                             enum kernel_memory_kind kind, uint64_t bytes)
{
    return bytes > context->kernel_memory.charged[kind] ? charge_to(app, context, kind, bytes)
                                                        : CUDA_SUCCESS;
}

static CUresult settle(struct server_app *app, struct server_context *context,
                       enum kernel_memory_kind kind)
{
    uint64_t bytes;
    CU_TRY(due_now(app, context, kind, &bytes));
    return charge_to(app, context, kind, bytes);
}

CUresult kernel_memory_settle(struct server_app *app, struct server_context *context)
{
    for (unsigned kind = 0; kind < KERNEL_MEMORY_KINDS; kind++) {
        CU_TRY(settle(app, context, (enum kernel_memory_kind)kind));
    }
    return CUDA_SUCCESS;
}

uint64_t kernel_memory_bytes(const struct server_context *context)
{
    uint64_t bytes = 0;
    for (unsigned kind = 0; kind < KERNEL_MEMORY_KINDS; kind++) {
        bytes += context->kernel_memory.charged[kind];
    }
    return bytes;
}

void kernel_memory_return(struct server_app *app, struct server_context *context)
{
    for (unsigned kind = 0; kind < KERNEL_MEMORY_KINDS; kind++) {
        (void)charge_to(app, context, (enum kernel_memory_kind)kind, 0);
    }
}

CUresult kernel_memory_heap(struct server_app *app, struct server_context *context)
{
    size_t value;
    uint64_t has;
    const struct cuda_driver_places *places = driver_counts(app->driver);
    if (places == NULL) {
        return CUDA_SUCCESS; /* it counts as taken from the beginning */
    }
    CU_TRY(heap_counted(context, places, &has));
    CU_TRY(has == 0 ? app->driver->cuCtxGetLimit(&value, CU_LIMIT_MALLOC_HEAP_SIZE) : CUDA_SUCCESS);
    return has == 0 ? charge_up_to(app, context, KERNEL_MEMORY_HEAP, heap_extent(value))
                    : CUDA_SUCCESS;
}

CUresult kernel_memory_local(struct server_app *app, struct server_context *context,
                             uint64_t local_bytes)
{
    uint64_t before = context->kernel_memory.local_bytes;
    if (local_bytes <= before || driver_counts(app->driver) != NULL) {
        return CUDA_SUCCESS;
    }
    context->kernel_memory.local_bytes = local_bytes;
    CUresult rc = settle(app, context, KERNEL_MEMORY_STACKS);
    if (rc != CUDA_SUCCESS) {
        context->kernel_memory.local_bytes = before;
    }
    return rc;
}

/* ---- limits */

static enum kernel_memory_kind limit_kind(CUlimit limit)
{
    enum kernel_memory_kind kind = 0;
    while (kind < KERNEL_MEMORY_KINDS && kernel_limits[kind].limit != limit) {
        kind++;
    }
    return kind;
}

static CUresult limit_set(const struct server_app *app, struct server_context *context,
                          CUlimit limit, size_t value)
{
    size_t before = 0;
    bool first = (unsigned)limit < CU_LIMIT_MAX && (context->limits_set >> limit & 1) == 0 &&
                 app->driver->cuCtxGetLimit(&before, limit) == CUDA_SUCCESS;
    CU_TRY(app->driver->cuCtxSetLimit(limit, value));
    if (first) {
        context->limits[limit] = before;
        context->limits_set |= 1u << limit;
    }
    return CUDA_SUCCESS;
}

CUresult kernel_memory_limit(struct server_app *app, struct server_context *context, CUlimit limit,
                             size_t value)
{
    enum kernel_memory_kind kind = limit_kind(limit);
    uint64_t bytes;
    if (kind == KERNEL_MEMORY_KINDS) {
        return limit_set(app, context, limit, value);
    }
    CU_TRY(due_then(app, context, kind, value, &bytes));
    CU_TRY(charge_up_to(app, context, kind, bytes));
    CUresult rc = limit_set(app, context, limit, value);
    (void)settle(app, context, kind);
    return rc;
}
