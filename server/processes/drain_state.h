/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a GPU, or the node, is being drained (server/applications/drain.h). */
#ifndef SERVER_PROCESSES_DRAIN_STATE_H
#define SERVER_PROCESSES_DRAIN_STATE_H

#include <stdbool.h>
#include <stdint.h>

#define DRAIN_REASON_BYTES 160

enum drain_state { DRAIN_NONE, DRAIN_GOING, DRAIN_DONE /* no application is left */ };

struct drain {
    enum drain_state state;
    char reason[DRAIN_REASON_BYTES];
    uint64_t deadline_ns; /* as timers_now; 0: none */
    bool ends;            /* gpuaasd ends when the node is empty */
};

#endif
