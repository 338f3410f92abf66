/* SPDX-License-Identifier: Apache-2.0 */
#include "server/tenants/member.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct member *member_known(const struct tenant *tenant, const char *name)
{
    ga_list_each (at, next, &tenant->members) {
        const struct member *member = ga_container(at, struct member, link);
        if (strcmp(member->name, name) == 0) {
            return member;
        }
    }
    return NULL;
}

struct member *member_find(struct tenant *tenant, const char *name, const struct limits *limits)
{
    struct member *member = (struct member *)(uintptr_t)member_known(tenant, name);
    if (member != NULL) {
        member->users++;
        member_limit(member, limits);
        return member;
    }
    member = calloc(1, sizeof *member);
    if (member == NULL ||
        lending_account_init(&member->account, tenant->lender.account.gpu_count) != GA_OK) {
        free(member);
        return NULL;
    }
    member->account.above = &tenant->lender.account;
    member->tenant = tenant;
    member->limits = *limits;
    member->movers = member->users = 1;
    snprintf(member->name, sizeof member->name, "%s", name);
    lending_limit(&member->account, limits);
    tenant_keep(tenant);
    ga_list_append(&tenant->members, &member->link);
    return member;
}

void member_limit(struct member *member, const struct limits *limits)
{
    if (memcmp(&member->limits, limits, sizeof *limits) != 0) {
        member->limits = *limits;
        lending_limit(&member->account, limits);
        lender_limits(member->tenant);
        tenant_wait(member->tenant);
    }
}

void member_drop(struct member *member)
{
    if (member != NULL && --member->users == 0) {
        ga_list_remove(&member->link);
        lending_account_fini(&member->account);
        tenant_drop(member->tenant);
        free(member);
    }
}

const struct limits *member_limits(const struct tenant *tenant, const struct member *member)
{
    return member != NULL ? &member->limits : &tenant->terms.limits;
}

bool member_has_own(const struct tenant *tenant, const struct member *member, enum limit limit)
{
    return member != NULL && member->limits.of[limit] < tenant->terms.limits.of[limit];
}

uint32_t member_own(const struct tenant *tenant, const struct member *member)
{
    _Static_assert(LIMIT_COUNT <= 32, "a bit for each");
    uint32_t own = 0;
    for (unsigned limit = 0; limit < LIMIT_COUNT; limit++) {
        own |= (uint32_t)member_has_own(tenant, member, (enum limit)limit) << limit;
    }
    return own;
}

void member_write(const struct tenant *tenant, const struct member *member, char *text, size_t size)
{
    if (member != NULL) {
        snprintf(text, size, "user %s of tenant %s", member->name, tenant->terms.name);
    } else {
        snprintf(text, size, "tenant %s", tenant->terms.name);
    }
}
