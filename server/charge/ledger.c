/* SPDX-License-Identifier: Apache-2.0 */
#include "server/charge/ledger.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "server/lent.h"

void ledger_init(struct ledger *ledger, struct figures *figures)
{
    *ledger = (struct ledger){.figures = figures, .most = {UINT64_MAX, UINT64_MAX}};
    for (enum figure i = 0; i < FIGURE_COUNT; i++) {
        atomic_store(&figures->of[i], 0);
    }
    atomic_store(&figures->fault, 0);
    atomic_store(&figures->silent, 0);
    atomic_store(&figures->busy_at_ns, 0);
    atomic_store(&figures->rate_waits, 0);
    atomic_store(&figures->driver_bytes, 0);
    for (unsigned i = 0; i < FIGURES_GPUS; i++) {
        struct gpu_figures *row = &figures->gpus[i];
        for (unsigned engine = 0; engine < GPU_ENGINES; engine++) {
            atomic_store(&row->busy_ns[engine], 0);
            atomic_store(&row->runs_ns[engine], 0);
        }
        atomic_store(&row->busy_any_ns, 0);
        atomic_store(&row->looked_ns, 0);
        atomic_store(&row->works, 0);
        for (unsigned way = 0; way < 2; way++) {
            atomic_store(&row->copies[way], 0);
            atomic_store(&row->copied_bytes[way], 0);
        }
        atomic_store(&row->done_ns, 0);
        atomic_store(&row->demand_ns, 0);
        atomic_store(&row->phase, GPU_PHASE_DFL);
        for (unsigned shape = 0; shape < FIGURES_SHAPES; shape++) {
            atomic_store(&row->shapes[shape].count, 0);
        }
        atomic_store(&row->gpu, 0);
    }
}

static void memory_change(const struct ledger *ledger, uint32_t gpu, uint64_t more)
{
    if (ledger->memory != NULL) {
        figures_memory_change(&ledger->memory[gpu], more, ga_clock_ns() / GA_NS_PER_MS);
    }
}

/* ---- what the application may have by itself */

