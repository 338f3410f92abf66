/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of usage that are not in the database yet, in a file beside it (PATH-usage): when gpuaasd is
 * killed the next one has them. They are those of one moment; each writing takes the place of the
 * one before. Whenever the process is killed, the file has one of the last two.
 *
 * It is for a process that dies, not for a machine that does: nothing waits for the disk, and what
 * was written before the machine started anew does not count. */
#ifndef STORE_JOURNAL_H
#define STORE_JOURNAL_H

#include <stddef.h>

#include "base/status.h"
#include "store/usage.h"

struct usage_journal;

#define USAGE_JOURNAL_ROWS 4096u /* the first ones that are given; others are not in it */

/* `path` is of the database, which is there; one in memory has no journal: *out is NULL. GA_DENIED,
 * GA_NO_MEMORY with `why`. */
GA_CHECKED enum ga_status usage_journal_open(const char *path, struct usage_journal **out,
                                             char *why, size_t why_size);
void usage_journal_close(struct usage_journal *journal);
/* Rows from now on belong to the database that is at `path` now: rows have just been written there.
 * NULL: there is no journal. */
void usage_journal_follow(struct usage_journal *journal, const char *path);
/* Reads the journal of the last process, for the caller to free; NULL: nothing. GA_INVALID: it is
 * of another database, or damaged; GA_NO_MEMORY. `why` says so. Before anything is written. */
GA_CHECKED enum ga_status usage_journal_read(struct usage_journal *journal,
                                             struct store_usage **rows, size_t *count, char *why,
                                             size_t why_size);
/* GA_DENIED: it cannot be written now (the disk is full), and what it had is still there. */
GA_CHECKED enum ga_status usage_journal_write(struct usage_journal *journal,
                                              const struct store_usage *rows, size_t count);

#endif
