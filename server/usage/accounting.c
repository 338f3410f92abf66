/* SPDX-License-Identifier: Apache-2.0 */
#include "server/usage/accounting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "server/storage/storage.h"
#include "server/usage/account.h"
#include "server/usage/ledger_writer.h"
#include "server/usage/usage.h"
#include "server/usage/usage_seat.h"

/* Written figures were measured up to 0.3 s ago (docs/accounting.md): so much earlier. */
#define LAG_MS 350u
/* Figures that are not written yet are in the journal, at most so old. */
#define JOURNAL_MS 100u
/* Accounts that have ended and cannot be written are kept up to this number, then the oldest ones
 * are lost. */
#define ENDED_MAX 100000u
#define DAY_S     86400

struct accounting {
    struct usage *room;
    struct ledger_writer writer;
    struct usage_journal *journal; /* NULL: the store is in memory; or there can be none */
    struct server_timer timer, journal_timer;
    uint64_t epoch, numbers; /* of this start; the last account's */
    struct ga_list accounts; /* struct account; those that have ended until they are written */
    uint32_t ended;
    struct store_usage *rows; /* with the writer */
    struct account **of;      /* whose each is; NULL: gone */
    size_t count;
    int64_t
        forgotten; /* all usage of days before this is; and what the writer was told to forget */
    int64_t forgetting;
    bool journal_failing; /* that it cannot be written has been logged */
    uint64_t lost;
};

/* ---- rows to the writer and back */

/* Those that are not written; `of`, unless NULL, says whose each is. False: no memory. */
static bool rows_collect(struct accounting *accounting, struct store_usage **rows, size_t *count,
                         struct account ***of)
{
    size_t all = 0, at = 0;
    ga_list_each (link, next, &accounting->accounts) {
        all += account_rows(ga_container(link, struct account, link), NULL);
    }
    *rows = all != 0 ? calloc(all, sizeof **rows) : NULL;
    struct account **whose = all != 0 && of != NULL ? calloc(all, sizeof *whose) : NULL;
    if (of != NULL) {
        *of = whose;
    }
    *count = 0;
    if (all != 0 && (*rows == NULL || (of != NULL && whose == NULL))) {
        return false;
    }
    ga_list_each (link, next, &accounting->accounts) {
        struct account *account = ga_container(link, struct account, link);
        size_t some = all != 0 ? account_rows(account, *rows + at) : 0;
        for (size_t i = 0; i < some && whose != NULL; i++) {
            whose[at + i] = account;
        }
        at += some;
    }
    *count = all;
    return true;
}

static void rows_free(struct accounting *accounting)
{
    free(accounting->rows);
    free(accounting->of);
    accounting->rows = NULL;
    accounting->of = NULL;
    accounting->count = 0;
}

static void account_forget(struct accounting *accounting, struct account *account)
{
    for (size_t i = 0; i < accounting->count; i++) {
        accounting->of[i] = accounting->of[i] == account ? NULL : accounting->of[i];
    }
    accounting->ended -= account->seat == NULL;
    ga_list_remove(&account->link);
    account_free(account);
}

static void rows_written(struct accounting *accounting)
{
    for (size_t i = 0; i < accounting->count; i++) {
        if (accounting->of[i] != NULL) {
            account_written(accounting->of[i], &accounting->rows[i]);
        }
    }
    ga_list_each (link, next, &accounting->accounts) {
        struct account *account = ga_container(link, struct account, link);
        if (account->seat == NULL && account_rows(account, NULL) == 0) {
            account_forget(accounting, account);
        }
    }
}

static void accounting_report(struct accounting *accounting, enum ga_status status, const char *why)
{
    if (status == GA_OK && why[0] != 0) {
        ga_error("usage of a session is lost: %s", why);
    }
    if (storage_tell(accounting->room->storage, STORAGE_USAGE, status != GA_OK ? why : NULL)) {
        if (status != GA_OK) {
            ga_error("usage cannot be written, and waits in memory: %s", why);
        } else {
            ga_info("usage is written again");
        }
    }
}

static void accounting_written(struct ledger_writer *writer, enum ga_status status, const char *why)
{
    struct accounting *accounting = ga_container(writer, struct accounting, writer);
    if (status == GA_OK) {
        usage_journal_follow(accounting->journal, writer->path);
        rows_written(accounting);
        accounting->forgotten = writer->more ? accounting->forgotten : accounting->forgetting;
    }
    rows_free(accounting);
    accounting_report(accounting, status, why);
}

static void accounting_look(struct accounting *accounting)
{
    ga_list_each (link, next, &accounting->accounts) {
        struct account *account = ga_container(link, struct account, link);
        if (account->seat != NULL) {
            account_look(account);
        }
    }
}

