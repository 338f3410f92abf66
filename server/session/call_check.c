/* SPDX-License-Identifier: Apache-2.0 */
#include "server/session/call_check.h"

#include <stdlib.h>

#include "api/call_info.h"
#include "base/log.h"

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

/* Figures of memory also fall when the completion thread or a job gives some back.
 * Memory that is pinned may bring the context that it is pinned in (pipeline/primary.h). */
void call_check_end(const struct call_check *check, const struct ledger *ledger, uint16_t op)
{
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
}

#endif
