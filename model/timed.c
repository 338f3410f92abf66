/* SPDX-License-Identifier: Apache-2.0 */
/* The demand of timed kernels. */
#include "model/timed.h"

#include <stddef.h>

#include "model/constants.h"

_Static_assert(offsetof(struct model_timed, bandwidth) + sizeof(float) == MODEL_TIMED_BYTES,
               "the layout of CUDA's parameters");

/* False for what is no number. */
static bool is_share(float share)
{
    return share >= 0 && share <= 1;
}

const char *model_timed_wrong(const struct model_timed *timed)
{
    if (timed->ns > MODEL_TIMED_NS_MAX) {
        return "its time is at most 3600 s";
    }
    return is_share(timed->places) && is_share(timed->issue) && is_share(timed->bandwidth)
               ? NULL
               : "its shares of places, issue and bandwidth are 0 to 1";
}

struct model_demand model_timed_demand(const struct model_timed *timed)
{
    struct model_demand demand = {.lead_ns = MODEL_LAUNCH_NS, .ns = timed->ns};
    demand.share[MODEL_RESOURCE_SLOTS] = timed->places;
    demand.share[MODEL_RESOURCE_ISSUE] = timed->issue;
    demand.share[MODEL_RESOURCE_BANDWIDTH] = timed->bandwidth;
    return demand;
}
