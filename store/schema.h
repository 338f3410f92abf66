/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of the database, and their versions (user_version). */
#ifndef STORE_SCHEMA_H
#define STORE_SCHEMA_H

#include "store/sql.h"

#define SCHEMA_APPLICATION 0x47505541 /* "GPUA", application_id of the database */

/* Step i brings version i to i + 1. */
extern const char *const schema_steps[];
extern const unsigned schema_version;

/* GA_LOST: it is a database of another program. GA_UNSUPPORTED: it is of a newer version. Changes
 * nothing. *version 0: it is empty. */
GA_CHECKED enum ga_status schema_look(struct store *store, unsigned newest, unsigned *version);
/* Brings the tables up to date, each step in a transaction of its own. */
GA_CHECKED enum ga_status schema_update(struct store *store, const char *const *steps,
                                        unsigned newest);

#endif