/* The beginning of the first day whose usage is kept; 0: all is. This month counts for limits. */
static int64_t keep_from(const struct conf_server *conf, int64_t now)
{
    int64_t keep_s = (int64_t)conf->ledger_keep_days * DAY_S, month, next;
    if (keep_s == 0 || now < keep_s) {
        return 0;
    }
    store_period_bounds(STORE_MONTH, now, &month, &next);
    int64_t from = (now - keep_s) / DAY_S * DAY_S;
    return from < month ? from : month;
}

static void accounting_turn(struct server_timer *timer)
{
    struct accounting *accounting = ga_container(timer, struct accounting, timer);
    accounting_look(accounting);
    if (accounting->writer.busy) {
        return;
    }
    int64_t before =
        keep_from(&accounting->room->conf->server, timers_wall_s(accounting->room->timers));
    bool forgets = before > accounting->forgotten;
    if (!rows_collect(accounting, &accounting->rows, &accounting->count, &accounting->of)) {
        rows_free(accounting); /* the next time */
    }
    if (accounting->count != 0 || forgets) {
        accounting->forgetting = forgets ? before : accounting->forgotten;
        ledger_writer_give(&accounting->writer, accounting->rows, accounting->count,
                           forgets ? before : 0);
    }
}

/* ---- the journal */

static void journal_report(struct accounting *accounting, bool failing)
{
    if (failing && !accounting->journal_failing) {
        ga_error("%s-usage cannot be written: what is used since is lost if gpuaasd is killed",
                 accounting->writer.path);
    }
    accounting->journal_failing = failing;
}

static enum ga_status journal_write(struct accounting *accounting)
{
    struct store_usage *rows;
    size_t count;
    enum ga_status status = rows_collect(accounting, &rows, &count, NULL)
                                ? usage_journal_write(accounting->journal, rows, count)
                                : GA_NO_MEMORY; /* it keeps what it has */
    free(rows);
    return status;
}

static void journal_turn(struct server_timer *timer)
{
    struct accounting *accounting = ga_container(timer, struct accounting, journal_timer);
    accounting_look(accounting);
    journal_report(accounting, journal_write(accounting) != GA_OK);
}

/* Writes into the store the rows that a killed gpuaasd had not written. */
static enum ga_status journal_recover(struct accounting *accounting, struct store *store, char *why,
                                      size_t why_size)
{
    struct store_usage *rows;
    size_t count;
    enum ga_status status = usage_journal_read(accounting->journal, &rows, &count, why, why_size);
    if (status != GA_OK) {
        ga_error("%s-usage %s: what it has is left out", accounting->writer.path, why);
    }
    if (status != GA_OK || count == 0) {
        return GA_OK;
    }
    status = store_usage_write_known(store, rows, count, why, why_size);
    free(rows);
    if (status != GA_OK) {
        snprintf(why, why_size, "%s", store_why(store));
    } else if (why[0] != 0) {
        ga_error("usage of a session is lost: %s", why);
    }
    return status;
}

static void journal_begin(struct accounting *accounting)
{
    char why[600];
    if (usage_journal_open(accounting->writer.path, &accounting->journal, why, sizeof why) !=
        GA_OK) {
        ga_error("%s: if gpuaasd is killed, what was used in the last %u s is lost", why,
                 accounting->room->conf->server.ledger_interval_s);
    }
}

/* `written`: the rows of accounts are in the store. Whether the journal has what is not. A gpuaasd
 * that never served leaves it as it is. */
static bool journal_end(struct accounting *accounting, bool written)
{
    bool has = accounting->journal != NULL && accounting->epoch != 0 &&
               (written || accounting->count != 0) &&
               usage_journal_write(accounting->journal, accounting->rows,
                                   written ? 0 : accounting->count) == GA_OK;
    usage_journal_close(accounting->journal);
    return has;
}

/* ---- seats */

void accounting_seat_taken(struct usage_seat *seat)
{
    struct usage *usage = seat->room;
    struct accounting *accounting = usage->accounting;
    if (accounting == NULL) {
        return;
    }
    seat->account =
        account_make(seat, usage->conf->server.node, accounting->epoch, ++accounting->numbers);
    if (seat->account == NULL) {
        ga_error("no memory for an account: what an application uses is not written");
        return;
    }
    ga_list_append(&accounting->accounts, &seat->account->link);
}

/* The disk has been full for very long. */
static void oldest_lose(struct accounting *accounting)
{
    ga_list_each (link, next, &accounting->accounts) {
        struct account *account = ga_container(link, struct account, link);
        if (account->seat == NULL) {
            account_forget(accounting, account);
            ga_error("usage of %llu sessions is lost: more than %u could not be written",
                     (unsigned long long)++accounting->lost, ENDED_MAX);
            return;
        }
    }
}

