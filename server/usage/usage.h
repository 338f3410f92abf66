/* SPDX-License-Identifier: Apache-2.0 */
/* The use of the GPUs by applications: the state of this room. */
#ifndef SERVER_USAGE_USAGE_H
#define SERVER_USAGE_USAGE_H

#include <uv.h>

#include "server/processes/processes.h"
#include "server/storage/storage.h"
#include "server/usage/feedback.h"
#include "server/usage/gpu_times.h"
#include "server/usage/totals.h"

struct accounting;

struct usage {
    uv_loop_t *loop; /* for the thread that writes */
    struct server_timers *timers;
    const struct conf *conf;
    const struct processes *processes; /* for their GPUs */
    struct storage *storage;
    struct accounting *accounting; /* NULL: there is none */
    struct feedback feedback;
    struct gpu_times times;
    struct totals totals;
};

/* The others are borrowed, and there when it is. */
void usage_init(struct usage *usage, const struct processes *processes, struct storage *storage);
/* Behind accounting_stop: there are no seats any more, or it is a hurried end. */
void usage_fini(struct usage *usage);

#endif
