/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a database is sound; a part of store.h.
 *
 * It is sound if its pages fit together (SQLite's integrity_check), rows refer to rows that are
 * there, and the sums by day are those of the rows of usage. */
#ifndef STORE_CHECK_H
#define STORE_CHECK_H

#include <stddef.h>

#include "base/status.h"

struct store;

typedef void store_finding(void *user, const char *text);

/* *findings: how many there are; each is one line for people. GA_OK: also with findings. */
GA_CHECKED enum ga_status store_check(struct store *store, store_finding *found, void *user,
                                      unsigned *findings);
/* As store_check, for a file, which is not changed, also not to a newer version; one that is
 * damaged so much that it cannot be opened has that as a finding. GA_NOT_FOUND: there is no
 * file. */
GA_CHECKED enum ga_status store_check_file(const char *path, store_finding *found, void *user,
                                           unsigned *findings, char *why, size_t why_size);

/* Writes a copy, as it is at one moment, while others use the store. The copy is checked before it
 * takes the place of a file that is there. GA_LOST: the store is not sound, or a disk fails. */
GA_CHECKED enum ga_status store_backup(struct store *store, const char *to);
/* Puts a backup in the place of the database `path` (which need not be there), after it has been
 * checked; what was there is kept as PATH.replaced. GA_AGAIN: somebody uses the database: gpuaasd
 * must be stopped first. GA_INVALID: the backup is not sound. GA_UNSUPPORTED: it is of a newer
 * version. */
GA_CHECKED enum ga_status store_restore(const char *path, const char *backup, char *why,
                                        size_t why_size);
/* As store_backup and store_restore without the last step: nothing is written that stays. */
GA_CHECKED enum ga_status store_backup_try(struct store *store, const char *to);
GA_CHECKED enum ga_status store_restore_try(const char *path, const char *backup, char *why,
                                            size_t why_size);

#endif
