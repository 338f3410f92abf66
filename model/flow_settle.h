/* SPDX-License-Identifier: Apache-2.0 */
/* Between two changes of a flow everything goes on at a rate: how the next such time begins. */
#ifndef MODEL_FLOW_SETTLE_H
#define MODEL_FLOW_SETTLE_H

#include "model/flow.h"

/* Computes what is left at flow->now_ns, ends what has nothing left, and finds the owner of the
 * device from then on, at which rates work goes on, and when that changes. */
void model_flow_settle(struct model_flow *flow, const struct soft_device *device);

#endif
