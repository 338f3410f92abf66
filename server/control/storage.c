/* SPDX-License-Identifier: Apache-2.0 */
/* Note: programs that run are not concerned when the database is damaged or locked: only what needs
 * it now is refused. */
#include "server/control/storage.h"

#include "base/log.h"
#include "server/control/control.h"

/* The loop must go on: another program that keeps the database locked is told off soon. */
#define PATIENCE_MS 200u

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
        enum ga_status status = storage_lock(control, why, why_size);
        if (status != GA_OK) {
            storage_close(control);
            return status;
        }
        store_set_patience(control->store, PATIENCE_MS);
        ga_info("the database %s is open again", storage_path(control));
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
