/* SPDX-License-Identifier: Apache-2.0 */
/* Note: programs that run are not concerned when the database is damaged or locked: only what needs
 * it now is refused. */
#include "server/storage/storage.h"

#include <stdio.h>
#include <string.h>

#include "base/disk.h"
#include "base/log.h"

/* The loop must go on: another program that keeps the database locked is told off soon. */
#define PATIENCE_MS 200u
/* With less room than that a change may not fit. */
#define ROOM_BYTES UINT64_C(65536)
/* A change takes milliseconds: who has it locked for so many seconds in a row keeps others out. */
#define LOCKED_TURNS 5u

const char *storage_path(const struct storage *storage)
{
    const char *path = storage->conf->server.store;
    return path[0] != 0 ? path : STORAGE_IN_MEMORY;
}

/* A database that has just been opened. */
static enum ga_status storage_lock(struct storage *storage, char *why, size_t why_size)
{
    return storage->lock != NULL
               ? store_lock_database(storage->lock, storage_path(storage), why, why_size)
               : GA_OK;
}

/* Before anything is changed. */
static enum ga_status storage_set(struct storage *storage, char *why, size_t why_size)
{
    store_set_patience(storage->store, PATIENCE_MS);
    enum ga_status status = store_set_async(storage->store);
    if (status != GA_OK) {
        snprintf(why, why_size, "%s", store_why(storage->store));
    }
    return status;
}

enum ga_status storage_start(struct storage *storage, uv_loop_t *loop)
{
    char why[600];
    enum ga_status status = GA_OK;
    flush_start(&storage->flush, loop, storage_path(storage));
    if (storage->conf->server.store[0] != 0) {
        status = store_lock_take(storage_path(storage), &storage->lock, why, sizeof why);
    }
    if (status == GA_OK) {
        status = store_open(storage_path(storage), &storage->store, why, sizeof why);
    }
    if (status == GA_OK) {
        status = storage_lock(storage, why, sizeof why);
    }
    if (status == GA_OK) {
        status = storage_set(storage, why, sizeof why);
    }
    if (status != GA_OK) {
        ga_error("[server] store: %s", why);
    }
    return status;
}

static void storage_close(struct storage *storage)
{
    if (storage->store != NULL) {
        store_close(storage->store);
        storage->store = NULL;
    }
}

void storage_end(struct storage *storage)
{
    flush_end(&storage->flush);
    storage_close(storage);
    store_lock_free(storage->lock);
    storage->lock = NULL;
}

enum ga_status storage_get(struct storage *storage, struct store **out, char *why, size_t why_size)
{
    if (storage->store == NULL) {
        GA_TRY(store_open_again(storage_path(storage), &storage->store, why, why_size));
        bool other =
            storage->lock != NULL && store_lock_is_of_another(storage->lock, storage_path(storage));
        enum ga_status status = storage_lock(storage, why, why_size);
        if (status == GA_OK) {
            status = storage_set(storage, why, why_size);
        }
        if (status != GA_OK) {
            storage_close(storage);
            return status;
        }
        if (other) {
            ga_warn(
                "the database %s is another file than before, which holds from now on; accounts "
                "of sessions that run may be missing there, and are lost then: stop gpuaasd "
                "before a database is replaced (gpuaasctl db restore)",
                storage_path(storage));
        } else {
            ga_info("the database %s is open again", storage_path(storage));
        }
    }
    *out = storage->store;
    return GA_OK;
}

void storage_note(struct storage *storage, enum ga_status status)
{
    if (status == GA_LOST && storage->store != NULL) {
        ga_error("%s", store_why(storage->store));
        storage_close(storage);
    }
}

/* ---- its health */

bool storage_tell(struct storage *storage, enum storage_fault fault, const char *why)
{
    char *is = storage->why[fault];
    bool other = (is[0] != 0) != (why != NULL);
    snprintf(is, sizeof storage->why[fault], "%s", why != NULL ? why : "");
    return other;
}

const char *storage_wrong(const struct storage *storage)
{
    for (unsigned i = 0; i < STORAGE_FAULTS; i++) {
        if (storage->why[i][0] != 0) {
            return storage->why[i];
        }
    }
    return NULL;
}

/* Whether the lock for changes can be had. True: it can, or another program has had it for a moment
 * only. */
static bool storage_lockable(struct storage *storage, char *why, size_t why_size)
{
    struct store *store;
    if (flush_keeps_lock(&storage->flush) || storage_get(storage, &store, why, why_size) != GA_OK) {
        return true; /* for a moment; or it is UNREADABLE */
    }
    enum ga_status status = store_may_write(store);
    unsigned *turns = &storage->locked_turns;
    *turns = status == GA_AGAIN ? *turns + 1 : 0;
    snprintf(why, why_size, "%s", status != GA_OK ? store_why(store) : "");
    storage_note(storage, status);
    if (status == GA_AGAIN) {
        snprintf(why, why_size,
                 "%s: another program keeps the database locked, for %u s now: end it; `fuser %s` "
                 "names it",
                 storage_path(storage), *turns, storage_path(storage));
        return *turns < LOCKED_TURNS;
    }
    return status == GA_OK;
}

void storage_look(struct storage *storage)
{
    char why[600] = "";
    const char *path = storage_path(storage);
    flush_look(&storage->flush);
    if (storage->conf->server.store[0] == 0) {
        return; /* it is in memory */
    }
    enum ga_disk_state disk = ga_disk_look(path, ROOM_BYTES, NULL);
    bool right = disk == GA_DISK_TAKES && storage_lockable(storage, why, sizeof why);
    if (disk != GA_DISK_TAKES) {
        snprintf(why, sizeof why, "%s: its disk is %s", path,
                 disk == GA_DISK_FULL ? "full: make room there"
                                      : "read-only: `dmesg` may say why; mount it for writing");
    }
    if (storage_tell(storage, STORAGE_UNWRITABLE, right ? NULL : why)) {
        if (!right) {
            ga_error("[server] store: %s; admins can change nothing, usage waits in memory", why);
        } else if (storage->store != NULL) { /* else it cannot even be read */
            ga_info("[server] store: %s can be written again", path);
        }
    }
}
