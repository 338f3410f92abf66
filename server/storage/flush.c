/* SPDX-License-Identifier: Apache-2.0 */
#include "server/storage/flush.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "store/store.h"

/* Disks take milliseconds, busy ones some tens of them. */
#define SLOW_NS GA_NS_PER_S

static const char *const disk_names[FLUSH_DISKS] = {
    [FLUSH_STORE] = "database", [FLUSH_AUDIT] = "audit log"};

void flush_start(struct flush *flush, uv_loop_t *loop, const char *store)
{
    *flush = (struct flush){.loop = loop, .paths = {store, ""}};
    ga_list_init(&flush->next);
    ga_list_init(&flush->now);
}

void flush_audit(struct flush *flush, struct auth_audit *audit, const char *folder,
                 void (*audited)(void *user), void *user)
{
    flush->audit = audit;
    flush->paths[FLUSH_AUDIT] = folder;
    flush->audited = audited;
    flush->user = user;
}

/* ---- in the thread */

static void disk_begin(struct flush *flush, enum flush_disk disk)
{
    atomic_store(&flush->began_ns[disk], ga_clock_ns());
}

static void disk_end(struct flush *flush, enum flush_disk disk)
{
    atomic_store(&flush->took_ns[disk], ga_clock_ns() - atomic_load(&flush->began_ns[disk]));
    atomic_store(&flush->began_ns[disk], 0);
}

/* The change first, and then the line that says who has made it. */
static void flush_work(uv_work_t *work)
{
    struct flush *flush = work->data;
    if (flush->stores) {
        disk_begin(flush, FLUSH_STORE);
        flush->status = store_sync(flush->paths[FLUSH_STORE], flush->why, sizeof flush->why);
        disk_end(flush, FLUSH_STORE);
    }
    if (flush->sync != NULL) {
        disk_begin(flush, FLUSH_AUDIT);
        auth_audit_sync_run(flush->sync);
        disk_end(flush, FLUSH_AUDIT);
    }
    if (flush->tidies) {
        disk_begin(flush, FLUSH_STORE);
        store_tidy(flush->paths[FLUSH_STORE]);
        disk_end(flush, FLUSH_STORE);
    }
}

/* ---- in the loop */

uint64_t flush_took_ns(const struct flush *flush, enum flush_disk disk)
{
    uint64_t began = atomic_load(&flush->began_ns[disk]), now = ga_clock_ns();
    uint64_t took = atomic_load(&flush->took_ns[disk]);
    return began != 0 && now - began > took ? now - began : took;
}

static void slow_write(const struct flush *flush, enum flush_disk disk, char *why, size_t why_size)
{
    snprintf(why, why_size,
             "the disk of the %s (%s) takes %.1f s for a write: changes by admins wait for it, "
             "programs do not; `iostat -x` and `dmesg` say what is wrong with it",
             disk_names[disk], flush->paths[disk], (double)flush_took_ns(flush, disk) / 1e9);
}

bool flush_is_slow(const struct flush *flush, char *why, size_t why_size)
{
    for (unsigned disk = 0; disk < FLUSH_DISKS; disk++) {
        if (flush_took_ns(flush, (enum flush_disk)disk) >= SLOW_NS) {
            slow_write(flush, (enum flush_disk)disk, why, why_size);
            return true;
        }
    }
    return false;
}

static void slow_tell(struct flush *flush)
{
    for (unsigned i = 0; i < FLUSH_DISKS; i++) {
        enum flush_disk disk = (enum flush_disk)i;
        bool slow = flush_took_ns(flush, disk) >= SLOW_NS;
        if (slow && !flush->told[disk]) {
            char why[800];
            slow_write(flush, disk, why, sizeof why);
            ga_warn("%s", why);
        } else if (!slow && flush->told[disk]) {
            ga_info("the disk of the %s (%s) is fast again", disk_names[disk], flush->paths[disk]);
        }
        flush->told[disk] = slow;
    }
}

static void flush_begin(struct flush *flush, bool tries);

/* Those who ask again meanwhile wait for the next one. */
static void flush_worked(uv_work_t *work, int status)
{
    struct flush *flush = work->data;
    (void)status;
    flush->tidies = false;
    if (flush->sync != NULL) {
        enum ga_status audited = auth_audit_sync_end(flush->audit);
        (void)audited; /* `audited` tells */
        flush->audited(flush->user);
    }
    slow_tell(flush);
    while (!ga_list_empty(&flush->now)) {
        struct flush_wait *wait = ga_container(flush->now.next, struct flush_wait, link);
        ga_list_remove(&wait->link);
        wait->done(wait, flush->status != GA_OK ? flush->why : NULL);
    }
    flush->working = false;
    if (flush->again) {
        flush_begin(flush, false);
    }
}

/* `tries`: whether disks that were slow still are. */
static void flush_begin(struct flush *flush, bool tries)
{
    ga_list_each (at, next, &flush->next) {
        ga_list_remove(at);
        ga_list_append(&flush->now, at);
    }
    flush->again = false;
    flush->sync = flush->audit != NULL
                      ? auth_audit_sync_begin(flush->audit, tries && flush->told[FLUSH_AUDIT])
                      : NULL;
    flush->tidies = ga_list_empty(&flush->now) && store_is_untidy(flush->paths[FLUSH_STORE]);
    flush->stores = !ga_list_empty(&flush->now) || (tries && flush->told[FLUSH_STORE]);
    flush->status = GA_OK;
    if (flush->sync == NULL && !flush->stores && !flush->tidies) {
        return;
    }
    flush->working = true;
    flush->work.data = flush;
    if (uv_queue_work(flush->loop, &flush->work, flush_work, flush_worked) != 0) {
        flush_work(&flush->work);
        flush_worked(&flush->work, 0);
    }
}

void flush_ask(struct flush *flush, struct flush_wait *wait)
{
    if (wait != NULL) {
        ga_list_append(&flush->next, &wait->link);
    }
    flush->again = true;
    if (!flush->working) {
        flush_begin(flush, false);
    }
}

/* A disk that was slow is tried again, so that it is known when it is fast. */
void flush_look(struct flush *flush)
{
    slow_tell(flush);
    if (flush->loop != NULL && !flush->working) {
        flush_begin(flush, true);
    }
}

bool flush_keeps_lock(const struct flush *flush)
{
    return flush->working && flush->tidies;
}

void flush_end(struct flush *flush)
{
    while (flush->loop != NULL && flush->working) {
        (void)uv_run(flush->loop, UV_RUN_ONCE);
    }
}
