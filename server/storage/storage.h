/* SPDX-License-Identifier: Apache-2.0 */
/* The store of this gpuaasd: the connection of its loop to the database ([server] store). */
#ifndef SERVER_STORAGE_STORAGE_H
#define SERVER_STORAGE_STORAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "conf/conf.h"
#include "server/storage/flush.h"
#include "store/store.h"

struct store_lock;

/* Faults of the storage, the worst first. */
enum storage_fault {
    STORAGE_UNREADABLE, /* nothing can be looked up */
    STORAGE_UNWRITABLE, /* nothing can be changed */
    STORAGE_USAGE,      /* usage cannot be written, and waits in memory */
    STORAGE_FAULTS
};

struct storage {
    const struct conf *conf;
    struct store *store;           /* NULL: it has been lost */
    struct store_lock *lock;       /* NULL: the store is in memory */
    char why[STORAGE_FAULTS][600]; /* "": that is not wrong */
    struct flush flush;            /* of its changes, and of the audit log */
    unsigned locked_turns;         /* so often in a row another program has kept it locked */
};

/* Without a path the store is in memory, for all threads of this process, and ends with it. */
#define STORAGE_IN_MEMORY ":memory:gpuaasd"

/* The path to open the store with, also for other threads' own connections. */
const char *storage_path(const struct storage *storage);
/* Opens it, and locks it against every other gpuaasd. An error has been logged. Its changes are on
 * the disk when storage.flush says so. */
GA_CHECKED enum ga_status storage_start(struct storage *storage, uv_loop_t *loop);
/* Others may use it from now on. */
void storage_end(struct storage *storage);
/* The store, opened anew if it has been lost. An error with `why`. */
GA_CHECKED enum ga_status storage_get(struct storage *storage, struct store **out, char *why,
                                      size_t why_size);
/* To be called with the status of each function of the store: after GA_LOST it is opened anew. */
void storage_note(struct storage *storage, enum ga_status status);

/* `why` is wrong from now on; NULL: that it is not. True: it was otherwise before. */
bool storage_tell(struct storage *storage, enum storage_fault fault, const char *why);
/* To be called each second: finds out whether it could be written, and writes nothing. */
void storage_look(struct storage *storage);
/* The worst that is wrong with it; NULL: nothing is. */
const char *storage_wrong(const struct storage *storage);

#endif
