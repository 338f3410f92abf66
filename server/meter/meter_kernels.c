/* SPDX-License-Identifier: Apache-2.0 */
#include "server/meter/meter_kernels.h"

#include "server/app/app.h"
#include "server/meter/meter.h"
#include "server/meter/meter_batch.h"

#define LITTLE 64u /* a batch that takes less than this part of the limit takes next to no time */

void meter_limit_kernels(struct meter *meter, uint64_t ns)
{
    meter_forget(meter);
    meter->kernel_ns = ns;
    meter->on = meter->on || ns != 0;
}

void meter_kernels_more(struct meter *meter, uint64_t more)
{
    if (meter->batch != NULL) {
        meter->batch->works += more;
        if (meter_kernels_count(meter, meter->batch->engine)) {
            meter_forget(meter); /* the next work looks whether the batch is full */
        }
    }
}

void meter_kernels_learn(const struct meter *meter, const struct meter_batch *batch,
                         uint64_t took_ns)
{
    struct meter_lane *lane = batch->lane;
    if (lane == NULL || !meter_kernels_count(meter, batch->engine)) {
        return;
    }
    if (took_ns >= meter->kernel_ns / LITTLE) {
        lane->doublings = 0;
    } else if (lane->doublings < METER_DOUBLINGS) {
        lane->doublings++;
    }
}

bool meter_kernels_over(const struct meter *meter, struct meter_batch *batch, uint64_t now_ns)
{
    if (!meter_kernels_count(meter, batch->engine) || !batch->closed) {
        return false;
    }
    if (batch->runs_ns == 0) {
        batch->runs_ns = now_ns;
    }
    uint64_t runs_ns = now_ns - batch->runs_ns;
    if (runs_ns > meter->kernel_ns && batch->lane != NULL) {
        batch->lane->doublings = 0;
    }
    return runs_ns > meter->grace_ns &&
           (runs_ns - meter->grace_ns) / batch->works > meter->kernel_ns;
}
