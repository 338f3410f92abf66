/* SPDX-License-Identifier: Apache-2.0 */
/* The tenants of a world, which each node's store has, with their tokens, which expire; and what
 * their programs have used, as the GPUs know it. */
#ifndef TESTS_WORLD_TENANTS_H
#define TESTS_WORLD_TENANTS_H

#include "auth/auth.h"
#include "tests/world/world.h"

#define TENANT_ALONE 1u /* the one that has its GPUs for itself */

/* For a node. */
struct world_token {
    char text[AUTH_TOKEN_BYTES];
    int64_t expires;
};

struct world_tenant {
    const char *name;
    uint64_t number[WORLD_NODES]; /* in the store of each node */
    struct world_token tokens[WORLD_NODES];
    uint64_t used_ns[WORLD_NODES]; /* time of its GPUs that its programs have had */
};

void tenants_make(struct world *world);
void tenants_free(struct world *world);
/* A token for the node: most often one that is valid still, for a while. */
const struct world_token *tenants_token(struct world *world, unsigned tenant, unsigned node);
/* A program of it has had so much time of a GPU of the node. */
void tenants_used(struct world *world, unsigned tenant, unsigned node, uint64_t ns);

#endif
