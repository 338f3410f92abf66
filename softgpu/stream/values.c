/* SPDX-License-Identifier: Apache-2.0 */
/* Values in memory that streams write and wait for. A kernel that still runs, or the host, may
 * change a value, and neither reports it: while a stream waits, one thread polls the values, less
 * and less often. */
#include "softgpu/stream/values.h"

#include <inttypes.h>
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/wait.h"
#include "softgpu/engine/permission_map.h"
#include "softgpu/memory/ranges.h"
#include "softgpu/process/process.h"
#include "softgpu/stream/clock.h"
#include "softgpu/stream/queue.h"

#define VALUES_NAP_MIN_NS (20 * GA_NS_PER_US)
#define VALUES_NAP_MAX_NS GA_NS_PER_MS
#define VALUES_NAP_SHARE  20 /* a nap is a twentieth of the youngest wait's age */

struct value_item {
    struct sg_item item; /* first */
    struct sg_value value;
    uint64_t since_ns; /* when it was first found waiting; 0: not yet */
};

/* The thread that polls. All under the lock. */
static bool started, waiting; /* `waiting`: a wait was found since its last look */
static uint64_t youngest_ns;
static pthread_cond_t news;

CUresult sg_value_check(const struct sg_value *value)
{
    struct sg_range *range;
    enum sg_place place = sg_place_of(value->address, value->bytes,
                                      value->write ? SG_MAP_WRITE : SG_MAP_READ, &range);
    bool good =
        value->address % value->bytes == 0 && (place == SG_PLACE_DEVICE || place == SG_PLACE_HOST);
    return good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Kernels and the host change the value meanwhile: that is its purpose, and no race of softgpu's.
 * Everything written before the value is visible to the thread that has waited for it. */
__attribute__((no_sanitize("thread"))) static uint64_t value_read(const struct sg_value *value)
{
    const void *at = (const void *)(uintptr_t)value->address;
    uint64_t now = value->bytes == 4 ? __atomic_load_n((const uint32_t *)at, __ATOMIC_ACQUIRE)
                                     : __atomic_load_n((const uint64_t *)at, __ATOMIC_ACQUIRE);
#ifdef __SANITIZE_THREAD__
    __tsan_acquire((void *)(uintptr_t)value->address);
#endif
    return now;
}

__attribute__((no_sanitize("thread"))) static void value_write(const struct sg_value *value)
{
    void *at = (void *)(uintptr_t)value->address;
    if (value->bytes == 4) {
        __atomic_store_n((uint32_t *)at, (uint32_t)value->value, __ATOMIC_RELEASE);
    } else {
        __atomic_store_n((uint64_t *)at, value->value, __ATOMIC_RELEASE);
    }
}

static bool value_holds(const struct sg_value *value)
{
    uint64_t now = value_read(value), mask = value->bytes == 4 ? UINT32_MAX : UINT64_MAX;
    switch (value->wait) {
    case CU_STREAM_WAIT_VALUE_EQ:
        return now == value->value;
    case CU_STREAM_WAIT_VALUE_AND:
        return (now & value->value) != 0;
    case CU_STREAM_WAIT_VALUE_NOR:
        return (~(now | value->value) & mask) != 0;
    default: /* cyclic */
        return ((now - value->value) & mask) <= mask >> 1;
    }
}

static uint64_t values_nap_ns(void)
{
    uint64_t nap = (ga_clock_ns() - youngest_ns) / VALUES_NAP_SHARE;
    return nap < VALUES_NAP_MIN_NS   ? VALUES_NAP_MIN_NS
           : nap > VALUES_NAP_MAX_NS ? VALUES_NAP_MAX_NS
                                     : nap;
}

static void *values_thread_main(void *unused)
{
    (void)unused;
    sg_lock();
    for (;;) {
        while (!waiting) {
            pthread_cond_wait(&news, &sg_process.lock);
        }
        (void)ga_cond_wait_until(&news, &sg_process.lock, ga_clock_ns() + values_nap_ns());
        waiting = false;
        sg_schedule();
    }
    return NULL;
}

static bool values_thread_start(void)
{
    ga_cond_init(&news);
    bool made = ga_thread_start(NULL, values_thread_main, NULL) == GA_OK;
    if (!made) {
        ga_error("softgpu: cannot start the thread that looks at values");
    }
    return made;
}

void sg_look_again(uint64_t *since_ns)
{
    started = started || values_thread_start();
    bool told = waiting; /* otherwise it sleeps, or nothing waited when it looked */
    waiting = true;
    if (*since_ns == 0) {
        *since_ns = ga_clock_ns();
        youngest_ns = *since_ns;
        told = false; /* a shorter nap */
    }
    if (!told) {
        pthread_cond_signal(&news);
    }
}

bool sg_value_try(const struct sg_value *value, uint64_t *since_ns)
{
    if (sg_value_check(value) != CUDA_SUCCESS) {
        ga_error("softgpu: value at 0x%" PRIx64 ": memory was taken away before its turn",
                 value->address);
        sg_process_condemn(CUDA_ERROR_ILLEGAL_ADDRESS);
        return true;
    }
    if (value->write) {
        value_write(value);
        return true;
    }
    bool holds = value_holds(value);
    if (!holds) {
        sg_look_again(since_ns);
    }
    return holds;
}

static bool value_step(struct sg_item *item)
{
    struct value_item *made = ga_container(item, struct value_item, item);
    bool done = sg_value_try(&made->value, &made->since_ns);
    if (done && made->since_ns != 0) {
        sg_clock_advance(item->stream, ga_clock_ns()); /* it was written just now */
    }
    return done;
}

CUresult sg_values_start(void)
{
    started = started || values_thread_start();
    return started ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
}

CUresult sg_submit_value(struct sg_stream *stream, const struct sg_value *value)
{
    CU_TRY(value->write ? CUDA_SUCCESS : sg_values_start());
    struct value_item *made = sg_item_make(sizeof *made, GPU_COMPUTE, NULL);
    if (made == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    made->item.kind = SG_ITEM_STEPS;
    made->item.step = value_step;
    made->value = *value;
    sg_submit(stream, &made->item);
    return CUDA_SUCCESS;
}
