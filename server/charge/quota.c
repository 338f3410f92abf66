/* SPDX-License-Identifier: Apache-2.0 */
#include "server/charge/quota.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "server/lent.h"

#define NOTE_NS GA_NS_PER_S

void quota_init(struct quota *quota, const struct channel_application *told,
                const struct quota_host *host)
{
    quota->host = *host;
    memcpy(quota->tenant, told->tenant_name, sizeof quota->tenant);
    quota->tenant[sizeof quota->tenant - 1] = 0;
    quota->shown = told->shown;
    memcpy(quota->user, told->user, sizeof quota->user);
    quota->user[sizeof quota->user - 1] = 0;
    quota_limit(quota, &told->limits, told->own);
    for (unsigned kind = 0; kind < CHANNEL_LENT_KINDS; kind++) {
        atomic_store(&quota->change[kind], 0);
        atomic_store(&quota->lent_under[kind], 0);
    }
    quota->gpu_count = told->gpu_count < CONF_GPUS_MAX ? told->gpu_count : CONF_GPUS_MAX;
    for (unsigned kind = 0; kind < CHANNEL_LENT_KINDS; kind++) {
        atomic_store(&quota->spare[kind],
                     (told->boundless >> kind & 1) != 0 ? CHANNEL_BOUNDLESS : 0);
    }
    for (unsigned gpu = 0; gpu < CONF_GPUS_MAX; gpu++) {
        atomic_store(&quota->lent_under_on[gpu], 0);
        bool lent = gpu < quota->gpu_count;
        atomic_store(&quota->spare_on[gpu],
                     lent ? atomic_load(&quota->spare[CHANNEL_LENT_DEVICE]) : 0);
    }
    for (unsigned limit = 0; limit < LIMIT_COUNT; limit++) {
        atomic_store(&quota->noted_ns[limit], 0);
        atomic_store(&quota->unnoted[limit], 0);
    }
    quota_listen(quota, NULL, NULL);
    quota_room_init(quota);
}

void quota_listen(struct quota *quota, void (*note)(void *user, const char *text), void *user)
{
    if (quota != NULL) {
        quota->note_user = user;
        atomic_store(&quota->note, note);
    }
}

static bool limit_differs(const struct quota *quota, const struct limits *limits, enum limit limit)
{
    return quota_limit_of(quota, limit) != limits->of[limit];
}

void quota_limit(struct quota *quota, const struct limits *limits, uint32_t own)
{
    for (unsigned kind = 0; kind < CHANNEL_LENT_KINDS; kind++) {
        if (limit_differs(quota, limits, lent_table[kind].limit) ||
            (kind == CHANNEL_LENT_DEVICE && limit_differs(quota, limits, LIMIT_GPU_MEM_PER_GPU))) {
            atomic_fetch_add(&quota->change[kind], 1);
        }
    }
    atomic_store_explicit(&quota->own, own, memory_order_relaxed);
    for (unsigned limit = 0; limit < LIMIT_COUNT; limit++) {
        atomic_store_explicit(&quota->limits[limit], limits->of[limit], memory_order_relaxed);
    }
    atomic_fetch_add(&quota->turn, 1);
}

static _Atomic uint64_t *spare_of(struct quota *quota, enum channel_lent kind, uint32_t gpu)
{
    return kind == CHANNEL_LENT_DEVICE ? &quota->spare_on[gpu % CONF_GPUS_MAX]
                                       : &quota->spare[kind];
}

static _Atomic uint32_t *lent_under_of(struct quota *quota, enum channel_lent kind, uint32_t gpu)
{
    return kind == CHANNEL_LENT_DEVICE ? &quota->lent_under_on[gpu % CONF_GPUS_MAX]
                                       : &quota->lent_under[kind];
}

/* ---- notes */

static bool note_is_due(struct quota *quota, enum limit limit)
{
    uint64_t now = ga_clock_ns(), last = atomic_load(&quota->noted_ns[limit]);
    if ((last != 0 && now - last < NOTE_NS) ||
        !atomic_compare_exchange_strong(&quota->noted_ns[limit], &last, now)) {
        atomic_fetch_add(&quota->unnoted[limit], 1);
        return false;
    }
    return true;
}

static void whose_write(const struct quota *quota, bool own, char whose[QUOTA_WHOSE_BYTES])
{
    if (own) {
        snprintf(whose, QUOTA_WHOSE_BYTES, "user %s of tenant %s", quota->user, quota->tenant);
    } else {
        snprintf(whose, QUOTA_WHOSE_BYTES, "tenant %s", quota->tenant);
    }
}

static bool is_own(const struct quota *quota, enum limit limit)
{
    return (atomic_load_explicit(&quota->own, memory_order_relaxed) >> limit & 1) != 0;
}

void quota_whose(const struct quota *quota, enum limit limit, char whose[QUOTA_WHOSE_BYTES])
{
    whose_write(quota, is_own(quota, limit), whose);
}

static void line_note(struct quota *quota, const char *line)
{
    ga_warn("%s", line);
    void (*note)(void *user, const char *text) = atomic_load(&quota->note);
    if (note != NULL) {
        note(quota->note_user, line);
    }
}

static void limit_note(struct quota *quota, enum limit limit, bool own, const char *text)
{
    if (!note_is_due(quota, limit)) {
        return;
    }
    char line[600], more[48] = "", whose[QUOTA_WHOSE_BYTES];
    whose_write(quota, own, whose);
    uint32_t unnoted = atomic_exchange(&quota->unnoted[limit], 0);
    if (unnoted != 0) {
        snprintf(more, sizeof more, " (and %u times before)", unnoted);
    }
    snprintf(line, sizeof line, "limit %s of %s: %s%s", limits_table[limit].key, whose, text, more);
    line_note(quota, line);
}

