/* SPDX-License-Identifier: Apache-2.0 */
#include "server/tenants/lender.h"

#include <stdlib.h>

#include "api/cuda_names.h"
#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "server/lent.h"
#include "server/tenants/lender_rates.h"
#include "server/tenants/member.h"
#include "server/tenants/tenant.h"
#include "server/usage/usage.h"

#define DIVIDE_NS   (250 * GA_NS_PER_MS)
#define PATIENCE_NS (2 * GA_NS_PER_S) /* a process answers a recall at once, or is in trouble */
#define OFFER_PARTS 8u                /* an offer is at most such a part of what may be lent */

static struct lender_seat *lender_seat_of(struct ga_list *link)
{
    return ga_container(link, struct lender_seat, link);
}

static struct lender *lender_of(const struct lender_seat *seat)
{
    return &seat->tenant->lender;
}

/* The account that the seat borrows from: its user's, which is under the tenant's. */
static struct lending_account *account_of(const struct lender_seat *seat)
{
    struct member *member = seat->member;
    return member != NULL ? &member->account : &lender_of(seat)->account;
}

/* ---- life */

uint64_t lender_now(const struct tenant *tenant)
{
    return timers_now(tenant->table->timers);
}

static uint64_t lender_awake(const struct tenant *tenant)
{
    return timers_awake(tenant->table->timers);
}

enum ga_status lender_init(struct lender *lender, uint32_t gpu_count)
{
    *lender = (struct lender){.movers = 1, .shared_fd = -1};
    ga_list_init(&lender->seats);
    return lending_account_init(&lender->account, gpu_count);
}

void lender_fini(struct lender *lender)
{
    lending_account_fini(&lender->account);
    lender_shared_fini(lender);
}

static void boundless_lend(struct lender_seat *seat)
{
    struct lending_account *account = account_of(seat);
    struct lender_seat *made = seat;
    for (unsigned kind = 0; kind < CHANNEL_LENT_KINDS; kind++) {
        if (!lending_is_boundless(account, (enum channel_lent)kind)) {
            continue;
        }
        made->boundless |= 1u << kind;
        uint32_t gpus = kind == CHANNEL_LENT_DEVICE ? account->gpu_count : 1;
        for (uint32_t gpu = 0; gpu < gpus; gpu++) {
            (void)lending_lend(account, &made->share, (enum channel_lent)kind, gpu,
                               CHANNEL_BOUNDLESS);
        }
    }
}

enum ga_status lender_seat_begin(struct lender_seat *seat)
{
    struct lender *lender = lender_of(seat);
    seat->told = seat->answered = lender->turn;
    ga_list_init(&seat->link);
    GA_TRY(lending_share_init(&seat->share, lender->account.gpu_count));
    seat->taken = calloc(lender->account.gpu_count + 1, sizeof *seat->taken);
    if (seat->taken == NULL) {
        lending_end(account_of(seat), &seat->share);
        return GA_NO_MEMORY;
    }
    ga_list_append(&lender->seats, &seat->link);
    boundless_lend(seat);
    if (lender_divide(seat->tenant, lender_awake(seat->tenant))) {
        tenant_wait(seat->tenant);
    }
    return GA_OK;
}

void lender_tell(const struct lender_seat *seat, struct channel_application *packet)
{
    packet->limits = lender_rates_limits(seat);
    packet->own = member_own(seat->tenant, seat->member);
    packet->boundless = seat->boundless;
    packet->gpu_count = lender_of(seat)->account.gpu_count;
}

void lender_seat_end(struct lender_seat *seat)
{
    if (seat->share.lent_on == NULL) {
        return;
    }
    lending_end(account_of(seat), &seat->share);
    free(seat->taken);
    seat->taken = NULL;
    seat->wanted.kind = 0;
    ga_list_remove(&seat->link);
    lender_changed(lender_of(seat));
    (void)lender_turn(seat->tenant, lender_awake(seat->tenant));
}

/* ---- recalling */

/* A kind without a limit is lent in pieces that last: they may stay where they are. */
static uint64_t limited_kinds(const struct lender_seat *seat)
{
    uint64_t kinds = 0;
    for (unsigned kind = 0; kind < CHANNEL_LENT_KINDS; kind++) {
        bool limited = !lending_is_boundless(account_of(seat), (enum channel_lent)kind);
        kinds |= (uint64_t)limited << kind;
    }
    return kinds;
}

