/* SPDX-License-Identifier: Apache-2.0 */
#include "server/pipeline/ledger.h"

#include <stdlib.h>

#include "base/log.h"

void ledger_init(struct ledger *ledger, struct figures *figures)
{
    *ledger = (struct ledger){.figures = figures, .most = {UINT64_MAX, UINT64_MAX}};
    for (enum figure i = 0; i < FIGURE_COUNT; i++) {
        atomic_store(&figures->of[i], 0);
    }
    for (unsigned i = 0; i < FIGURES_GPUS; i++) {
        struct gpu_figures *row = &figures->gpus[i];
        for (unsigned engine = 0; engine < FIGURE_ENGINES; engine++) {
            atomic_store(&row->busy_ns[engine], 0);
        }
        atomic_store(&row->works, 0);
        atomic_store(&row->gpu, 0);
    }
}

CUresult ledger_charge(struct ledger *ledger, enum figure memory, uint64_t bytes)
{
    _Atomic uint64_t *at = &ledger->figures->of[memory];
    uint64_t held = atomic_load_explicit(at, memory_order_relaxed), most = ledger->most[memory];
    do {
        if (most != UINT64_MAX && (held > most || bytes > most - held)) {
            ga_warn(
                "%llu %s are all that the application may have; it has %llu, and wants %llu more"
                "%s",
                (unsigned long long)most, ledger_figure_name(memory), (unsigned long long)held,
                (unsigned long long)bytes,
                memory == FIGURE_HOST_BYTES ? " ([server] application_host_memory)" : "");
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

bool ledger_is_held(enum figure figure)
{
    return figure < FIGURE_FRAMES_IN || figure == FIGURE_CONDITIONS || figure >= FIGURE_CONTEXTS;
}

const char *ledger_figure_name(enum figure figure)
{
#define FIGURE(name, text) text,
    static const char *const texts[] = {FIGURES(FIGURE)};
#undef FIGURE
    return texts[figure];
}

void ledger_check_empty(const struct ledger *ledger)
{
    bool empty = true;
    for (enum figure i = 0; i < FIGURE_COUNT; i++) {
        uint64_t left = atomic_load(&ledger->figures->of[i]);
        if (ledger_is_held(i) && left != 0) {
            ga_error("an application has ended and still holds %lld %s", (long long)left,
                     ledger_figure_name(i));
            empty = false;
        }
    }
#ifdef GPUAAS_FAILPOINTS
    if (!empty) {
        abort();
    }
#else
    (void)empty;
#endif
}
