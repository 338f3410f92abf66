/* SPDX-License-Identifier: Apache-2.0 */
/* A long list of the store, page by page: one query, whose rows are read on with each page, as long
 * as the admin asks for the next one and for nothing else. All pages are of one moment then.
 * Otherwise `after` says behind which row another query goes on. */
#ifndef SERVER_ADMIN_ADMIN_LIST_H
#define SERVER_ADMIN_ADMIN_LIST_H

#include <jansson.h>

#include "server/admin/admin_store.h"
#include "server/admin/admin_verb.h"
#include "server/admin/admin_writer.h"

/* Lists that go on, at once; each holds the rows that its query has sorted. */
#define ADMIN_LISTS_MAX 8u

/* Sessions of a tenant, and their memory, as they are when a list begins. */
struct admin_list_use {
    uint64_t tenant, sessions, gpu_mem_bytes;
};

struct admin_list {
    const struct admin_verb *verb;
    json_t *arguments;             /* of its requests, without `after` */
    bool kept;                     /* it goes on, so its pages are short */
    struct store *store;           /* a connection of its own; NULL: it has not begun */
    struct store_list *rows;       /* the same */
    char next[STORE_NAME_MAX + 1]; /* the `after` that goes on with it */
    /* ---- what its verb knows */
    unsigned by;
    uint64_t told;
    struct admin_list_use *uses; /* by tenant, ascending */
    size_t use_count;
};

/* Made by the loop, with what the verb needs of `gpuaasd`. NULL: no memory. */
struct admin_list *admin_list_make(struct gpuaasd *gpuaasd, const struct admin_verb *verb,
                                   const json_t *arguments);
void admin_list_free(struct admin_list *list); /* NULL: nothing */
/* Whether the request is for the next page of it. */
bool admin_list_goes_on(const struct admin_list *list, const struct admin_verb *verb,
                        const json_t *arguments);

/* Counts what the tenants have here, for the verb tenant.list (admin_tenants.c). */
void admin_tenants_look(struct gpuaasd *gpuaasd, struct admin_list *list);

/* For verbs: sets items and next in the result of call->list. `begin` starts the query, behind
 * `after`; `row` writes the next row (an object) and sets `next`. */
enum admin_code admin_list_page(
    struct admin_call *call, enum admin_code (*begin)(struct admin_call *call, const char *after),
    enum ga_status (*row)(struct admin_list *list, struct admin_writer *out, bool *has));

#endif