/* One at a time: what a process has returned before a turn does not count for it. */
static void recall_tell(struct lender_seat *seat)
{
    struct lender_seat *at = seat;
    const struct channel_request packet = {.kind = CHANNEL_REQUEST,
                                           .seat = seat->number,
                                           .number = at->recall,
                                           .verb = CHANNEL_RECALL,
                                           .bytes = limited_kinds(seat)};
    if (at->told == at->answered && at->recall > at->told &&
        seat->ops->send(seat, &packet, sizeof packet)) {
        (void)GA_FAILPOINT("gpuaasd: recalled");
        at->told = at->recall;
    }
}

static uint32_t recall_all(struct lender *lender)
{
    lender->turn++;
    ga_list_each (at, next, &lender->seats) {
        struct lender_seat *seat = lender_seat_of(at);
        seat->recall = lender->turn;
        recall_tell(seat);
    }
    return lender->turn;
}

/* Whether any seat may still return some of this kind for the seat that asked at this turn. */
static bool is_owed(const struct lender *lender, enum channel_lent kind, uint32_t turn)
{
    ga_list_each (at, next, &lender->seats) {
        const struct lender_seat *seat = ga_container(at, struct lender_seat, link);
        if (seat->answered < turn && seat->share.lent[kind] != 0) {
            return true;
        }
    }
    return false;
}

/* ---- lending */

static void answer_send(struct lender_seat *seat, struct channel_request *answer)
{
    int fd = lender_share(seat, answer);
    (void)GA_FAILPOINT("gpuaasd: before lending");
    if (seat->ops->tell(seat, answer, fd)) {
        seat->shares |= fd >= 0;
    } else if (answer->verb == CHANNEL_LEND && answer->bytes != 0) {
        lending_return(account_of(seat), &seat->share, (enum channel_lent)answer->what,
                       (uint32_t)answer->address, answer->bytes);
    }
    (void)GA_FAILPOINT("gpuaasd: lent");
}

static bool lend(struct lender_seat *seat, const struct channel_request *wanted)
{
    struct channel_request answer = *wanted;
    answer.bytes = lending_lend(account_of(seat), &seat->share, (enum channel_lent)wanted->what,
                                (uint32_t)wanted->address, wanted->bytes);
    if (answer.bytes == 0) {
        return false;
    }
    answer.result = CUDA_SUCCESS;
    answer_send(seat, &answer);
    return true;
}

static void offer_lend(struct lender_seat *seat, enum channel_lent kind, uint32_t gpu,
                       uint64_t bytes, uint64_t grain)
{
    const struct channel_request offer = {.kind = CHANNEL_REQUEST,
                                          .seat = seat->number,
                                          .verb = CHANNEL_LEND,
                                          .what = kind,
                                          .address = gpu,
                                          .bytes = bytes};
    const struct lending_account *account = account_of(seat);
    if (!lending_is_boundless(account, kind) &&
        lending_room(account, kind, gpu) / OFFER_PARTS >= bytes + grain) {
        (void)lend(seat, &offer);
    }
}

/* For a program that asks first how much is free. It must be able to see whether that still
 * holds. */
static void offer_room(struct lender_seat *seat, uint32_t gpu)
{
    struct channel_request offer = {
        .kind = CHANNEL_REQUEST, .seat = seat->number, .verb = CHANNEL_ROOM, .address = gpu};
    if (seat->shares) {
        lender_room(seat, &offer);
        (void)seat->ops->tell(seat, &offer, -1); /* else it asks */
    }
}

void lender_offer(struct lender_seat *seat, uint32_t gpu, uint64_t bytes)
{
    if (seat->share.lent_on != NULL && !seat->offered) {
        seat->offered = true;
        offer_lend(seat, CHANNEL_LENT_OBJECTS, 0, 1, CHANNEL_GRAIN_OBJECTS);
        offer_lend(seat, CHANNEL_LENT_DEVICE, gpu, bytes, CHANNEL_GRAIN_BYTES);
        offer_room(seat, gpu);
    }
}

