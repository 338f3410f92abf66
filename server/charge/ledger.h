/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger of an application: memory is charged before it is asked for and returned when it is
 * freed or could not be had; bytes are counted when they have been moved. (Objects are counted by
 * their handle tables, which have their limits too: base/handle_table.h.)
 *
 * What a reader would get wrong: memory that another application has made is not in the ledger of
 * those that have opened it. When its maker is gone, gpuaasd charges it to one of them
 * (sharing/opened_memory.h). */
#ifndef SERVER_CHARGE_LEDGER_H
#define SERVER_CHARGE_LEDGER_H

#include <stdbool.h>

#include "api/cuda_names.h"
#include "server/charge/quota.h"
#include "server/figures.h"

/* The two kinds of memory. */
_Static_assert(FIGURE_DEVICE_BYTES == 0 && FIGURE_HOST_BYTES == 1, "they index `most`");

/* A GPU's primary context (primary.h). */
struct ledger_primary {
    CUdevice device;
    uint32_t gpu;
    uint32_t holds; /* 0: it is not charged */
    uint64_t context_bytes;
    uint64_t kernel_bytes; /* that it has kept for kernels of a context which is no more */
};

struct ledger {
    struct figures *figures;
    struct figures_memory *memory; /* of each GPU; NULL: not kept */
    struct figures_times *times;   /* NULL: not kept */
    uint64_t most[2];    /* that may be charged of either memory; UINT64_MAX: the driver decides */
    struct quota *quota; /* of the tenant; NULL: it has no limits */
    struct ledger_primary primaries[CONF_GPUS_MAX]; /* of GPUs that the application uses */
    uint32_t primary_count;
};

/* No limits as yet. The figures, which may have been another application's, begin at 0. */
void ledger_init(struct ledger *ledger, struct figures *figures);
/* As ledger_init, with the memory and the times that gpuaasd reads. */
static inline void ledger_init_seat(struct ledger *ledger, struct figures_page *page, uint32_t seat)
{
    ledger_init(ledger, &page->seats[seat]);
    ledger->memory = page->memory[seat];
    ledger->times = &page->times[seat];
}
/* Charges `amount`: of either memory, or (with the quota of the tenant) of pinned memory, bytes of
 * images, objects. CUDA_ERROR_OUT_OF_MEMORY: that would be more than allowed. Any thread but the
 * main one. */
CUresult ledger_charge(struct ledger *ledger, enum figure held, uint64_t amount);
/* Memory of the GPU of this index in the list that clients see, with the quota of the tenant. */
CUresult ledger_charge_device(struct ledger *ledger, uint32_t gpu, uint64_t bytes);
void ledger_return_device(struct ledger *ledger, uint32_t gpu, uint64_t bytes);
/* How much of it the limits of the tenant leave now; LIMIT_NONE: there are none. Errors as of
 * quota_room. */
CUresult ledger_room(const struct ledger *ledger, uint32_t gpu, uint64_t *room);
/* Returning in two steps, for memory that others may have open: it is counted no more; and, unless
 * gpuaasd has charged it to one of them, it may be taken again. */
void ledger_drop_device(struct ledger *ledger, uint32_t gpu, uint64_t bytes);
void ledger_give_device(struct ledger *ledger, uint32_t gpu, uint64_t bytes);
/* Pinned memory of this machine that the server itself takes: it is host memory, too. */
CUresult ledger_charge_pinned(struct ledger *ledger, uint64_t bytes);
void ledger_return_pinned(struct ledger *ledger, uint64_t bytes);
/* An image of a module: the same. */
CUresult ledger_charge_image(struct ledger *ledger, uint64_t bytes);
void ledger_return_image(struct ledger *ledger, uint64_t bytes);
/* Counts what is there already, limit or not; and what is there no more. */
void ledger_note(struct ledger *ledger, enum figure held, uint64_t amount);
void ledger_return(struct ledger *ledger, enum figure held, uint64_t amount);

/* Whether the figure tells what the application holds; else, what it has moved. And its words. */
bool ledger_is_held(enum figure figure);
const char *ledger_figure_name(enum figure figure);

/* At the end of the application, which holds nothing any more: anything else is our mistake, which
 * is logged, and ends the builds of tests. */
void ledger_check_empty(const struct ledger *ledger);

/* Counts bytes that have been moved. Each way is one thread's at a time: no locked instruction. */
static inline void ledger_moved(struct ledger *ledger, enum figure way, uint64_t bytes)
{
    _Atomic uint64_t *at = &ledger->figures->of[way];
    atomic_store_explicit(at, atomic_load_explicit(at, memory_order_relaxed) + bytes,
                          memory_order_relaxed);
}

/* A limit in a second holds the application, as was seen now. A thread that waits for one looks,
 * and calls this, many times a second, so gpuaasd can tell that it does. Any thread. */
static inline void ledger_rate_waits(const struct ledger *ledger)
{
    atomic_fetch_add_explicit(&ledger->figures->rate_waits, 1, memory_order_relaxed);
}

#endif
