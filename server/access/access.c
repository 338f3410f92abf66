/* SPDX-License-Identifier: Apache-2.0 */
#include "server/access/access.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"

static void access_turn(struct server_timer *timer);
static void access_ends_ask(struct access *access);

void access_init(struct access *access, uv_loop_t *loop, struct server_timers *timers,
                 const struct conf *conf, struct storage *storage)
{
    *access = (struct access){.loop = loop, .timers = timers, .conf = conf, .storage = storage};
    access->audit.conf = conf;
    access->audit.timers = timers;
    access->audit.flush = &storage->flush;
}

enum ga_status access_open(struct access *access)
{
    if (auth_open(access->storage->store, &access->auth) != GA_OK) {
        ga_error("no memory, or this machine has no randomness");
        return GA_NO_MEMORY;
    }
    timers_start(access->timers, &access->timer, access_turn, ACCESS_TURN_MS, ACCESS_TURN_MS);
    access_ends_ask(access);
    return GA_OK;
}

void access_close(struct access *access)
{
    timers_stop(access->timers, &access->timer);
    auth_close(access->auth);
    access->auth = NULL;
}

/* ---- the store */

enum ga_status access_store(struct access *access, struct store **store, char *why, size_t why_size)
{
    GA_TRY(storage_get(access->storage, store, why, why_size));
    auth_set_store(access->auth, *store);
    return GA_OK;
}

void access_store_failed(struct access *access, const char *why)
{
    if (storage_tell(access->storage, STORAGE_UNREADABLE, why)) {
        ga_error("[server] store: %s; programs that run go on%s", why,
                 access->conf->server.auth ? ", nobody new is let in" : "");
    }
}

struct tenant_terms access_terms(const struct store_tenant *tenant)
{
    struct tenant_terms terms = {.number = tenant->number,
                                 .generation = tenant->generation,
                                 .limits = tenant->limits,
                                 .isolation = tenant->isolation,
                                 .exhausted = tenant->exhausted};
    _Static_assert(sizeof terms.name == sizeof tenant->name, "the same names");
    memcpy(terms.name, tenant->name, sizeof terms.name);
    memcpy(terms.gpu_types, tenant->gpu_types, sizeof terms.gpu_types);
    return terms;
}

struct tenant_terms access_everybody(struct access *access)
{
    char why[300];
    struct store *store;
    struct store_tenant tenant;
    enum ga_status status = storage_get(access->storage, &store, why, sizeof why);
    if (status == GA_OK) {
        status = store_tenant_get(store, TENANT_DEFAULT, &tenant);
        storage_note(access->storage, status);
    }
    return status == GA_OK ? access_terms(&tenant) : tenant_default();
}

/* ---- once a second */

/* Whether the store has changed: then those who are in are looked at. */
static void access_look(struct access *access)
{
    uint64_t changes = access->changes;
    char why[400];
    struct store *store;
    enum ga_status status = access_store(access, &store, why, sizeof why);
    if (status == GA_OK) {
        status = store_changes(store, &changes);
        if (status == GA_OK && changes != access->changes && access->watcher != NULL) {
            status = access->watcher->changed(access->watcher);
        }
        snprintf(why, sizeof why, "%s", status != GA_OK ? store_why(store) : "");
        storage_note(access->storage, status);
    }
    if (status == GA_OK) {
        access->changes = changes;
        (void)storage_tell(access->storage, STORAGE_UNREADABLE, NULL);
    } else {
        access_store_failed(access, why);
    }
}

/* Only if somebody may read that. */
static void access_ends_ask(struct access *access)
{
    if (access->conf->server.http[0] != 0) {
        credential_ends_ask(&access->credential_ends, access->loop, access->timers,
                            storage_path(access->storage), access->changes);
    }
}

static void access_turn(struct server_timer *timer)
{
    struct access *access = ga_container(timer, struct access, timer);
    access_look(access);
    storage_look(access->storage);
    certificates_look(&access->certificates, &access->conf->server, timers_wall_s(access->timers));
    access_ends_ask(access);
}
