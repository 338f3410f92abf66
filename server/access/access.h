/* SPDX-License-Identifier: Apache-2.0 */
/* Access: the store of tenants decides which connections may come in, and those that are in are
 * looked at again when it has changed. authentication.h asks about each one. */
#ifndef SERVER_ACCESS_ACCESS_H
#define SERVER_ACCESS_ACCESS_H

#include <stdint.h>
#include <uv.h>

#include "auth/auth.h"
#include "base/status.h"
#include "conf/conf.h"
#include "server/access/audit.h"
#include "server/access/certificates.h"
#include "server/access/credential_ends.h"
#include "server/storage/storage.h"
#include "server/tenants/tenant.h"
#include "server/timers.h"

#define ACCESS_TURN_MS 1000

/* The part of a room above, for those that are in. */
struct access_watcher {
    /* The store has changed: looks at all whose rights may have changed. Another status than GA_OK:
     * the store fails, and the watcher is called again. */
    enum ga_status (*changed)(struct access_watcher *watcher);
};

struct access {
    uv_loop_t *loop; /* for what its threads do */
    struct server_timers *timers;
    const struct conf *conf;
    struct storage *storage;
    struct access_watcher *watcher; /* set by it; NULL: there is none */
    struct auth *auth;
    uint64_t changes; /* of the store, as they have been looked at */
    uint64_t slow_ns; /* see authentication_slow_wait_ns */
    uint64_t refusals[AUTH_REASON_COUNT];
    struct audit audit;
    struct certificates certificates;
    struct credential_ends credential_ends;
    struct server_timer timer;
};

/* All is borrowed. */
void access_init(struct access *access, uv_loop_t *loop, struct server_timers *timers,
                 const struct conf *conf, struct storage *storage);
/* Begins to use the store, which is open. An error has been logged. */
GA_CHECKED enum ga_status access_open(struct access *access);
void access_close(struct access *access);

/* The store as it is now, which may have been opened anew. An error with `why`. */
GA_CHECKED enum ga_status access_store(struct access *access, struct store **store, char *why,
                                       size_t why_size);
/* The store has failed; logged once. */
void access_store_failed(struct access *access, const char *why);

/* The terms of a tenant of the store. */
struct tenant_terms access_terms(const struct store_tenant *tenant);
/* The terms of the tenant "default", whose everybody is with auth = off. */
struct tenant_terms access_everybody(struct access *access);

#endif
