/* SPDX-License-Identifier: Apache-2.0 */
/* Note: programs that run are not concerned when the database is damaged or locked: only what needs
 * it now is refused. */
#include "server/storage/storage.h"

#include <stdio.h>
#include <string.h>

#include "base/disk.h"
#include "base/log.h"
#include "server/control/control.h"

/* The loop must go on: another program that keeps the database locked is told off soon. */
#define PATIENCE_MS 200u
/* With less room than that a change may not fit. */
#define ROOM_BYTES UINT64_C(65536)
/* A change takes milliseconds: who has it locked for so many seconds in a row keeps others out. */
#define LOCKED_TURNS 5u

const char *storage_path(const struct control *control)
{
    const char *path = control->conf->server.store;
    return path[0] != 0 ? path : STORAGE_IN_MEMORY;
}

/* A database that has just been opened. */
static enum ga_status storage_lock(struct control *control, char *why, size_t why_size)
{
    return control->store_lock != NULL
               ? store_lock_database(control->store_lock, storage_path(control), why, why_size)
               : GA_OK;
}

enum ga_status storage_start(struct control *control)
{
    char why[600];
    enum ga_status status = GA_OK;
    if (control->conf->server.store[0] != 0) {
        status = store_lock_take(storage_path(control), &control->store_lock, why, sizeof why);
    }
    if (status == GA_OK) {
        status = store_open(storage_path(control), &control->store, why, sizeof why);
    }
    if (status == GA_OK) {
        status = storage_lock(control, why, sizeof why);
    }
    if (status != GA_OK) {
        ga_error("[server] store: %s", why);
        return status;
    }
    store_set_patience(control->store, PATIENCE_MS);
    return GA_OK;
}

static void storage_close(struct control *control)
{
    if (control->store != NULL) {
        store_close(control->store);
        control->store = NULL;
    }
}

void storage_end(struct control *control)
{
    storage_close(control);
    store_lock_free(control->store_lock);
    control->store_lock = NULL;
}

enum ga_status storage_get(struct control *control, struct store **out, char *why, size_t why_size)
{
    if (control->store == NULL) {
        GA_TRY(store_open_again(storage_path(control), &control->store, why, why_size));
        bool other = control->store_lock != NULL &&
                     store_lock_is_of_another(control->store_lock, storage_path(control));
        enum ga_status status = storage_lock(control, why, why_size);
        if (status != GA_OK) {
            storage_close(control);
            return status;
        }
        store_set_patience(control->store, PATIENCE_MS);
        if (other) {
            ga_warn(
                "the database %s is another file than before, which holds from now on; accounts "
                "of sessions that run may be missing there, and are lost then: stop gpuaasd "
                "before a database is replaced (gpuaasctl db restore)",
                storage_path(control));
        } else {
            ga_info("the database %s is open again", storage_path(control));
        }
    }
    *out = control->store;
    return GA_OK;
}

void storage_note(struct control *control, enum ga_status status)
{
    if (status == GA_LOST && control->store != NULL) {
        ga_error("%s", store_why(control->store));
        storage_close(control);
    }
}

/* ---- its health */

bool storage_tell(struct control *control, enum storage_fault fault, const char *why)
{
    char *is = control->storage.why[fault];
    bool other = (is[0] != 0) != (why != NULL);
    snprintf(is, sizeof control->storage.why[fault], "%s", why != NULL ? why : "");
    return other;
}

const char *storage_wrong(const struct control *control)
{
    for (unsigned i = 0; i < STORAGE_FAULTS; i++) {
        if (control->storage.why[i][0] != 0) {
            return control->storage.why[i];
        }
    }
    return NULL;
}

/* Whether the lock for changes can be had. True: it can, or another program has had it for a moment
 * only. */
static bool storage_lockable(struct control *control, char *why, size_t why_size)
{
    struct store *store;
    if (storage_get(control, &store, why, why_size) != GA_OK) {
        return true; /* it is UNREADABLE */
    }
    enum ga_status status = store_may_write(store);
    unsigned *turns = &control->storage.locked_turns;
    *turns = status == GA_AGAIN ? *turns + 1 : 0;
    snprintf(why, why_size, "%s", status != GA_OK ? store_why(store) : "");
    storage_note(control, status);
    if (status == GA_AGAIN) {
        snprintf(why, why_size,
                 "%s: another program keeps the database locked, for %u s now: end it; `fuser %s` "
                 "names it",
                 storage_path(control), *turns, storage_path(control));
        return *turns < LOCKED_TURNS;
    }
    return status == GA_OK;
}

void storage_look(struct control *control)
{
    char why[600] = "";
    const char *path = storage_path(control);
    if (control->conf->server.store[0] == 0) {
        return; /* it is in memory */
    }
    enum ga_disk_state disk = ga_disk_look(path, ROOM_BYTES, NULL);
    bool right = disk == GA_DISK_TAKES && storage_lockable(control, why, sizeof why);
    if (disk != GA_DISK_TAKES) {
        snprintf(why, sizeof why, "%s: its disk is %s", path,
                 disk == GA_DISK_FULL ? "full: make room there"
                                      : "read-only: `dmesg` may say why; mount it for writing");
    }
    if (storage_tell(control, STORAGE_UNWRITABLE, right ? NULL : why)) {
        if (right) {
            ga_info("[server] store: %s can be written again", path);
        } else {
            ga_error("[server] store: %s; admins can change nothing, usage waits in memory", why);
        }
    }
}
