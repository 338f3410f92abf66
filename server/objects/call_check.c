/* SPDX-License-Identifier: Apache-2.0 */
#include "server/objects/call_check.h"

#include <stdlib.h>

#include "api/call_info.h"
#include "api/driver_places.h"
#include "base/log.h"
#include "server/app/app.h"
#include "server/driver/driver.h"

#ifdef GPUAAS_FAILPOINTS

/* One of these a call must say that makes the figure rise; 0: bytes that have been moved. Objects
 * are charged as host memory, too. */
static unsigned charge_of(enum figure figure)
{
    return figure == FIGURE_DEVICE_BYTES   ? API_CHARGE_DEVICE
           : figure == FIGURE_HOST_BYTES   ? API_CHARGE_HOST | API_CHARGE_OBJECT
           : figure == FIGURE_SHARED_BYTES ? API_CHARGE_HOST
           : figure == FIGURE_PINNED_BYTES || figure == FIGURE_MODULE_BYTES
               ? API_CHARGE_HOST | API_CHARGE_OBJECT
           : ledger_is_held(figure) ? API_CHARGE_OBJECT
                                    : 0;
}

void call_check_begin(struct call_check *check, const struct ledger *ledger)
{
    for (enum figure i = 0; i < FIGURE_COUNT; i++) {
        check->before[i] = atomic_load(&ledger->figures->of[i]);
    }
}

static bool has_risen(const struct call_check *check, const struct ledger *ledger, enum figure i)
{
    return atomic_load(&ledger->figures->of[i]) > check->before[i];
}

/* ---- what the driver holds by its own count */

/* Where several applications share the process, it is not known whose it is. */
static uint64_t memory_over(const struct server_app *app, const struct server_session *session)
{
    const struct cuda_driver_places *places = driver_places(app->driver);
    uint64_t held = 0;
    if (session == NULL || session->number == 0 || places == NULL || app->ledger->memory == NULL ||
        app->host->shares_process || places->memory_held(session->real, &held) != CUDA_SUCCESS) {
        return 0;
    }
    uint64_t charged = atomic_load(&app->ledger->memory[session->gpu].bytes);
    return held > charged ? held - charged : 0;
}

static void held_check(const struct server_app *app, uint16_t op)
{
    for (unsigned i = 1; i <= CONF_GPUS_MAX; i++) {
        uint64_t over = memory_over(app, app->sessions[i]);
        if (over > 0) {
            ga_error("after %s the driver holds %llu bytes of a GPU more than are charged",
                     api_op_name(op), (unsigned long long)over);
            abort();
        }
    }
}

/* ---- figures */

/* Figures of memory also fall when the completion thread or a job gives some back.
 * Memory that is pinned may bring the context that it is pinned in (charge/primary.h). */
void call_check_end(const struct call_check *check, const struct server_app *app, uint16_t op)
{
    const struct ledger *ledger = app->ledger;
    const struct api_op_facts facts = api_facts(op);
    bool pins = has_risen(check, ledger, FIGURE_PINNED_BYTES) ||
                has_risen(check, ledger, FIGURE_SHARED_BYTES);
    for (enum figure i = 0; i < FIGURE_COUNT; i++) {
        uint64_t now = atomic_load(&ledger->figures->of[i]);
        unsigned charge = charge_of(i);
        bool object = charge == API_CHARGE_OBJECT;
        bool rises = charge != 0 && now > check->before[i] && (facts.charge & charge) == 0 &&
                     !(pins && i == FIGURE_DEVICE_BYTES);
        bool falls = object && now < check->before[i] && facts.record != API_RECORD_DROPS &&
                     facts.record != API_RECORD_SETS;
        if (rises || falls) {
            ga_error("%s changes the %s from %llu to %llu, and its stanza does not say so",
                     api_op_name(op), ledger_figure_name(i), (unsigned long long)check->before[i],
                     (unsigned long long)now);
            abort();
        }
    }
    held_check(app, op);
}

#endif