static enum limit lender_limit_of(const struct lending_account *account,
                                  const struct channel_request *wanted)
{
    uint64_t most = account->most[wanted->what], lent = account->lent[wanted->what];
    bool all = most != LIMIT_NONE && (lent > most || wanted->bytes > most - lent);
    return wanted->what == CHANNEL_LENT_DEVICE && !all ? LIMIT_GPU_MEM_PER_GPU
                                                       : lent_table[wanted->what].limit;
}

static void lender_refuse(struct lender_seat *seat, const struct channel_request *wanted)
{
    struct tenant *tenant = seat->tenant;
    const struct lending_account *lacks =
        lending_lacks(account_of(seat), (enum channel_lent)wanted->what, (uint32_t)wanted->address,
                      wanted->bytes);
    lacks = lacks != NULL ? lacks : &tenant->lender.account; /* nonsense was asked for */
    const struct member *member = lacks != &tenant->lender.account ? seat->member : NULL;
    struct channel_request answer = *wanted;
    enum limit limit = lender_limit_of(lacks, wanted);
    bool each = limit == LIMIT_GPU_MEM_PER_GPU;
    tenant->lender.refusals[limit]++;
    totals_refused(&tenant->table->usage->totals, tenant->terms.name, limit);
    answer.result = CUDA_ERROR_OUT_OF_MEMORY;
    answer.bytes = 0;
    answer.what = limit;
    answer.offset = lender_charged(tenant, member, (enum channel_lent)wanted->what,
                                   each ? (uint32_t)wanted->address : UINT32_MAX);
    answer.mapping_bytes = member_limits(tenant, member)->of[limit];
    answer.address = member != NULL; /* whose limit it is */
    answer_send(seat, &answer);
}

bool lender_turn(struct tenant *tenant, uint64_t now)
{
    struct lender *lender = &tenant->lender;
    bool waits = false;
    ga_list_each (at, next, &lender->seats) {
        struct lender_seat *seat = lender_seat_of(at);
        struct channel_request wanted = seat->wanted;
        if (wanted.kind == 0) {
            continue;
        }
        seat->wanted.kind = 0;
        if (lend(seat, &wanted)) {
            continue;
        }
        if (is_owed(lender, (enum channel_lent)wanted.what, seat->turn) && now < seat->until_ns) {
            seat->wanted = wanted;
            waits = true;
        } else {
            lender_refuse(seat, &wanted);
        }
    }
    return waits;
}

/* ---- what processes say */

static void wish_take(struct lender_seat *seat, const struct channel_request *packet)
{
    struct tenant *tenant = seat->tenant;
    struct lender *lender = &tenant->lender;
    struct lender_seat *asker = seat;
    lending_return(account_of(seat), &asker->share, (enum channel_lent)packet->what,
                   (uint32_t)packet->address, packet->offset);
    if (asker->wanted.kind != 0 || packet->bytes == 0) {
        lender_refuse(seat, packet);
        return;
    }
    if (lend(seat, packet)) {
        return;
    }
    asker->wanted = *packet;
    asker->turn = recall_all(lender);
    asker->until_ns = lender_awake(tenant) + PATIENCE_NS;
    if (lender_turn(tenant, lender_awake(tenant))) {
        tenant_wait(tenant);
    }
}

static void recalled_take(struct lender_seat *seat, const struct channel_request *packet)
{
    struct lender_seat *at = seat;
    if (packet->number == at->told) {
        at->answered = at->told;
        recall_tell(seat);
    }
    (void)lender_turn(seat->tenant, lender_awake(seat->tenant));
}

static void room_take(struct lender_seat *seat, const struct channel_request *packet)
{
    struct channel_request answer = *packet;
    lender_room(seat, &answer);
    answer_send(seat, &answer);
}

bool lender_is(const struct channel_request *packet)
{
    return packet->verb == CHANNEL_LEND || packet->verb == CHANNEL_RETURN ||
           packet->verb == CHANNEL_RECALL || packet->verb == CHANNEL_ROOM;
}

