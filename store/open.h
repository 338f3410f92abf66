/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a database, in steps that others of this folder use one by one. */
#ifndef STORE_OPEN_H
#define STORE_OPEN_H

#include "store/sql.h"

/* A struct store without a connection; NULL: no memory. */
struct store *open_begin(const char *path);
bool open_is_in_memory(const char *path);
/* Opens a file that is there; `flags` as of sqlite3_open_v2. The settings that need no look into
 * the file are made. */
GA_CHECKED enum ga_status open_connect(struct store *store, int flags);
/* Whether the file is there, is a file, and only its owner reads it. GA_NOT_FOUND: there is none.
 */
GA_CHECKED enum ga_status open_look(struct store *store);
/* Writes the entries of the file's folder to the disk. */
GA_CHECKED enum ga_status open_sync_folder(struct store *store);

#endif
