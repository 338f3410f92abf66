/* SPDX-License-Identifier: Apache-2.0 */
#include "server/usage/totals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 8u

/* NULL: no memory. */
static struct totals_tenant *totals_add(struct totals *totals, const char *name)
{
    if (totals->count == totals->room) {
        uint32_t room = totals->room != 0 ? 2 * totals->room : FIRST_ROOM;
        struct totals_tenant *each = realloc(totals->each, room * sizeof *each);
        if (each == NULL) {
            return NULL;
        }
        totals->each = each;
        totals->room = room;
    }
    struct totals_tenant *made = &totals->each[totals->count];
    *made = (struct totals_tenant){.sessions = 0};
    snprintf(made->name, sizeof made->name, "%s", name);
    totals->count++;
    return made;
}

struct totals_tenant *totals_of(struct totals *totals, const char *tenant)
{
    if (totals->count == 0 && totals_add(totals, TOTALS_OTHERS) == NULL) {
        return NULL;
    }
    for (uint32_t i = 1; i < totals->count; i++) {
        if (strcmp(totals->each[i].name, tenant) == 0) {
            return &totals->each[i];
        }
    }
    struct totals_tenant *made =
        totals->count <= TOTALS_TENANTS_MAX ? totals_add(totals, tenant) : NULL;
    return made != NULL ? made : &totals->each[0];
}

void totals_fini(struct totals *totals)
{
    for (uint32_t i = 0; i < totals->count; i++) {
        free(totals->each[i].gpus);
    }
    free(totals->each);
    *totals = (struct totals){.count = 0};
}

void totals_use(struct totals *totals, const char *tenant, uint32_t gpu, uint32_t gpus,
                const uint64_t now[TOTALS_FIGURES], uint64_t told[TOTALS_FIGURES])
{
    struct totals_tenant *of = totals_of(totals, tenant);
    if (of != NULL && of->gpus == NULL) {
        of->gpus = calloc(gpus, sizeof *of->gpus);
    }
    if (of == NULL || of->gpus == NULL || gpu >= gpus) {
        return; /* the next time */
    }
    for (unsigned i = 0; i < TOTALS_FIGURES; i++) {
        if (now[i] > told[i]) {
            of->gpus[gpu][i] += now[i] - told[i];
            told[i] = now[i];
        }
    }
}

void totals_session(struct totals *totals, const char *tenant)
{
    struct totals_tenant *of = totals_of(totals, tenant);
    if (of != NULL) {
        of->sessions++;
    }
}

void totals_refused(struct totals *totals, const char *tenant, enum limit limit)
{
    struct totals_tenant *of = totals_of(totals, tenant);
    if (of != NULL && limit < LIMIT_COUNT) {
        of->refused[limit]++;
    }
}
