/* SPDX-License-Identifier: Apache-2.0 */
/* The applications of gpuaasd: what this room knows. Control connections, of the room above, tell
 * it of them and hear of them by a table (application.h). */
#ifndef SERVER_APPLICATIONS_APPLICATIONS_H
#define SERVER_APPLICATIONS_APPLICATIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/number_map.h"
#include "conf/conf.h"
#include "server/access/access.h"
#include "server/applications/close_reason.h"
#include "server/applications/drain.h"
#include "server/processes/processes.h"
#include "server/seats/seat.h"
#include "server/tenants/refusal.h"
#include "server/tenants/tenant.h"
#include "server/timers.h"
#include "server/usage/usage.h"

struct applications {
    struct server_timers *timers;
    const struct conf *conf;
    struct processes *processes;
    struct usage *usage;
    struct access *access;
    struct access_watcher watcher; /* for it */
    struct tenant_table tenants;   /* those that have applications here */
    struct seats_room seats;
    struct ga_list all; /* struct control_application, those that are admitted */
    struct ga_number_map by_number;
    struct ga_list claims_line;      /* struct claims_place, the first one first (claims_line.h) */
    uint64_t refused[REFUSAL_COUNT]; /* programs, by the reason */
    uint64_t closed[APPLICATION_CLOSES]; /* sessions, by the reason */
    uint32_t alone_count;                /* those without a control connection */
    bool stopping;                       /* gpuaasd ends */
    struct drains drains;
    struct server_timer terminations; /* while any is terminated */
};

/* All but `applications` is borrowed, and there when it is. */
void applications_init(struct applications *applications, struct processes *processes,
                       struct usage *usage, struct access *access,
                       const struct drain_hooks *drain_hooks);
/* When the loop has ended, before its last turn. */
void applications_fini(struct applications *applications);

#endif
