/* SPDX-License-Identifier: Apache-2.0 */
#include "server/usage/usage.h"

void usage_init(struct usage *usage, const struct processes *processes, struct storage *storage)
{
    *usage = (struct usage){.loop = processes->loop,
                            .timers = processes->timers,
                            .conf = processes->conf,
                            .processes = processes,
                            .storage = storage};
    feedback_init(&usage->feedback);
    gpu_times_init(usage);
}

void usage_fini(struct usage *usage)
{
    feedback_fini(&usage->feedback);
    gpu_times_fini(usage);
    totals_fini(&usage->totals);
}
