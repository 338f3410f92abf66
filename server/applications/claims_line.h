/* SPDX-License-Identifier: Apache-2.0 */
/* The line of those that wait for others' claims (claims.h). In the way of an application are
 * claims of other tenants on the GPU, where one of both has GPUs for itself; and those of the
 * tenant's other programs, where with them a limit would be met.
 *
 * A client that waits stands in line, and nobody gets a claim that would be in the way of one
 * before it: a client that asks again and again comes behind all that wait. A client has one place
 * in the line at a time. */
#ifndef SERVER_APPLICATIONS_CLAIMS_LINE_H
#define SERVER_APPLICATIONS_CLAIMS_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/status.h"

struct control_application;

/* The place of a client in the line. All zeros: it has none. */
struct claims_place {
    struct ga_list link;
    const struct control_application *application; /* NULL: it does not wait */
    uint32_t gpu;                                  /* that it opens */
    bool limited; /* with others' claims a limit of its tenant would be met */
    uint64_t until_ns;
};

/* Whether this application, which opens the GPU, may have a ticket as far as others' claims go;
 * those in the way are taken back. GA_AGAIN: it waits, in this place of the line if the place is
 * free or for this GPU. GA_DENIED: it has waited in vain. */
GA_CHECKED enum ga_status claims_ask(const struct control_application *application, uint32_t gpu,
                                     struct claims_place *place);
/* It waits no more. Any number of times. */
void claims_leave(struct claims_place *place);
/* Whether the application has any claims; all of them are taken back. */
bool claims_any(const struct control_application *application);
void claims_take_back(const struct control_application *application);

#endif
