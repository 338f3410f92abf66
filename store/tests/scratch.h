/* SPDX-License-Identifier: Apache-2.0 */
/* A folder for a test's databases, which goes with the test's process, and stores in it. */
#ifndef STORE_TESTS_SCRATCH_H
#define STORE_TESTS_SCRATCH_H

#include <criterion/criterion.h>

#include "store/store.h"

/* A path in the folder, valid until the eighth call after this one. */
const char *scratch_path(const char *name);
struct store *scratch_open(const char *path);
/* Asserts that the store refuses, and that its reason has `part` in it. */
void scratch_refused(enum ga_status status, enum ga_status wanted, const struct store *store,
                     const char *part);
/* Asserts that it cannot be opened. */
void scratch_closed(const char *path, enum ga_status wanted, const char *part);
/* Carries out SQL behind the store's back. */
void scratch_sql(const char *path, const char *text);
/* The number that a query behind the store's back gives. */
long long scratch_number(const char *path, const char *text);
/* Whether all bytes are the same: of structures that began as zeros. */
bool scratch_same(const void *one, const void *other, size_t size);
/* Makes a tenant, perhaps with one setting ("gpus=2"). */
void scratch_tenant(struct store *store, const char *name, const char *setting);

#endif
