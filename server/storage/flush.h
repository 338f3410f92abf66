/* SPDX-License-Identifier: Apache-2.0 */
/* Writing to the disk, for a loop that does not wait for it: what has changed in the database and
 * what has been added to the audit log gets there in a thread of libuv's pool, and who must not be
 * answered before is told then. A disk that takes long is told by its name. All functions are for
 * the loop's thread. */
#ifndef SERVER_STORAGE_FLUSH_H
#define SERVER_STORAGE_FLUSH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "auth/auth.h"
#include "base/list.h"
#include "base/status.h"

enum flush_disk { FLUSH_STORE, FLUSH_AUDIT, FLUSH_DISKS };

/* A member of who waits. */
struct flush_wait {
    struct ga_list link;
    /* `why` NULL: all that was there at flush_ask is on the disk. */
    void (*done)(struct flush_wait *wait, const char *why);
};

struct flush {
    uv_loop_t *loop;                /* NULL: there is none, and nothing is flushed */
    const char *paths[FLUSH_DISKS]; /* "": there is none */
    struct auth_audit *audit;       /* NULL: none is written */
    void (*audited)(void *user);    /* the log has been looked at anew */
    void *user;
    struct ga_list next, now; /* struct flush_wait: who has come since, and who is waited for */
    bool again;               /* somebody has come since */
    bool told[FLUSH_DISKS];   /* that it is slow */
    bool working;             /* what follows is the thread's */
    uv_work_t work;
    bool stores, tidies; /* what it does with the database */
    struct auth_audit_sync *sync;
    enum ga_status status; /* of the database */
    char why[600];
    _Atomic uint64_t began_ns[FLUSH_DISKS], took_ns[FLUSH_DISKS]; /* 0: it is not at it; never */
};

/* `store` is its path; both stay where they are. */
void flush_start(struct flush *flush, uv_loop_t *loop, const char *store);
/* From now on the audit log in the folder is flushed, too; NULL: no longer. `audited` is called
 * when it has been. */
void flush_audit(struct flush *flush, struct auth_audit *audit, const char *folder,
                 void (*audited)(void *user), void *user);
/* Waits for what is under way. Nobody waits any more. */
void flush_end(struct flush *flush);

/* `wait` NULL: nobody waits, and only the audit log is flushed. */
void flush_ask(struct flush *flush, struct flush_wait *wait);
/* To be called each second. */
void flush_look(struct flush *flush);
/* Whether changes of the database have to wait until what is under way is done: they would be
 * refused. */
bool flush_keeps_lock(const struct flush *flush);
/* How long the disk took the last time, or has taken so far, if that is longer; 0: not yet. */
uint64_t flush_took_ns(const struct flush *flush, enum flush_disk disk);
/* Writes which disk is slow, and what to do; false: none is. */
bool flush_is_slow(const struct flush *flush, char *why, size_t why_size);

#endif
