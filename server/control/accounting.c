/* SPDX-License-Identifier: Apache-2.0 */
#include "server/control/accounting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "server/control/account.h"
#include "server/control/application.h"
#include "server/control/control.h"
#include "server/control/ledger_writer.h"
#include "server/control/seat.h"
#include "server/control/storage.h"

/* What is written was measured up to 0.3 s ago (docs/accounting.md): so much earlier. */
#define LAG_MS 350u
/* Accounts that have ended and cannot be written are kept up to this number, then the oldest ones
 * are lost. */
#define ENDED_MAX 100000u
#define DAY_S     86400

struct accounting {
    struct control *control;
    struct ledger_writer writer;
    uv_timer_t timer;
    uint64_t epoch, numbers; /* of this start; the last account's */
    struct ga_list accounts; /* struct account; those that have ended until they are written */
    uint32_t ended;
    struct store_usage *rows; /* with the writer */
    struct account **of;      /* whose each is; NULL: gone */
    size_t count;
    int64_t
        forgotten; /* all usage of days before this is; and what the writer was told to forget */
    int64_t forgetting;
    uint64_t lost;
};

/* ---- rows to the writer and back */

static size_t rows_collect(struct accounting *accounting)
{
    size_t count = 0, at = 0;
    ga_list_each (link, next, &accounting->accounts) {
        count += account_rows(ga_container(link, struct account, link), NULL);
    }
    accounting->rows = count != 0 ? calloc(count, sizeof *accounting->rows) : NULL;
    accounting->of = count != 0 ? calloc(count, sizeof(struct account *)) : NULL;
    if (accounting->rows == NULL || accounting->of == NULL) {
        count = 0; /* the next time */
    }
    ga_list_each (link, next, &accounting->accounts) {
        struct account *account = ga_container(link, struct account, link);
        size_t some = count != 0 ? account_rows(account, accounting->rows + at) : 0;
        for (size_t i = 0; i < some; i++) {
            accounting->of[at++] = account;
        }
    }
    accounting->count = count;
    return count;
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
    if (storage_tell(accounting->control, STORAGE_USAGE, status != GA_OK ? why : NULL)) {
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
static int64_t keep_from(const struct conf_server *conf)
{
    int64_t now = time(NULL), keep_s = (int64_t)conf->ledger_keep_days * DAY_S, month, next;
    if (keep_s == 0 || now < keep_s) {
        return 0;
    }
    store_period_bounds(STORE_MONTH, now, &month, &next);
    int64_t from = (now - keep_s) / DAY_S * DAY_S;
    return from < month ? from : month;
}

static void accounting_turn(uv_timer_t *timer)
{
    struct accounting *accounting = timer->data;
    accounting_look(accounting);
    if (accounting->writer.busy) {
        return;
    }
    int64_t before = keep_from(&accounting->control->conf->server);
    bool forgets = before > accounting->forgotten;
    if (rows_collect(accounting) != 0 || forgets) {
        accounting->forgetting = forgets ? before : accounting->forgotten;
        ledger_writer_give(&accounting->writer, accounting->rows, accounting->count,
                           forgets ? before : 0);
    }
}

/* ---- seats */

void accounting_seat_taken(struct seat *seat)
{
    struct control *control = seat->application->control;
    struct accounting *accounting = control->accounting;
    if (accounting == NULL) {
        return;
    }
    seat->account = account_make(seat, control->conf->server.node, accounting->epoch,
                                 ++accounting->numbers, seat->application->tenant->terms.number);
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

void accounting_seat_ended(struct seat *seat, const char *why)
{
    struct accounting *accounting = seat->application->control->accounting;
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

uint64_t accounting_gpu_ns(struct control *control, uint64_t number, const char *user,
                           enum store_period period)
{
    struct store_figures sum = {0};
    struct store *store;
    char why[600];
    if (storage_get(control, &store, why, sizeof why) == GA_OK) {
        storage_note(control, store_usage_period(store, number, user, period, time(NULL), &sum));
    }
    if (control->accounting == NULL) {
        return sum.gpu_ns;
    }
    accounting_look(control->accounting);
    ga_list_each (link, next, &control->accounting->accounts) {
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

enum ga_status accounting_start(struct control *control)
{
    uint64_t interval_ms = (uint64_t)control->conf->server.ledger_interval_s * 1000;
    if (interval_ms == 0) {
        return GA_OK;
    }
    static struct accounting only; /* the loop closes its handles when it ends */
    struct accounting *accounting = &only;
    accounting->control = control;
    ga_list_init(&accounting->accounts);
    GA_TRY(ledger_writer_start(&accounting->writer, &control->loop, storage_path(control),
                               accounting_written));
    control->accounting = accounting;
    accounting->timer.data = accounting;
    (void)uv_timer_init(&control->loop, &accounting->timer);
    (void)uv_timer_start(&accounting->timer, accounting_turn, interval_ms - LAG_MS,
                         interval_ms - LAG_MS);
    return GA_OK;
}

enum ga_status accounting_begin(struct control *control)
{
    struct accounting *accounting = control->accounting;
    struct store *store;
    char why[600];
    if (accounting == NULL) {
        return GA_OK;
    }
    enum ga_status status = storage_get(control, &store, why, sizeof why);
    if (status == GA_OK) {
        status = store_epoch_next(store, control->conf->server.node, &accounting->epoch);
        snprintf(why, sizeof why, "%s", status != GA_OK ? store_why(store) : "");
    }
    if (status != GA_OK) {
        ga_error("[server] store: %s", why);
    }
    return status;
}

void accounting_stop(struct control *control)
{
    struct accounting *accounting = control->accounting;
    char why[600] = "";
    if (accounting == NULL) {
        return;
    }
    uv_close((uv_handle_t *)&accounting->timer, NULL);
    ledger_writer_stop(&accounting->writer);
    accounting_look(accounting);
    size_t count = rows_collect(accounting);
    enum ga_status status =
        ledger_writer_last(&accounting->writer, accounting->rows, count, why, sizeof why);
    if (status != GA_OK || why[0] != 0) {
        ga_error("usage of the last moments is lost: %s", why);
    }
    rows_free(accounting);
    control->accounting = NULL;
    ga_list_each (link, next, &accounting->accounts) {
        account_forget(accounting, ga_container(link, struct account, link));
    }
}
