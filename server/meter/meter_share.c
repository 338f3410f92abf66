/* SPDX-License-Identifier: Apache-2.0 */
#include "server/meter/meter_share.h"

#include "server/meter/meter_batch.h"

#define SHARE_SAME  (FIGURES_WHOLE / 16) /* shares that differ by no more are one */
#define SPLIT_WORKS 16u                  /* pay for the end of a batch */

void meter_share_closed(struct meter *meter, const struct meter_batch *batch)
{
    uint64_t saved = meter->splits + batch->works;
    meter->splits = saved < METER_SPLITS_SAVED ? (uint32_t)saved : METER_SPLITS_SAVED;
}

/* Which shares go on with the batch without another look: about the same; or all that are not
 * larger, if it cannot be ended for them. */
void meter_share_take(struct meter *meter, struct meter_batch *batch, uint32_t share)
{
    batch->share = share > batch->share ? share : batch->share;
    bool any = batch->engine != GPU_COMPUTE || meter->splits < SPLIT_WORKS;
    meter->least = any || batch->share < SHARE_SAME ? 0 : batch->share - SHARE_SAME;
    meter->span = batch->share - meter->least;
}

/* Whether it had better end before a work of this share. */
bool meter_share_splits(struct meter *meter, const struct meter_batch *batch, uint32_t share)
{
    uint32_t less = share < batch->share ? share : batch->share;
    uint32_t more = share < batch->share ? batch->share : share;
    if (batch->engine != GPU_COMPUTE || batch->works == 0 || more - less <= SHARE_SAME ||
        meter->splits < SPLIT_WORKS) {
        return false;
    }
    meter->splits -= SPLIT_WORKS;
    return true;
}
