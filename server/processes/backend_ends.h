/* SPDX-License-Identifier: Apache-2.0 */
/* The descriptors that a backend process inherits from gpuaasd: its ends of sockets, and memory
 * that both have. */
#ifndef SERVER_PROCESSES_BACKEND_ENDS_H
#define SERVER_PROCESSES_BACKEND_ENDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "server/figures.h"
#include "server/grants.h"

/* Descriptors are -1 and memory is NULL where there is none. */
struct backend_ends {
    int channel, figures, requests, grants, bell, log; /* the process's */
    int our_channel, our_bell, our_log;
    const struct figures_page *our_figures;
    const struct grant_requests *our_requests;
    struct grants *our_grants;
};

/* Makes all of it; a probe needs nothing for turns. An error with `why`: there is nothing. */
GA_CHECKED enum ga_status backend_ends_make(struct backend_ends *ends, bool turns, char *why,
                                            size_t why_size);
/* The process has its descriptors, or will never have them. */
void backend_ends_close_theirs(struct backend_ends *ends);
/* Closes and unmaps whatever is there. */
void backend_ends_undo(struct backend_ends *ends);

#endif
