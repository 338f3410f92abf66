/* SPDX-License-Identifier: Apache-2.0 */
#include "server/meter/meter_clock.h"

#include "api/cuda_driver.h"
#include "base/clock.h"

#define BASE_MS   64.0F /* an event that is later becomes the base: then a float tells 8 ns */
#define NS_PER_MS 1e6
#define SOON_NS   (20 * GA_NS_PER_US)
#define TRIES     10u
#define SMALL_NS  GA_NS_PER_MS       /* a smaller error is none */
#define WINDOW_NS (60 * GA_NS_PER_S) /* in which one event is seen at once */

/* When it was done is known as exactly as it was seen soon: the thread may have to wait for a
 * processor, so it tries again. */
static CUresult base_record_in(struct meter_clock *clock, const struct cuda_driver *driver,
                               CUstream stream)
{
    CUresult rc = CUDA_SUCCESS;
    uint64_t took_ns = UINT64_MAX;
    for (unsigned i = 0; rc == CUDA_SUCCESS && i < TRIES && took_ns > SOON_NS; i++) {
        uint64_t before_ns = ga_clock_ns();
        rc = driver->cuEventRecord(clock->base, stream);
        rc = rc == CUDA_SUCCESS ? driver->cuEventSynchronize(clock->base) : rc;
        clock->base_ns = ga_clock_ns();
        took_ns = clock->base_ns - before_ns;
    }
    return rc;
}

/* In a stream of its own: the legacy stream would make others wait. */
static CUresult base_record(struct meter_clock *clock, const struct cuda_driver *driver)
{
    CUstream stream;
    CU_TRY(driver->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CUresult rc = base_record_in(clock, driver, stream);
    CUresult second = driver->cuStreamDestroy_v2(stream);
    return rc == CUDA_SUCCESS ? second : rc;
}

CUresult meter_clock_start(struct meter_clock *clock, const struct cuda_driver *driver)
{
    *clock = (struct meter_clock){.broken = true};
    CU_TRY(driver->cuEventCreate(&clock->base, CU_EVENT_DEFAULT));
    CUresult rc = base_record(clock, driver);
    if (rc != CUDA_SUCCESS) {
        (void)driver->cuEventDestroy_v2(clock->base);
        return rc;
    }
    clock->broken = false;
    clock->runs = true;
    return CUDA_SUCCESS;
}

void meter_clock_end(struct meter_clock *clock, const struct cuda_driver *driver)
{
    if (clock->runs) {
        (void)driver->cuEventDestroy_v2(clock->base);
    }
    *clock = (struct meter_clock){0};
}

CUresult meter_clock_read(struct meter_clock *clock, const struct cuda_driver *driver,
                          CUevent *event, uint64_t *ns)
{
    float ms;
    CU_TRY(driver->cuEventElapsedTime_v2(&ms, clock->base, *event));
    *ns = clock->base_ns + (uint64_t)(int64_t)((double)ms * NS_PER_MS);
    if (ms > BASE_MS) {
        CUevent before = clock->base;
        clock->base = *event;
        clock->base_ns = *ns;
        *event = before;
    }
    return CUDA_SUCCESS;
}

void meter_clock_seen(struct meter_clock *clock, uint64_t ns, uint64_t now_ns)
{
    uint64_t done_ns = ns + (uint64_t)clock->shift_ns;
    uint64_t lag_ns = now_ns > done_ns ? now_ns - done_ns : 0;
    bool ahead = done_ns > now_ns + SMALL_NS;
    if (clock->since_ns == 0 || lag_ns < clock->lag_ns) {
        clock->lag_ns = lag_ns;
    }
    if (clock->since_ns == 0) {
        clock->since_ns = now_ns;
    }
    if (ahead) {
        clock->shift_ns -= (int64_t)(done_ns - now_ns);
    } else if (now_ns - clock->since_ns > WINDOW_NS && clock->lag_ns > SMALL_NS) {
        clock->shift_ns += (int64_t)clock->lag_ns;
    }
    if (ahead || now_ns - clock->since_ns > WINDOW_NS) {
        clock->since_ns = 0;
    }
}
