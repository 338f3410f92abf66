/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/world/invariants.h"

#include <criterion/criterion.h>

#include "server/applications/application.h"
#include "server/seats/seat.h"
#include "server/tenants/tenant.h"
#include "tests/world/node.h"
#include "tests/world/process.h"
#include "tests/world/tenants.h"

/* Times are divided in floating point, and written in whole nanoseconds, for each session. When
 * one ends, it is assumed what others have not told yet. */
#define ROUNDING_NS  1e6
#define ASSUMED_NS   2e8
#define ASSUMED_PART 0.005

static void tenant_check(const struct tenant *tenant)
{
    const struct lending_account *account = &tenant->lender.account;
    uint64_t sessions = tenant->terms.limits.of[LIMIT_SESSIONS];
    cr_assert(lender_balances(tenant), "%s: the sums of what is lent", tenant->terms.name);
    for (unsigned kind = 0; kind < CHANNEL_LENT_KINDS; kind++) {
        cr_assert(account->most[kind] == LIMIT_NONE || account->lent[kind] <= account->most[kind],
                  "%s: more of kind %u is lent than it may have", tenant->terms.name, kind);
    }
    cr_assert(sessions == LIMIT_NONE || tenant->session_count <= sessions, "%s: sessions",
              tenant->terms.name);
}

static void seat_check(const struct world_process *of, const struct seat *seat)
{
    const struct world_backend *backend = &of->backend;
    cr_assert(seat->left || seat->application->admitted, "the seat of nobody");
    for (uint32_t gpu = 0; gpu < WORLD_GPUS && backend->taken; gpu++) {
        uint64_t lent = backend->lent[CHANNEL_LENT_DEVICE][gpu];
        cr_assert_leq(backend->charged[gpu], lent, "more is charged than it was lent");
    }
}

static void processes_check(const struct world_node *node)
{
    ga_list_each (at, next, &node->processes.processes) {
        const struct world_process *of = ga_container(at, const struct world_process, process.link);
        const struct seat *seat = seat_in(&of->process, 0);
        if (seat != NULL && !of->dead) {
            seat_check(of, seat);
        }
    }
}

static void gpu_check(const struct world *world, const struct world_gpu *gpu)
{
    unsigned exclusive = 0, all = 0;
    ga_list_each (at, next, &gpu->sessions) {
        const struct world_session *session = ga_container(at, const struct world_session, link);
        exclusive += session->tenant == TENANT_ALONE;
        all++;
    }
    cr_assert(exclusive == 0 || exclusive == all, "a GPU of %s has others on node %u",
              world->tenants[TENANT_ALONE].name, gpu->node);
}

void invariants_check(const struct world *world)
{
    for (unsigned i = 0; i < WORLD_NODES; i++) {
        const struct world_node *node = world->nodes[i];
        ga_list_each (at, next, &node->applications.tenants.all) {
            tenant_check(ga_container(at, const struct tenant, link));
        }
        processes_check(node);
        for (unsigned gpu = 0; gpu < WORLD_GPUS; gpu++) {
            gpu_check(world, &node->gpus[gpu]);
        }
    }
}

void invariants_at_end(const struct world *world)
{
    for (unsigned i = 0; i < WORLD_TENANTS; i++) {
        const struct world_tenant *tenant = &world->tenants[i];
        for (unsigned node = 0; node < WORLD_NODES; node++) {
            struct store *store = world->nodes[node]->storage.store;
            struct store_figures sum = {0};
            cr_assert_eq(store_usage_period(store, tenant->number[node], NULL, STORE_MONTH,
                                            world_wall_s(world), &sum),
                         GA_OK, "%s", store_why(store));
            double had = (double)tenant->used_ns[node];
            double lacks = had - (double)sum.gpu_ns;
            cr_assert(lacks > -ROUNDING_NS && lacks < ASSUMED_NS + ASSUMED_PART * had,
                      "node %u: %s has had %.3f s of its GPUs, and its account says %.3f s", node,
                      tenant->name, had / 1e9, (double)sum.gpu_ns / 1e9);
        }
    }
}
