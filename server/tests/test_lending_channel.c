/* SPDX-License-Identifier: Apache-2.0 */
/* Lending over channels of any room, at both ends, in a random order of events: limits come, change
 * and go while programs take and give, processes end and new ones begin. The lender, the quotas and
 * the queues are the real ones; this file has the channel instead of channel.c, which is not
 * linked.
 *
 * At any time nobody has charged more than it was lent. When all is quiet, which takes so many
 * packets at most: each recall has been answered, each process knows its limits, and what a program
 * asks for it gets if and only if it fits the limits, with what is charged; and the room that it is
 * told is what fits, whether its process asks for it or remembers it. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/cuda_names.h"
#include "server/channel_queue.h"
#include "server/charge/quota.h"
#include "server/processes/backend_process.h"
#include "server/processes/devices.h"
#include "server/seats/seat.h"
#include "server/seats/seat_lending.h"
#include "server/tenants/lender_rates.h"
#include "server/tenants/member.h"
#include "server/tests/lent_channel.h"
#include "server/tests/still_clock.h"
#include "server/usage/usage.h"

#define GPUS_MAX 300u
#define ROUNDS   60u
#define STEPS    60u
#define MIB      (UINT64_C(1) << 20)

/* ---- processes */

static struct still_clock still;
static struct devices devices;
static struct usage usage;
static struct tenant_table tenants;
static struct member *member; /* of the last process's program */
static struct figures_page pages[SEATS];
static struct process {
    struct backend_process process;
    struct seat seat;
    struct quota quota; /* at its end, like: */
    struct channel_queue queue;
    struct channel_request question; /* kind 0: it asks nothing */
    bool answered;
    unsigned questions;
    uint64_t taken[CHANNEL_LENT_KINDS][GPUS_MAX];
} all[SEATS];

static bool calm; /* nothing new happens */
static unsigned delivered;

static uint64_t chance = 1;

static uint64_t any(uint64_t below)
{
    chance ^= chance << 13;
    chance ^= chance >> 7;
    chance ^= chance << 17;
    return chance % below;
}

static unsigned number_of(const struct process *at)
{
    return (unsigned)(at - all);
}

static void say(struct process *at, const struct channel_request *packet)
{
    int fd = (int)(SEATS + number_of(at));
    cr_assert_eq(channel_queue_send(&at->queue, fd, packet, sizeof *packet, -1), GA_OK);
}

static void process_tell(void *user, const struct channel_request *packet)
{
    say(user, packet);
}

static void turn(void);

static enum ga_status process_ask(void *user, struct channel_request *packet)
{
    struct process *at = user;
    static uint32_t number;
    packet->kind = CHANNEL_REQUEST;
    packet->number = ++number;
    if (packet->verb == CHANNEL_LEND) {
        quota_asks(&at->quota, packet);
    }
    at->question = *packet;
    at->questions++;
    at->answered = false;
    say(at, packet);
    for (unsigned turns = 0; !at->answered; turns++) {
        cr_assert_lt(turns, 1000000u, "a wish is never answered");
        turn();
    }
    *packet = at->question;
    at->question.kind = 0;
    return GA_OK;
}

static void process_begin(struct process *at)
{
    unsigned i = number_of(at);
    const struct quota_host host = {.user = at, .ask = process_ask, .tell = process_tell};
    struct channel_application told = {.tenant_name = "lab"};
    memset(&pages[i], 0, sizeof pages[i]);
    *at = (struct process){.process = {.fd = (int)i, .figures = &pages[i]}};
    channel_queue_init(&at->process.queue, 256, 256);
    channel_queue_init(&at->queue, UINT32_MAX, 0);
    at->seat = (struct seat){
        .process = &at->process,
        .of = {.tenant = tenant, .member = i + 1 == SEATS ? member : NULL, .address = "test"},
        .usage.figures = &pages[i].seats[0]};
    seat_lending_init(&at->seat);
    cr_assert_eq(lender_seat_begin(&at->seat.lender), GA_OK);
    lender_tell(&at->seat.lender, &told);
    quota_init(&at->quota, &told, &host);
}

/* It dies, with all that is under way. */
static void process_end(struct process *at)
{
    unsigned i = number_of(at);
    to_gpuaasd[i].count = to_backend[i].count = 0;
    channel_queue_fini(&at->queue);
    channel_queue_fini(&at->process.queue);
    quota_fini(&at->quota);
    lender_seat_end(&at->seat.lender);
}

/* ---- what happens */