void accounting_seat_ended(struct usage_seat *seat, const char *why)
{
    struct accounting *accounting = seat->room->accounting;
    struct account *account = seat->account;
    seat->account = NULL;
    if (account == NULL) {
        return;
    }
    account_end(account, why);
    accounting->ended++;
    if (account->count == 0) { /* no GPU has been its own */
        account_forget(accounting, account);
    } else if (accounting->ended > ENDED_MAX) {
        oldest_lose(accounting);
    }
}

void accounting_refresh(struct usage *usage)
{
    if (usage->accounting != NULL) {
        accounting_look(usage->accounting);
    }
}

uint64_t accounting_gpu_ns(struct usage *usage, uint64_t number, const char *user,
                           enum store_period period)
{
    struct store_figures sum = {0};
    struct store *store;
    char why[600];
    if (storage_get(usage->storage, &store, why, sizeof why) == GA_OK) {
        storage_note(usage->storage, store_usage_period(store, number, user, period,
                                                        timers_wall_s(usage->timers), &sum));
    }
    if (usage->accounting == NULL) {
        return sum.gpu_ns;
    }
    accounting_look(usage->accounting);
    ga_list_each (link, next, &usage->accounting->accounts) {
        const struct account *account = ga_container(link, struct account, link);
        bool counts = account->head.tenant_number == number &&
                      (user == NULL || strcmp(user, account->head.user) == 0);
        for (uint32_t i = 0; counts && i < account->count; i++) {
            sum.gpu_ns += account->rows[i].now.gpu_ns - account->rows[i].written.gpu_ns;
        }
    }
    return sum.gpu_ns;
}

/* ---- life */

enum ga_status accounting_start(struct usage *usage)
{
    uint64_t interval_ms = (uint64_t)usage->conf->server.ledger_interval_s * 1000;
    if (interval_ms == 0) {
        return GA_OK;
    }
    struct accounting *accounting = calloc(1, sizeof *accounting);
    if (accounting == NULL) {
        ga_error("no memory for the accounts");
        return GA_NO_MEMORY;
    }
    accounting->room = usage;
    ga_list_init(&accounting->accounts);
    enum ga_status status = ledger_writer_start(&accounting->writer, usage->loop,
                                                storage_path(usage->storage), accounting_written);
    if (status != GA_OK) {
        ga_error("no memory, descriptors or threads for the accounts");
        free(accounting);
        return status;
    }
    usage->accounting = accounting;
    timers_start(usage->timers, &accounting->timer, accounting_turn, interval_ms - LAG_MS,
                 interval_ms - LAG_MS);
    journal_begin(accounting);
    return GA_OK;
}

enum ga_status accounting_begin(struct usage *usage)
{
    struct accounting *accounting = usage->accounting;
    struct store *store;
    char why[600];
    if (accounting == NULL) {
        return GA_OK;
    }
    enum ga_status status = storage_get(usage->storage, &store, why, sizeof why);
    if (status == GA_OK && accounting->journal != NULL) {
        status = journal_recover(accounting, store, why, sizeof why);
        timers_start(usage->timers, &accounting->journal_timer, journal_turn, JOURNAL_MS,
                     JOURNAL_MS);
    }
    if (status == GA_OK) {
        status = store_epoch_next(store, usage->conf->server.node, &accounting->epoch);
        if (status != GA_OK) {
            snprintf(why, sizeof why, "%s", store_why(store));
        }
    }
    if (status != GA_OK) {
        ga_error("[server] store: %s", why);
    }
    return status;
}

void accounting_stop(struct usage *usage)
{
    struct accounting *accounting = usage->accounting;
    char why[600] = "";
    if (accounting == NULL) {
        return;
    }
    timers_stop(usage->timers, &accounting->timer);
    timers_stop(usage->timers, &accounting->journal_timer);
    ledger_writer_stop(&accounting->writer);
    accounting_look(accounting);
    bool collected =
        rows_collect(accounting, &accounting->rows, &accounting->count, &accounting->of);
    enum ga_status status = ledger_writer_last(&accounting->writer, accounting->rows,
                                               accounting->count, why, sizeof why);
    if (!collected) {
        snprintf(why, sizeof why, "no memory");
        status = GA_NO_MEMORY;
    }
    bool kept = journal_end(accounting, status == GA_OK) && status != GA_OK;
    if (status != GA_OK || why[0] != 0) {
        ga_error("usage of the last moments is %s: %s",
                 kept ? "written when gpuaasd starts again" : "lost", why);
    }
    rows_free(accounting);
    usage->accounting = NULL;
    ga_list_each (link, next, &accounting->accounts) {
        account_forget(accounting, ga_container(link, struct account, link));
    }
    free(accounting);
}