static CUresult figure_raise(struct ledger *ledger, enum figure held, uint64_t amount)
{
    _Atomic uint64_t *at = &ledger->figures->of[held];
    uint64_t has = atomic_load_explicit(at, memory_order_relaxed);
    uint64_t most = held <= FIGURE_HOST_BYTES ? ledger->most[held] : UINT64_MAX;
    do {
        if (most != UINT64_MAX && (has > most || amount > most - has)) {
            ga_warn(
                "%llu %s are all that the application may have; it has %llu, and wants %llu more"
                "%s",
                (unsigned long long)most, ledger_figure_name(held), (unsigned long long)has,
                (unsigned long long)amount,
                held == FIGURE_HOST_BYTES ? " ([server] application_host_memory)" : "");
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
    } while (!atomic_compare_exchange_weak_explicit(at, &has, has + amount, memory_order_relaxed,
                                                    memory_order_relaxed));
    return CUDA_SUCCESS;
}

static void figure_lower(struct ledger *ledger, enum figure held, uint64_t amount)
{
    atomic_fetch_sub_explicit(&ledger->figures->of[held], amount, memory_order_relaxed);
}

/* ---- and with the tenant's others */

static CUresult ledger_quota_take(struct ledger *ledger, enum channel_lent kind, uint32_t gpu,
                                  uint64_t amount)
{
    return ledger->quota != NULL && kind != CHANNEL_LENT_KINDS
               ? quota_take(ledger->quota, kind, gpu, amount)
               : CUDA_SUCCESS;
}

static void ledger_quota_give(struct ledger *ledger, enum channel_lent kind, uint32_t gpu,
                              uint64_t amount)
{
    if (ledger->quota != NULL && kind != CHANNEL_LENT_KINDS) {
        quota_give(ledger->quota, kind, gpu, amount);
    }
}

/* The figure never tells more than has been taken. */
CUresult ledger_charge(struct ledger *ledger, enum figure held, uint64_t amount)
{
    CU_TRY(ledger_quota_take(ledger, lent_kind(held), 0, amount));
    CUresult rc = figure_raise(ledger, held, amount);
    if (rc != CUDA_SUCCESS) {
        ledger_quota_give(ledger, lent_kind(held), 0, amount);
    }
    return rc;
}

void ledger_return(struct ledger *ledger, enum figure held, uint64_t amount)
{
    figure_lower(ledger, held, amount);
    ledger_quota_give(ledger, lent_kind(held), 0, amount);
}

static void device_changed(const struct ledger *ledger)
{
    if (ledger->quota != NULL) {
        quota_changed(ledger->quota);
    }
}

CUresult ledger_charge_device(struct ledger *ledger, uint32_t gpu, uint64_t bytes)
{
    CU_TRY(ledger_quota_take(ledger, CHANNEL_LENT_DEVICE, gpu, bytes));
    CUresult rc = figure_raise(ledger, FIGURE_DEVICE_BYTES, bytes);
    if (rc != CUDA_SUCCESS) {
        ledger_quota_give(ledger, CHANNEL_LENT_DEVICE, gpu, bytes);
    } else {
        memory_change(ledger, gpu, bytes);
        device_changed(ledger);
    }
    return rc;
}

CUresult ledger_room(const struct ledger *ledger, uint32_t gpu, uint64_t *room)
{
    *room = LIMIT_NONE;
    if (ledger->quota == NULL) {
        return CUDA_SUCCESS;
    }
    uint64_t own =
        atomic_load_explicit(&ledger->figures->of[FIGURE_DEVICE_BYTES], memory_order_relaxed);
    uint64_t here = ledger->memory != NULL
                        ? atomic_load_explicit(&ledger->memory[gpu].bytes, memory_order_relaxed)
                        : own;
    return quota_room(ledger->quota, gpu, own, here, room);
}

void ledger_drop_device(struct ledger *ledger, uint32_t gpu, uint64_t bytes)
{
    memory_change(ledger, gpu, 0 - bytes);
    figure_lower(ledger, FIGURE_DEVICE_BYTES, bytes);
    device_changed(ledger);
}

void ledger_give_device(struct ledger *ledger, uint32_t gpu, uint64_t bytes)
{
    ledger_quota_give(ledger, CHANNEL_LENT_DEVICE, gpu, bytes);
}

void ledger_return_device(struct ledger *ledger, uint32_t gpu, uint64_t bytes)
{
    ledger_drop_device(ledger, gpu, bytes);
    ledger_give_device(ledger, gpu, bytes);
}

static CUresult host_charge(struct ledger *ledger, enum figure also, uint64_t bytes)
{
    CU_TRY(ledger_charge(ledger, FIGURE_HOST_BYTES, bytes));
    CUresult rc = ledger_charge(ledger, also, bytes);
    if (rc != CUDA_SUCCESS) {
        ledger_return(ledger, FIGURE_HOST_BYTES, bytes);
    }
    return rc;
}

CUresult ledger_charge_pinned(struct ledger *ledger, uint64_t bytes)
{
    return host_charge(ledger, FIGURE_PINNED_BYTES, bytes);
}

void ledger_return_pinned(struct ledger *ledger, uint64_t bytes)
{
    ledger_return(ledger, FIGURE_PINNED_BYTES, bytes);
    ledger_return(ledger, FIGURE_HOST_BYTES, bytes);
}

CUresult ledger_charge_image(struct ledger *ledger, uint64_t bytes)
{
    return host_charge(ledger, FIGURE_MODULE_BYTES, bytes);
}

void ledger_return_image(struct ledger *ledger, uint64_t bytes)
{
    ledger_return(ledger, FIGURE_MODULE_BYTES, bytes);
    ledger_return(ledger, FIGURE_HOST_BYTES, bytes);
}

void ledger_note(struct ledger *ledger, enum figure held, uint64_t amount)
{
    atomic_fetch_add_explicit(&ledger->figures->of[held], amount, memory_order_relaxed);
}

/* ---- */

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
