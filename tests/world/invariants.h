/* SPDX-License-Identifier: Apache-2.0 */
/* Statements that hold in a world at any time, and at its end. */
#ifndef TESTS_WORLD_INVARIANTS_H
#define TESTS_WORLD_INVARIANTS_H

struct world;

/* Nothing is lent beyond a limit, or charged beyond what was lent; no tenant has more sessions than
 * it may, and nobody is beside a tenant that has its GPUs for itself; each seat has an application,
 * or is about to end. */
void invariants_check(const struct world *world);
/* All programs have ended: the time of each GPU is in the account of the tenant that has had it,
 * and in no other. */
void invariants_at_end(const struct world *world);

#endif