static void figures_set(struct process *at, enum channel_lent kind, uint32_t gpu)
{
    static const enum figure figures[] = {FIGURE_DEVICE_BYTES, FIGURE_PINNED_BYTES,
                                          FIGURE_MODULE_BYTES, FIGURE_OBJECTS};
    struct figures_page *page = &pages[number_of(at)];
    uint64_t sum = 0;
    for (uint32_t i = 0; i < now.gpus; i++) {
        sum += at->taken[kind][i];
    }
    atomic_store(&page->seats[0].of[figures[kind]], sum);
    if (kind == CHANNEL_LENT_DEVICE) {
        atomic_store(&page->memory[0][gpu].bytes, at->taken[kind][gpu]);
    }
}

static void changed(struct process *at, enum channel_lent kind)
{
    if (kind == CHANNEL_LENT_DEVICE) {
        quota_changed(&at->quota);
    }
}

static uint64_t room(struct process *at, uint32_t gpu)
{
    const struct figures_page *page = &pages[number_of(at)];
    uint64_t left = 0;
    CUresult rc = quota_room(&at->quota, gpu, atomic_load(&page->seats[0].of[FIGURE_DEVICE_BYTES]),
                             atomic_load(&page->memory[0][gpu].bytes), &left);
    return rc == CUDA_SUCCESS ? left : 0;
}

static CUresult take(struct process *at, enum channel_lent kind, uint32_t gpu, uint64_t amount)
{
    CUresult rc = quota_take(&at->quota, kind, gpu, amount);
    if (rc == CUDA_SUCCESS) {
        at->taken[kind][gpu] += amount;
        figures_set(at, kind, gpu);
        changed(at, kind);
    }
    return rc;
}

static void give(struct process *at, enum channel_lent kind, uint32_t gpu)
{
    uint64_t amount = any(at->taken[kind][gpu] + 1);
    at->taken[kind][gpu] -= amount;
    figures_set(at, kind, gpu);
    changed(at, kind);
    quota_give(&at->quota, kind, gpu, amount);
}

static const uint64_t units[] = {MIB, MIB, MIB, 1};

/* None, far above any use, or one that matters. */
static void limits_change(void)
{
    static const enum limit kinds[] = {LIMIT_GPU_MEM, LIMIT_HOST_PINNED, LIMIT_MODULE_BYTES,
                                       LIMIT_OBJECTS, LIMIT_GPU_MEM_PER_GPU};
    struct tenant_terms terms = tenant->terms;
    struct limits own, stricter;
    limits_clear(&own);
    terms.generation++;
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        uint64_t unit = kinds[i] == LIMIT_OBJECTS ? 1 : MIB, which = any(4);
        terms.limits.of[kinds[i]] = which == 0   ? LIMIT_NONE
                                    : which == 1 ? 1000000 * unit
                                                 : (1 + any(600)) * unit;
        own.of[kinds[i]] = any(2) == 0 ? LIMIT_NONE : (1 + any(300)) * unit;
    }
    limits_stricter(&terms.limits, &own, &stricter);
    tenant_renew(&tenants, &terms);
    member_limit(member, &stricter);
}

static void act(struct process *at)
{
    enum channel_lent kind = (enum channel_lent)any(CHANNEL_LENT_KINDS);
    uint32_t gpu = kind == CHANNEL_LENT_DEVICE ? (uint32_t)any(now.gpus) : 0;
    uint64_t what = any(100);
    if (at->question.kind != 0) {
        return;
    }
    if (what < 4) {
        limits_change();
    } else if (what == 4) {
        process_end(at);
        process_begin(at);
    } else if (what == 5) {
        lender_offer(&at->seat.lender, (uint32_t)any(now.gpus), 1 + any(200) * MIB);
    } else if (what < 10) {
        (void)room(at, (uint32_t)any(now.gpus)); /* others may change it before it is answered */
    } else if (what < 60) {
        (void)take(at, kind, gpu, 1 + any(200) * units[kind]);
    } else {
        give(at, kind, gpu);
    }
    cr_assert(lender_balances(tenant));
}

static void backend_hears(struct process *at, const union lent_packet *packet)
{
    if (packet->kind == CHANNEL_LIMITS) {
        quota_limit(&at->quota, &packet->limits.limits, packet->limits.own);
    } else if (packet->request.verb == CHANNEL_RECALL) {
        quota_recall(&at->quota, &packet->request);
    } else {
        bool late = at->question.kind == 0 || packet->request.number != at->question.number;
        bool shares = packet->request.opening != 0;
        quota_share(&at->quota, shares, shares ? dup(tenant_fd()) : -1);
        if (packet->request.verb == CHANNEL_ROOM) {
            quota_tell_room(&at->quota, &packet->request);
        }
        if (packet->request.verb == CHANNEL_LEND) {
            quota_answered(&at->quota, &packet->request, late ? 0 : at->question.bytes);
        }
        if (!late) {
            at->question = packet->request;
            at->answered = true;
        }
    }
}

