/* SPDX-License-Identifier: Apache-2.0 */
/* No scheduling: a session with work may begin it. The driver decides, as with plain CUDA.
 *
 * Reads: nothing. Starvation: as the driver has it. Bad: where one tenant's kernels are long. */
#include "sched/next/next.h"

static void none_decide(struct sched *sched, uint64_t now)
{
    (void)now;
    sched_each (sched, slot) {
        if (!sched->sessions[slot].capped) {
            sched_wake(sched, slot, SCHED_NEVER, 0);
        }
    }
}

const struct sched_policy sched_policy_none = {
    .name = "none",
    .summary = "everybody may work at any time, within caps",
    .decide = none_decide,
};
