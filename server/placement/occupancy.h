/* SPDX-License-Identifier: Apache-2.0 */
/* The applications that use each GPU of this node.
 *
 * Note: an application uses a GPU from when it has opened it, as its backend process says, until
 * that process has ended, also while it is ending: until then its work may run. Before it has a
 * claim (claims.h). */
#ifndef SERVER_PLACEMENT_OCCUPANCY_H
#define SERVER_PLACEMENT_OCCUPANCY_H

#include "server/placement/placement.h"

struct processes;
struct refusal;
struct tenant;

/* The node as an application of this tenant finds it. */
struct node_view occupancy_view(const struct processes *processes, const struct tenant *tenant);
/* Why placement_pick has answered PLACEMENT_TAKEN. */
void occupancy_refusal(const struct tenant *tenant, struct refusal *refusal);

#endif