void quota_silence_note(struct quota *quota)
{
    line_note(quota,
              "gpuaasd does not answer, which keeps the limits of the tenant: try again when "
              "the machine has time for it, or ask its administrator");
}

void quota_note(struct quota *quota, enum limit limit, const char *text)
{
    limit_note(quota, limit, is_own(quota, limit), text);
}

static void refusal_note(struct quota *quota, const struct channel_request *answer, uint64_t amount)
{
    enum limit limit = answer->what < LIMIT_COUNT ? (enum limit)answer->what : LIMIT_GPU_MEM;
    char allowed[LIMITS_TEXT_MAX], used[LIMITS_TEXT_MAX], wanted[LIMITS_TEXT_MAX], text[200];
    limits_value_write(limit, answer->mapping_bytes, allowed);
    limits_value_write(limit, answer->offset, used);
    limits_value_write(limit, amount, wanted);
    snprintf(text, sizeof text, "%s allowed, %s used, %s more asked for%s", allowed, used, wanted,
             limit == LIMIT_GPU_MEM_PER_GPU ? " on one GPU" : "");
    limit_note(quota, limit, answer->address != 0, text);
}

/* ---- taking and giving */

void quota_asks(struct quota *quota, struct channel_request *packet)
{
    _Atomic uint64_t *spare =
        spare_of(quota, (enum channel_lent)packet->what, (uint32_t)packet->address);
    packet->offset = atomic_exchange(spare, 0);
}

static bool is_lent(const struct channel_request *packet, uint64_t wanted)
{
    return packet->result == CUDA_SUCCESS && packet->bytes >= wanted;
}

void quota_answered(struct quota *quota, const struct channel_request *packet, uint64_t wanted)
{
    if (is_lent(packet, wanted) && packet->what < CHANNEL_LENT_KINDS) {
        enum channel_lent kind = (enum channel_lent)packet->what;
        uint32_t gpu = (uint32_t)packet->address;
        atomic_fetch_add(spare_of(quota, kind, gpu), packet->bytes - wanted);
        atomic_store(lent_under_of(quota, kind, gpu), atomic_load(&quota->change[kind]));
    }
}

/* Asks for `amount`, of which the caller has the use when gpuaasd lends it. */
static CUresult borrow(struct quota *quota, enum channel_lent kind, uint32_t gpu, uint64_t amount)
{
    struct channel_request packet = {
        .verb = CHANNEL_LEND, .what = kind, .address = gpu, .bytes = amount};
    (void)GA_FAILPOINT("backend: before it borrows");
    enum ga_status status = quota->host.ask(quota->host.user, &packet);
    (void)GA_FAILPOINT("backend: borrowed");
    if (status != GA_OK) {
        quota_silence_note(quota);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (!is_lent(&packet, amount)) {
        refusal_note(quota, &packet, amount);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_SUCCESS;
}

CUresult quota_take(struct quota *quota, enum channel_lent kind, uint32_t gpu, uint64_t amount)
{
    _Atomic uint64_t *spare = spare_of(quota, kind, gpu);
    uint64_t has = atomic_load_explicit(spare, memory_order_relaxed);
    bool holds = atomic_load_explicit(lent_under_of(quota, kind, gpu), memory_order_relaxed) ==
                 atomic_load_explicit(&quota->change[kind], memory_order_relaxed);
    if (amount == 0) {
        return CUDA_SUCCESS;
    }
    while (holds && has >= amount) {
        if (atomic_compare_exchange_weak_explicit(spare, &has, has - amount, memory_order_relaxed,
                                                  memory_order_relaxed)) {
            return CUDA_SUCCESS;
        }
    }
    CUresult rc = borrow(quota, kind, gpu, amount);
    if (rc == CUDA_SUCCESS && kind == CHANNEL_LENT_DEVICE && atomic_load(&quota->unshared)) {
        quota_give(quota, kind, gpu, amount); /* others would not see it */
        rc = CUDA_ERROR_OUT_OF_MEMORY;
    }
    return rc;
}

void quota_give(struct quota *quota, enum channel_lent kind, uint32_t gpu, uint64_t amount)
{
    atomic_fetch_add_explicit(spare_of(quota, kind, gpu), amount, memory_order_release);
}

/* ---- returning */

static void spare_return(struct quota *quota, const struct channel_request *recall,
                         enum channel_lent kind, uint32_t gpu)
{
    _Atomic uint64_t *spare = spare_of(quota, kind, gpu);
    struct channel_request packet = {.kind = CHANNEL_REQUEST,
                                     .seat = recall->seat,
                                     .verb = CHANNEL_RETURN,
                                     .what = kind,
                                     .address = gpu,
                                     .bytes = atomic_exchange(spare, 0)};
    (void)GA_FAILPOINT("backend: before it returns");
    if (packet.bytes != 0) {
        quota->host.tell(quota->host.user, &packet);
    }
}

void quota_recall(struct quota *quota, const struct channel_request *packet)
{
    for (unsigned kind = 0; kind < CHANNEL_LENT_KINDS; kind++) {
        if ((packet->bytes >> kind & 1) == 0) {
            continue;
        }
        uint32_t gpus = kind == CHANNEL_LENT_DEVICE ? quota->gpu_count : 1;
        for (uint32_t gpu = 0; gpu < gpus; gpu++) {
            if (atomic_load_explicit(spare_of(quota, (enum channel_lent)kind, gpu),
                                     memory_order_relaxed) != 0) {
                spare_return(quota, packet, (enum channel_lent)kind, gpu);
            }
        }
    }
    (void)GA_FAILPOINT("backend: returned");
    quota->host.tell(quota->host.user, packet);
}
