/* SPDX-License-Identifier: Apache-2.0 */
/* A database's file, sound or not, held by a process that wants to change it as a whole.
 *
 * Note: it is opened as SQLite opens it. A plain descriptor would, when it is closed, take away the
 * locks that SQLite has on the same file in this process. */
#ifndef STORE_HOLD_H
#define STORE_HOLD_H

#include "store/sql.h"

struct store_hold {
    sqlite3_file *file; /* NULL: there is no database */
    const char *name;
};

/* The file at the store's path, if there is one. Ended by hold_end, also if it fails. */
GA_CHECKED enum ga_status hold_open(struct store *store, struct store_hold *hold);
/* Takes the hold of a user that has no others beside it. GA_AGAIN: it is in use. */
GA_CHECKED enum ga_status hold_alone(struct store *store, struct store_hold *hold);
void hold_end(struct store_hold *hold);

/* Whether it is a database that has no journal (PATH-wal): backups are. One that lies beside it
 * then is of the database that was there before, and SQLite would read it into this one. */
bool hold_has_no_journal(const struct store_hold *hold);

#endif