/* One thing happens. */
static void turn(void)
{
    struct process *at = &all[any(SEATS)];
    unsigned i = number_of(at);
    union lent_packet packet;
    switch (any(calm ? 4 : 5)) {
    case 0:
        if (pipe_next(&to_gpuaasd[i], &packet)) {
            delivered++;
            lender_take(&at->seat.lender, &packet.request);
        }
        break;
    case 1:
        if (pipe_next(&to_backend[i], &packet)) {
            delivered++;
            backend_hears(at, &packet);
        }
        break;
    case 2:
        (void)!channel_queue_flush(&at->queue, (int)(SEATS + i));
        break;
    case 3:
        if (awaited[i] && to_backend[i].count < now.room &&
            channel_queue_flush(&at->process.queue, at->process.fd) == GA_OK) {
            awaited[i] = false;
            lender_seat_room(&at->seat.lender);
        }
        break;
    default:
        act(at);
    }
}

/* ---- when all is quiet */

static bool is_quiet(void)
{
    bool quiet = true;
    for (unsigned i = 0; i < SEATS; i++) {
        const struct lender_seat *lender = &all[i].seat.lender;
        quiet = quiet && to_gpuaasd[i].count == 0 && to_backend[i].count == 0 &&
                !channel_queue_waits(&all[i].queue) &&
                !channel_queue_waits(&all[i].process.queue) && !lender->limits_untold &&
                lender->told == lender->answered && lender->recall <= lender->told;
    }
    return quiet;
}

/* Each process is recalled from twice at most: what it returns, and what it is told. */
static void settle(void)
{
    calm = true;
    delivered = 0;
    for (unsigned turns = 0; !is_quiet(); turns++) {
        cr_assert_lt(turns, 1000000u, "something waits for ever");
        turn();
    }
    cr_assert_leq(delivered, SEATS * 8 * (now.gpus + CHANNEL_LENT_KINDS + 4));
}

static uint64_t taken_by(const struct member *of, enum channel_lent kind, uint32_t gpu)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < SEATS; i++) {
        for (uint32_t at = 0; at < now.gpus; at++) {
            bool counts =
                (of == NULL || all[i].seat.of.member == of) && (gpu == UINT32_MAX || gpu == at);
            sum += counts ? all[i].taken[kind][at] : 0;
        }
    }
    return sum;
}

static bool fits_in(const struct lending_account *account, const struct member *of,
                    enum channel_lent kind, uint32_t gpu, uint64_t amount)
{
    uint64_t most = account->most[kind], each = account->most_each;
    bool fits = most == LIMIT_NONE || taken_by(of, kind, UINT32_MAX) + amount <= most;
    return fits && (kind != CHANNEL_LENT_DEVICE || each == LIMIT_NONE ||
                    taken_by(of, kind, gpu) + amount <= each);
}

static bool fits(const struct process *at, enum channel_lent kind, uint32_t gpu, uint64_t amount)
{
    const struct member *of = at->seat.of.member;
    return fits_in(&tenant->lender.account, NULL, kind, gpu, amount) &&
           (of == NULL || fits_in(&of->account, of, kind, gpu, amount));
}

static uint64_t room_in(const struct lending_account *account, const struct member *of,
                        uint32_t gpu)
{
    uint64_t most = account->most[CHANNEL_LENT_DEVICE], each = account->most_each;
    uint64_t all = taken_by(of, CHANNEL_LENT_DEVICE, UINT32_MAX);
    uint64_t here = taken_by(of, CHANNEL_LENT_DEVICE, gpu);
    uint64_t left = most == LIMIT_NONE ? LIMIT_NONE : most > all ? most - all : 0;
    uint64_t left_here = each == LIMIT_NONE ? LIMIT_NONE : each > here ? each - here : 0;
    return left < left_here ? left : left_here;
}

/* The answer is what fits; and it is asked for once, until another application changes it. `told`:
 * each process has been passed the tenant's memory. */
static void expect_room(struct process *at, uint32_t gpu, bool told)
{
    const struct member *of = at->seat.of.member;
    for (unsigned i = 0; i < 3; i++) {
        uint64_t due = room_in(&tenant->lender.account, NULL, gpu);
        uint64_t own = of != NULL ? room_in(&of->account, of, gpu) : due;
        unsigned before = at->questions;
        cr_assert_eq(room(at, gpu), own < due ? own : due);
        cr_assert(i == 0 || !told || at->questions == before, "it has asked again");
        give(at, CHANNEL_LENT_DEVICE, gpu); /* its own change */
    }
}

static void expect_rooms(void)
{
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < SEATS; i++) {
            expect_room(&all[i], (uint32_t)any(now.gpus), round != 0);
        }
    }
}

