/* SPDX-License-Identifier: Apache-2.0 */
/* When credentials were made and end, for /metrics: the store is asked in a thread of libuv's pool,
 * when it has changed, because there may be very many. */
#ifndef SERVER_ACCESS_CREDENTIAL_ENDS_H
#define SERVER_ACCESS_CREDENTIAL_ENDS_H

#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "server/timers.h"
#include "store/store.h"

/* Series of each kind: those that end first. */
#define CREDENTIAL_ENDS_MAX 500u

struct credential_ends_job;

struct credential_ends {
    struct store_credential_end *rows; /* as of the last time */
    size_t count;
    uint64_t asked_ns, changes;      /* when, and what the store counted; 0: never */
    struct credential_ends_job *job; /* NULL: none is on its way */
};

/* Asks the store at `path`, which counts so many changes, anew if it is time for it; what is there
 * stays until the answer comes. `path` lives as long as the loop. */
void credential_ends_ask(struct credential_ends *ends, uv_loop_t *loop,
                         const struct server_timers *timers, const char *path, uint64_t changes);
/* Answers that come later are thrown away. */
void credential_ends_fini(struct credential_ends *ends);

#endif
