/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/world/tenants.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#include "tests/world/node.h"

#define TTL_MIN_S    60u
#define TTL_SPREAD_S 600u

static const struct {
    const char *name;
    const char *terms[3];
} tenants[WORLD_TENANTS] = {
    {"lab", {"gpu-mem=6GiB", "gpu-mem-per-gpu=4GiB", "sessions=3"}},
    {"alone", {"isolation=exclusive"}},
    {"short", {"wall-time=20s", "idle-timeout=8s"}},
    {"spent", {"gpu-seconds-day=120s", "on-exhausted=suspend"}},
};

static uint64_t tenant_enter(struct world_node *node, unsigned i)
{
    struct store *store = node->storage.store;
    struct store_tenant made;
    char why[300];
    store_tenant_init(&made, tenants[i].name);
    for (unsigned k = 0; k < 3 && tenants[i].terms[k] != NULL; k++) {
        cr_assert_eq(store_tenant_set(&made, tenants[i].terms[k], why, sizeof why), GA_OK, "%s",
                     why);
    }
    cr_assert_eq(store_tenant_put(store, &made, 0), GA_OK, "%s", store_why(store));
    return made.number;
}

void tenants_make(struct world *world)
{
    world->tenants = calloc(WORLD_TENANTS, sizeof *world->tenants);
    cr_assert_not_null(world->tenants);
    for (unsigned i = 0; i < WORLD_TENANTS; i++) {
        world->tenants[i].name = tenants[i].name;
        for (unsigned node = 0; node < WORLD_NODES; node++) {
            world->tenants[i].number[node] = tenant_enter(world->nodes[node], i);
        }
    }
}

void tenants_free(struct world *world)
{
    free(world->tenants);
}

static void token_issue(struct world *world, unsigned tenant, unsigned node)
{
    struct world_token *token = &world->tenants[tenant].tokens[node];
    struct store_credential made;
    char why[600];
    int64_t ttl_s = TTL_MIN_S + (int64_t)world_any(world, TTL_SPREAD_S);
    cr_assert_eq(auth_token_issue(world->nodes[node]->storage.store, tenants[tenant].name, "", "",
                                  ttl_s, world_wall_s(world), token->text, &made, why, sizeof why),
                 GA_OK, "%s", why);
    token->expires = made.expires;
    world_log(world, "node %u tenant %s: a token for %d s", node, tenants[tenant].name, (int)ttl_s);
}

const struct world_token *tenants_token(struct world *world, unsigned tenant, unsigned node)
{
    const struct world_token *token = &world->tenants[tenant].tokens[node];
    bool expired = token->expires <= world_wall_s(world);
    if (token->text[0] == 0 || (expired && world_chance(world, 50))) {
        token_issue(world, tenant, node);
    }
    return token;
}

void tenants_used(struct world *world, unsigned tenant, unsigned node, uint64_t ns)
{
    world->tenants[tenant].used_ns[node] += ns;
}