/* Before and after it has freed some. */
static void expect_what_fits(struct process *at, enum channel_lent kind)
{
    for (unsigned i = 0; i < 3; i++) {
        uint32_t gpu = kind == CHANNEL_LENT_DEVICE ? (uint32_t)any(now.gpus) : 0;
        uint64_t amount = any(300) * units[kind];
        bool may = amount == 0 || fits(at, kind, gpu, amount);
        CUresult rc = take(at, kind, gpu, amount);
        cr_assert_eq(rc == CUDA_SUCCESS, may, "kind %u, result %d", (unsigned)kind, (int)rc);
        give(at, kind, gpu);
        settle();
    }
}

static void expect_settled(void)
{
    settle();
    cr_assert(lender_balances(tenant));
    for (unsigned i = 0; i < SEATS; i++) {
        const struct limits limits = lender_rates_limits(&all[i].seat.lender);
        for (unsigned limit = 0; limit < LIMIT_COUNT; limit++) {
            cr_assert_eq(quota_limit_of(&all[i].quota, (enum limit)limit), limits.of[limit]);
        }
        for (unsigned kind = 0; kind < CHANNEL_LENT_KINDS; kind++) {
            expect_what_fits(&all[i], (enum channel_lent)kind);
        }
    }
    expect_rooms();
    calm = false;
}

static void begin(unsigned seed)
{
    struct tenant_terms terms = tenant_default();
    chance = seed;
    still_clock_init(&still);
    tenant_table_init(&tenants, &still.timers, &devices, &usage, NULL);
    devices.visible_count = now.gpus;
    tenant = tenant_find(&tenants, &terms);
    member = member_find(tenant, "ana", &terms.limits);
    for (unsigned i = 0; i < SEATS; i++) {
        to_gpuaasd[i].packets = calloc(now.room, sizeof(union lent_packet));
        to_backend[i].packets = calloc(now.room, sizeof(union lent_packet));
        process_begin(&all[i]);
    }
}

static void play(unsigned seed)
{
    begin(seed);
    limits_change(); /* before anybody has taken anything */
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < STEPS; i++) {
            turn();
        }
        expect_settled();
    }
}

#define ROOM_AND_ORDER(room_, gpus_)                                                               \
    Test(lending_channel, room_for_##room_##_of_##gpus_##_gpus, .timeout = 120)                    \
    {                                                                                              \
        now = (struct case_){.room = (room_), .gpus = (gpus_)};                                    \
        play(7 + (room_) + 1000 * (gpus_));                                                        \
    }

ROOM_AND_ORDER(1, 1)
ROOM_AND_ORDER(1, 3)
ROOM_AND_ORDER(2, 3)
ROOM_AND_ORDER(5, 3)
ROOM_AND_ORDER(277, 3)
ROOM_AND_ORDER(5, 40)
ROOM_AND_ORDER(1, 300)
ROOM_AND_ORDER(277, 300)
ROOM_AND_ORDER(100000, 3)

static void limit_all(uint64_t amount)
{
    struct tenant_terms terms = tenant->terms;
    terms.generation++;
    terms.limits.of[LIMIT_GPU_MEM] = terms.limits.of[LIMIT_GPU_MEM_PER_GPU] = amount * MIB;
    terms.limits.of[LIMIT_OBJECTS] = amount;
    tenant_renew(&tenants, &terms);
    settle();
}

/* A context and its memory. */
Test(lending_channel, what_is_offered_is_not_asked_for)
{
    struct process *at = &all[0];
    now = (struct case_){.room = 10, .gpus = 3};
    begin(7);
    limit_all(10000);
    lender_offer(&at->seat.lender, 1, 100 * MIB);
    settle();
    cr_assert_eq(take(at, CHANNEL_LENT_DEVICE, 1, 100 * MIB), CUDA_SUCCESS);
    cr_assert_eq(take(at, CHANNEL_LENT_OBJECTS, 0, 1), CUDA_SUCCESS);
    cr_assert_eq(room(at, 1), 9900 * MIB);
    cr_assert_eq(at->questions, 0, "the room has come, too");
    lender_offer(&at->seat.lender, 1, 100 * MIB);
    settle();
    cr_assert_leq(at->seat.lender.share.lent[CHANNEL_LENT_OBJECTS], 256, "once");
}

Test(lending_channel, a_large_part_of_what_is_left_is_not_offered)
{
    now = (struct case_){.room = 10, .gpus = 3};
    begin(7);
    limit_all(1000);
    lender_offer(&all[0].seat.lender, 1, 100 * MIB);
    settle();
    cr_assert_eq(all[0].seat.lender.share.lent[CHANNEL_LENT_DEVICE], 0);
    cr_assert_eq(all[0].seat.lender.share.lent[CHANNEL_LENT_OBJECTS], 0);
}
