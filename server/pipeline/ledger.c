/* SPDX-License-Identifier: Apache-2.0 */
#include "server/pipeline/ledger.h"

void ledger_init(struct ledger *ledger, struct figures *figures)
{
    *ledger = (struct ledger){.figures = figures, .most = {UINT64_MAX, UINT64_MAX}};
}

CUresult ledger_charge(struct ledger *ledger, enum figure memory, uint64_t bytes)
{
    _Atomic uint64_t *at = &ledger->figures->of[memory];
    uint64_t held = atomic_load_explicit(at, memory_order_relaxed), most = ledger->most[memory];
    do {
        if (most != UINT64_MAX && (held > most || bytes > most - held)) {
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
    } while (!atomic_compare_exchange_weak_explicit(at, &held, held + bytes, memory_order_relaxed,
                                                    memory_order_relaxed));
    return CUDA_SUCCESS;
}

void ledger_note(struct ledger *ledger, enum figure held, uint64_t amount)
{
    atomic_fetch_add_explicit(&ledger->figures->of[held], amount, memory_order_relaxed);
}

void ledger_return(struct ledger *ledger, enum figure held, uint64_t amount)
{
    atomic_fetch_sub_explicit(&ledger->figures->of[held], amount, memory_order_relaxed);
}