void lender_take(struct lender_seat *seat, const struct channel_request *packet)
{
    struct lender *lender = lender_of(seat);
    if (packet->what >= CHANNEL_LENT_KINDS || packet->address >= lender->account.gpu_count ||
        seat->share.lent_on == NULL) {
        ga_warn_of(seat->client, "%s: its backend process asks for what is not lent", seat->label);
        return;
    }
    switch (packet->verb) {
    case CHANNEL_LEND:
        wish_take(seat, packet);
        break;
    case CHANNEL_RETURN:
        lending_return(account_of(seat), &seat->share, (enum channel_lent)packet->what,
                       (uint32_t)packet->address, packet->bytes);
        break;
    case CHANNEL_RECALL:
        recalled_take(seat, packet);
        break;
    default:
        room_take(seat, packet);
    }
}

/* ---- limits */

static void limits_tell(struct lender_seat *seat)
{
    const struct channel_limits packet = {.kind = CHANNEL_LIMITS,
                                          .seat = seat->number,
                                          .limits = lender_rates_limits(seat),
                                          .own = member_own(seat->tenant, seat->member)};
    seat->limits_untold = !seat->ops->send(seat, &packet, sizeof packet);
}

void lender_limits(struct tenant *tenant)
{
    struct lender *lender = &tenant->lender;
    lending_limit(&lender->account, &tenant->terms.limits);
    lender_changed(lender);
    ga_list_each (at, next, &lender->seats) {
        limits_tell(lender_seat_of(at));
    }
    (void)recall_all(lender); /* what was lent under a higher limit */
    if (lender_divide(tenant, lender_awake(tenant))) {
        tenant_wait(tenant);
    }
    (void)lender_turn(tenant, lender_awake(tenant));
}

bool lender_divide(struct tenant *tenant, uint64_t now)
{
    struct lender *lender = &tenant->lender;
    bool limited = lender_rates_any(tenant);
    if (!limited || now - lender->movers_ns < DIVIDE_NS) {
        return limited && !ga_list_empty(&lender->seats);
    }
    lender->movers_ns = now;
    if (lender_rates_count(tenant)) {
        ga_list_each (at, next, &lender->seats) {
            limits_tell(lender_seat_of(at));
        }
    }
    return !ga_list_empty(&lender->seats);
}

void lender_seat_room(struct lender_seat *seat)
{
    if (seat->limits_untold) {
        limits_tell(seat);
    }
    recall_tell(seat);
}

/* ---- figures */

uint64_t lender_charged_of(const struct lender_seat *seat, enum channel_lent kind, uint32_t gpu)
{
    const _Atomic uint64_t *at =
        gpu != UINT32_MAX ? &seat->memory[gpu].bytes : &seat->figures->of[lent_table[kind].figure];
    uint64_t charged = atomic_load_explicit(at, memory_order_relaxed);
    if (kind == CHANNEL_LENT_HOST) {
        charged +=
            atomic_load_explicit(&seat->figures->of[FIGURE_SHARED_BYTES], memory_order_relaxed);
    }
    return charged + (kind == CHANNEL_LENT_DEVICE ? lender_taken_bytes(seat, gpu) : 0);
}

uint64_t lender_charged(const struct tenant *tenant, const struct member *member,
                        enum channel_lent kind, uint32_t gpu)
{
    uint64_t sum = 0;
    ga_list_each (at, next, &tenant->lender.seats) {
        const struct lender_seat *seat = lender_seat_of(at);
        bool counts = member == NULL || seat->member == member;
        uint64_t charged = counts ? lender_charged_of(seat, kind, gpu) : 0;
        sum = charged <= UINT64_MAX - sum ? sum + charged : UINT64_MAX;
    }
    return sum;
}

bool lender_balances(const struct tenant *tenant)
{
    const struct lender *lender = &tenant->lender;
    bool balances = true;
    for (unsigned kind = 0; kind < CHANNEL_LENT_KINDS; kind++) {
        uint64_t sum = 0;
        ga_list_each (at, next, &lender->seats) {
            const struct lender_seat *seat = lender_seat_of(at);
            sum += seat->share.lent[kind];
            balances = balances && lender_charged_of(seat, (enum channel_lent)kind, UINT32_MAX) <=
                                       seat->share.lent[kind];
        }
        balances = balances && sum == lender->account.lent[kind];
    }
    return balances;
}
