/* SPDX-License-Identifier: Apache-2.0 */
/* Names and texts that the store takes, and tenants by their names. */
#ifndef STORE_NAME_H
#define STORE_NAME_H

#include "store/sql.h"

/* `noun` is for the error: "tenant". GA_INVALID. */
GA_CHECKED enum ga_status name_check(struct store *store, const char *noun, const char *name);
/* One line of text: no control characters, valid length. */
GA_CHECKED enum ga_status name_check_text(struct store *store, const char *noun, const char *text);
/* The number of the tenant; GA_NOT_FOUND with why. */
GA_CHECKED enum ga_status name_tenant(struct store *store, const char *tenant, int64_t *number);
/* Whether the tenant has this user; "" is always there. GA_NOT_FOUND with why. */
GA_CHECKED enum ga_status name_user(struct store *store, int64_t number, const char *tenant,
                                    const char *user);
/* Compares generations: `found` is that of the row, 0 if there is none. GA_CONFLICT, GA_NOT_FOUND
 * (only if one is expected). */
GA_CHECKED enum ga_status name_generation(struct store *store, const char *noun, const char *name,
                                          uint64_t wanted, uint64_t found);
/* Writes the rows of tenant_limit or user_limit anew. `user` NULL: of the tenant. */
GA_CHECKED enum ga_status name_limits_put(struct store *store, int64_t number, const char *user,
                                          const struct limits *limits);

#endif
