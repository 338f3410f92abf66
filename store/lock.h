/* SPDX-License-Identifier: Apache-2.0 */
/* The lock of the process that serves from a database; a part of store.h.
 *
 * A server counts what its tenants use in its own memory: two on one database would each allow the
 * whole of every limit, and the start of one would end the accounts of the other. Putting a copy in
 * its place takes it, too (store_restore); only reading or changing rows needs no lock.
 *
 * It is a lock on a file of its own, PATH-lock, which stays when the lock is given back: the kernel
 * gives it back when the process dies, however that is. The database itself is locked, too, because
 * it may have other names (hard links, mounts), and somebody may remove PATH-lock. */
#ifndef STORE_LOCK_H
#define STORE_LOCK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

struct store_lock;

/* `path` is of store_open; the database need not be there. GA_AGAIN: another process has it, and
 * `why` says which one, and since when. At most once in a process for each database. */
GA_CHECKED enum ga_status store_lock_take(const char *path, struct store_lock **out, char *why,
                                          size_t why_size);
/* Locks also what store_open has opened: the database that it has made, or that has replaced the
 * one before. GA_AGAIN as above, GA_DENIED. */
GA_CHECKED enum ga_status store_lock_database(struct store_lock *lock, const char *path, char *why,
                                              size_t why_size);
/* Whether it could be taken now; makes no file. GA_AGAIN as above. */
GA_CHECKED enum ga_status store_lock_look(const char *path, char *why, size_t why_size);
/* Whether the database at `path` is another file than the one that is locked. */
bool store_lock_is_of_another(const struct store_lock *lock, const char *path);
/* Gives it back, when the database is closed; NULL: nothing. */
void store_lock_free(struct store_lock *lock);

#endif
