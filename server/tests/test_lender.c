/* SPDX-License-Identifier: Apache-2.0 */
/* Lending to backend processes, which are the other ends of socketpairs here: who asks for more
 * than is left waits until the others have returned what they do not use, or are gone, or have had
 * their time. */
#include <criterion/criterion.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/cuda_names.h"
#include "base/clock.h"
#include "server/processes/backend_process.h"
#include "server/processes/devices.h"
#include "server/seats/seat.h"
#include "server/seats/seat_lending.h"
#include "server/tenants/lender_rates.h"
#include "server/tenants/tenant.h"
#include "server/tests/still_clock.h"
#include "server/usage/usage.h"

#define SEATS 3
#define MIB   (UINT64_C(1) << 20)

static struct still_clock still;
static struct devices devices;
static struct usage usage;
static struct tenant_table tenants;
static struct tenant *tenant;
static struct figures_page pages[SEATS];
static struct process {
    struct backend_process process;
    struct seat seat;
    int theirs; /* end of its channel */
} all[SEATS];

static void start(void)
{
    struct tenant_terms terms = tenant_default();
    terms.limits.of[LIMIT_GPU_MEM] = 200 * MIB;
    terms.limits.of[LIMIT_GPU_MEM_PER_GPU] = 150 * MIB;
    still_clock_init(&still);
    tenant_table_init(&tenants, &still.timers, &devices, &usage, NULL);
    devices.visible_count = 2;
    tenant = tenant_find(&tenants, &terms);
    for (unsigned i = 0; i < SEATS; i++) {
        struct process *made = &all[i];
        int ends[2];
        cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
        made->process = (struct backend_process){.fd = ends[0], .figures = &pages[i]};
        made->theirs = ends[1];
        made->seat = (struct seat){.process = &made->process,
                                   .of = {.tenant = tenant, .address = "test"},
                                   .usage.figures = &pages[i].seats[0]};
        seat_lending_init(&made->seat);
        cr_assert_eq(lender_seat_begin(&made->seat.lender), GA_OK);
    }
}

TestSuite(lender, .init = start);

/* A tenant that was removed while its programs still end, and a new one that has its name. */
Test(lender, a_name_may_be_another_tenants_later)
{
    struct tenant_terms terms = tenant_default(), later = terms;
    strcpy(terms.name, "lab");
    terms.number = 7;
    terms.generation = 9;
    later = terms;
    later.number = 8;
    later.generation = 1;
    later.limits.of[LIMIT_SESSIONS] = 1;
    struct tenant *one = tenant_find(&tenants, &terms), *other = tenant_find(&tenants, &later);
    cr_assert_neq(one, other);
    cr_assert_eq(other->terms.limits.of[LIMIT_SESSIONS], 1);
    cr_assert_eq(tenant_known(&tenants, 7, "lab"), one);
    cr_assert_eq(tenant_known(&tenants, 8, "lab"), other);
    strcpy(terms.name, "renamed");
    cr_assert_eq(tenant_find(&tenants, &terms), one, "a number is never another tenant's");
    tenant_drop(one);
    tenant_drop(one);
    cr_assert_null(tenant_known(&tenants, 7, "renamed"));
    tenant_drop(other);
}

/* The next packet that gpuaasd has sent to it. */
static bool heard(struct process *process, struct channel_request *packet)
{
    union channel_packet got;
    enum ga_status status = channel_receive(process->theirs, &got);
    cr_assert(status == GA_AGAIN || (status == GA_OK && got.kind == CHANNEL_REQUEST));
    *packet = got.request;
    return status == GA_OK;
}

static void expect_nothing(struct process *process)
{
    struct channel_request packet;
    cr_assert_not(heard(process, &packet), "verb %u", packet.verb);
}

static void ask(struct process *process, uint32_t gpu, uint64_t bytes)
{
    const struct channel_request wish = {.kind = CHANNEL_REQUEST,
                                         .number = 7,
                                         .verb = CHANNEL_LEND,
                                         .what = CHANNEL_LENT_DEVICE,
                                         .address = gpu,
                                         .bytes = bytes};
    cr_assert(lender_is(&wish));
    lender_take(&process->seat.lender, &wish);
}

/* The answer to its wish; it does not answer recalls that have come before. */
static struct channel_request answered(struct process *process)
{
    struct channel_request packet;
    do {
        cr_assert(heard(process, &packet));
    } while (packet.verb == CHANNEL_RECALL);
    cr_assert(packet.verb == CHANNEL_LEND && packet.number == 7);
    return packet;
}

static uint64_t lent(struct process *process)
{
    const struct channel_request packet = answered(process);
    cr_assert_eq(packet.result, CUDA_SUCCESS);
    return packet.bytes;
}

static void expect_refused(struct process *process, enum limit limit, uint64_t allowed)
{
    const struct channel_request packet = answered(process);
    cr_assert_eq(packet.result, CUDA_ERROR_OUT_OF_MEMORY);
    cr_assert(packet.what == limit && packet.mapping_bytes == allowed && packet.bytes == 0);
}

/* The process has been asked to return what it does not use; returns that, and says so. */
static void recalled(struct process *process, uint32_t gpu, uint64_t bytes)
{
    struct channel_request packet;
    cr_assert(heard(process, &packet) && packet.verb == CHANNEL_RECALL);
    const struct channel_request back = {.kind = CHANNEL_REQUEST,
                                         .verb = CHANNEL_RETURN,
                                         .what = CHANNEL_LENT_DEVICE,
                                         .address = gpu,
                                         .bytes = bytes};
    lender_take(&process->seat.lender, &back);
    lender_take(&process->seat.lender, &packet);
}

Test(lender, grains_and_then_the_rest)
{
    ask(&all[0], 0, 10);
    cr_assert_eq(lent(&all[0]), CHANNEL_GRAIN_BYTES);
    ask(&all[1], 1, 130 * MIB);
    cr_assert_eq(lent(&all[1]), 136 * MIB, "what the tenant may have");
    expect_nothing(&all[0]);
}

Test(lender, what_others_do_not_use_is_recalled_first)
{
    ask(&all[0], 0, 10);
    (void)lent(&all[0]);
    ask(&all[1], 1, 140 * MIB);
    recalled(&all[0], 0, CHANNEL_GRAIN_BYTES - 10);
    recalled(&all[1], 1, 0); /* who asks may have some of another GPU */
    recalled(&all[2], 1, 0);
    cr_assert_eq(lent(&all[1]), 150 * MIB);
}

Test(lender, refused_when_all_have_answered)
{
    ask(&all[0], 0, 60 * MIB);
    (void)lent(&all[0]);
    atomic_store(&pages[0].seats[0].of[FIGURE_DEVICE_BYTES], 60 * MIB);
    ask(&all[1], 1, 145 * MIB);
    recalled(&all[0], 0, 4 * MIB);
    expect_refused(&all[1], LIMIT_GPU_MEM, 200 * MIB);
    ask(&all[1], 0, 100 * MIB);
    recalled(&all[0], 0, 0);
    expect_nothing(&all[0]);
}

Test(lender, the_limit_of_one_gpu_is_named)
{
    ask(&all[0], 0, 151 * MIB);
    expect_refused(&all[0], LIMIT_GPU_MEM_PER_GPU, 150 * MIB);
    cr_assert_eq(tenant->lender.refusals[LIMIT_GPU_MEM_PER_GPU], 1);
}

Test(lender, who_does_not_answer_has_his_time)
{
    ask(&all[0], 0, 10);
    (void)lent(&all[0]);
    ask(&all[1], 1, 150 * MIB);
    cr_assert(lender_turn(tenant, still.now_ns), "it waits");
    cr_assert_not(lender_turn(tenant, still.now_ns + 10 * GA_NS_PER_S));
    expect_refused(&all[1], LIMIT_GPU_MEM, 200 * MIB);
}

Test(lender, what_a_dead_one_had_comes_back_once)
{
    ask(&all[0], 0, 100 * MIB);
    (void)lent(&all[0]);
    ask(&all[1], 0, 100 * MIB);
    all[0].seat.left = true; /* its application is gone, and its process ends */
    lender_seat_end(&all[0].seat.lender);
    lender_seat_end(&all[0].seat.lender);
    cr_assert_eq(tenant->lender.account.lent[CHANNEL_LENT_DEVICE], lent(&all[1]));
    lender_seat_end(&all[1].seat.lender);
    cr_assert_eq(tenant->lender.account.lent[CHANNEL_LENT_DEVICE], 0);
}

Test(lender, a_recall_that_was_answered_before_does_not_count)
{
    ask(&all[0], 0, 10);
    (void)lent(&all[0]);
    ask(&all[1], 1, 150 * MIB);
    struct channel_request first;
    cr_assert(heard(&all[0], &first) && first.verb == CHANNEL_RECALL);
    ask(&all[2], 1, 150 * MIB); /* a later wish: the process must be asked again */
    expect_nothing(&all[0]);
    lender_take(&all[0].seat.lender, &first);
    struct channel_request second;
    cr_assert(heard(&all[0], &second) && second.verb == CHANNEL_RECALL);
    cr_assert_gt(second.number, first.number);
}

Test(lender, a_lower_limit_recalls_and_a_higher_one_serves)
{
    struct tenant_terms terms = tenant->terms;
    ask(&all[0], 0, 10);
    (void)lent(&all[0]);
    terms.generation++;
    terms.limits.of[LIMIT_GPU_MEM] = 5;
    tenant_renew(&tenants, &terms);
    union channel_packet packet;
    cr_assert_eq(channel_receive(all[0].theirs, &packet), GA_OK);
    cr_assert(packet.kind == CHANNEL_LIMITS && packet.limits.limits.of[LIMIT_GPU_MEM] == 5);
    recalled(&all[0], 0, CHANNEL_GRAIN_BYTES - 10);
    cr_assert_eq(tenant->lender.account.lent[CHANNEL_LENT_DEVICE], 10, "what is used is kept");
    ask(&all[0], 0, 1);
    recalled(&all[0], 0, 0);
    expect_refused(&all[0], LIMIT_GPU_MEM, 5);
    terms.generation++;
    terms.limits.of[LIMIT_GPU_MEM] = LIMIT_NONE;
    terms.limits.of[LIMIT_GPU_MEM_PER_GPU] = LIMIT_NONE;
    tenant_renew(&tenants, &terms);
    cr_assert_eq(channel_receive(all[0].theirs, &packet), GA_OK);
    recalled(&all[0], 0, 0);
    ask(&all[0], 0, 1);
    cr_assert_eq(lent(&all[0]), CHANNEL_BOUNDLESS);
}

/* A copy by shared memory is counted at once; until it is paid for nothing else is. */
Test(lender, who_waits_for_a_rate_keeps_its_part)
{
    uint64_t now = still.now_ns;
    tenant->terms.limits.of[LIMIT_BANDWIDTH_OUT] = 6 * MIB;
    for (unsigned i = 0; i < 2; i++) {
        atomic_store(&pages[i].seats[0].of[FIGURE_SHARED_OUT], 8 * MIB);
    }
    cr_assert(lender_divide(tenant, now += GA_NS_PER_S));
    cr_assert_eq(lender_rates_limits(&all[0].seat.lender).of[LIMIT_BANDWIDTH_OUT], 3 * MIB);
    for (unsigned i = 0; i < 2; i++) {
        atomic_fetch_add(&pages[i].seats[0].rate_waits, 1);
    }
    cr_assert(lender_divide(tenant, now += GA_NS_PER_S));
    cr_assert_eq(lender_rates_limits(&all[1].seat.lender).of[LIMIT_BANDWIDTH_OUT], 3 * MIB);
    atomic_fetch_add(&pages[1].seats[0].rate_waits, 1);
    cr_assert(lender_divide(tenant, now += GA_NS_PER_S));
    cr_assert_eq(lender_rates_limits(&all[1].seat.lender).of[LIMIT_BANDWIDTH_OUT], 6 * MIB);
}

Test(lender, a_stranger_asks_for_nonsense)
{
    struct channel_request wish = {
        .kind = CHANNEL_REQUEST, .verb = CHANNEL_LEND, .what = CHANNEL_LENT_KINDS, .bytes = 1};
    lender_take(&all[0].seat.lender, &wish);
    wish.what = CHANNEL_LENT_DEVICE;
    wish.address = 2;
    lender_take(&all[0].seat.lender, &wish);
    expect_nothing(&all[0]);
    ask(&all[0], 0, 0);
    expect_refused(&all[0], LIMIT_GPU_MEM_PER_GPU, 150 * MIB);
    ask(&all[0], 0, UINT64_MAX);
    expect_refused(&all[0], LIMIT_GPU_MEM, 200 * MIB);
}

/* Memory that an application of the tenant has made and another one has open. */
Test(lender, what_is_passed_on_is_charged_whatever_the_limits_say)
{
    const uint64_t *lent_on = tenant->lender.account.lent_on;
    _Atomic uint64_t *own = &pages[0].seats[0].of[FIGURE_DEVICE_BYTES];
    ask(&all[0], 0, 140 * MIB);
    uint64_t before = lent(&all[0]);
    atomic_store(own, 140 * MIB);
    lender_take_over(&all[1].seat.lender, 0, 140 * MIB);
    cr_assert_eq(lent_on[0], before + 140 * MIB);
    atomic_store(own, 0);
    lender_pass_on(&all[0].seat.lender, 0, 140 * MIB);
    cr_assert_eq(lent_on[0], before);
    cr_assert_eq(lender_charged(tenant, NULL, CHANNEL_LENT_DEVICE, 0), 140 * MIB);
    cr_assert_eq(lender_charged(tenant, NULL, CHANNEL_LENT_DEVICE, 1), 0);
    cr_assert_eq(lender_charged(tenant, NULL, CHANNEL_LENT_DEVICE, UINT32_MAX), 140 * MIB);
    cr_assert(lender_balances(tenant));
    ask(&all[2], 0, 20 * MIB);
    recalled(&all[0], 0, before - 140 * MIB);
    recalled(&all[1], 0, 0);
    recalled(&all[2], 0, 0);
    expect_refused(&all[2], LIMIT_GPU_MEM_PER_GPU, 150 * MIB);
    lender_give_up(&all[1].seat.lender, 0, 140 * MIB);
    cr_assert_eq(lent_on[0], 0);
    ask(&all[2], 0, 20 * MIB);
    (void)lent(&all[2]);
    lender_take_over(&all[1].seat.lender, 2, 1); /* a stranger's: there is no such GPU */
    lender_take_over(&all[1].seat.lender, 1, 300 * MIB);
    cr_assert_eq(lent_on[1], 300 * MIB);
    lender_seat_end(&all[1].seat.lender);
    cr_assert_eq(lent_on[1], 0, "it ends with who has it");
    lender_take_over(&all[1].seat.lender, 1, 1);
    cr_assert_eq(lent_on[1], 0);
}

/* Amounts whose answer is not sent are not lent either: gpuaasd keeps so many answers for a process
 * and no more. */
Test(lender, a_stranger_reads_no_answers)
{
    struct process *deaf = &all[0];
    const uint64_t *sum = &tenant->lender.account.lent[CHANNEL_LENT_DEVICE];
    const struct channel_request back = {.kind = CHANNEL_REQUEST,
                                         .verb = CHANNEL_RETURN,
                                         .what = CHANNEL_LENT_DEVICE,
                                         .bytes = CHANNEL_GRAIN_BYTES};
    channel_queue_init(&deaf->process.queue, 20, 0);
    for (unsigned i = 0; !deaf->process.deaf; i++) {
        cr_assert_lt(i, 10000);
        cr_assert_eq(*sum, 0);
        ask(deaf, 0, CHANNEL_GRAIN_BYTES);
        if (*sum != 0) {
            lender_take(&deaf->seat.lender, &back);
        }
    }
    cr_assert_eq(*sum, 0);
    ask(&all[1], 0, 150 * MIB);
    cr_assert_eq(lent(&all[1]), 150 * MIB);
}

/* ---- the room that programs see */

static void has(unsigned i, uint32_t gpu, uint64_t bytes)
{
    atomic_store(&pages[i].memory[0][gpu].bytes, bytes);
    atomic_store(&pages[i].seats[0].of[FIGURE_DEVICE_BYTES], bytes);
}

static struct channel_request room_of(const struct lender_seat *seat, uint32_t gpu)
{
    struct channel_request answer = {.address = gpu};
    lender_room(seat, &answer);
    cr_assert_eq(answer.result, CUDA_SUCCESS);
    return answer;
}

Test(lender, the_room_is_what_limits_leave_beside_what_others_have)
{
    struct channel_request room = room_of(&all[0].seat.lender, 0);
    cr_assert(room.bytes == 200 * MIB && room.offset == 150 * MIB && room.mapping_bytes == 1);
    cr_assert_eq(room.changes, 0, "there is no memory of the tenant yet");
    has(0, 0, 100 * MIB);
    has(1, 0, 30 * MIB);
    has(2, 1, 40 * MIB);
    room = room_of(&all[0].seat.lender, 0);
    cr_assert_eq(room.bytes, 130 * MIB, "its own is not subtracted");
    cr_assert_eq(room.offset, 120 * MIB);
    cr_assert_eq(room_of(&all[0].seat.lender, 1).offset, 110 * MIB);
    lender_take_over(&all[0].seat.lender, 0, 5 * MIB);
    room = room_of(&all[0].seat.lender, 0);
    cr_assert(room.bytes == 125 * MIB && room.offset == 115 * MIB, "what it took over is");
    has(1, 0, 700 * MIB);
    room = room_of(&all[0].seat.lender, 0);
    cr_assert(room.bytes == 0 && room.offset == 0);
    has(1, 0, UINT64_MAX);
    has(2, 0, UINT64_MAX);
    cr_assert_eq(room_of(&all[0].seat.lender, 0).bytes, 0, "strangers say what they like");
    tenant->terms.limits.of[LIMIT_GPU_MEM] = LIMIT_NONE;
    cr_assert_eq(room_of(&all[0].seat.lender, 0).bytes, LIMIT_NONE);
}

Test(lender, the_room_holds_until_others_change_if_all_can_tell)
{
    ask(&all[1], 0, 1);
    (void)lent(&all[1]);
    struct lender_seat *seat = &all[1].seat.lender;
    cr_assert(seat->shares, "the first answer brought the tenant's memory");
    cr_assert_eq(room_of(&all[0].seat.lender, 0).mapping_bytes, 1);
    uint64_t before = room_of(&all[0].seat.lender, 0).changes;
    lender_take_over(seat, 0, 7);
    cr_assert_eq(room_of(&all[0].seat.lender, 0).changes, before + 1);
    lender_give_up(seat, 0, 7);
    cr_assert_eq(room_of(&all[0].seat.lender, 0).changes, before + 2);
    seat->shares = false;
    cr_assert_eq(room_of(&all[0].seat.lender, 0).mapping_bytes, 0, "it cannot tell");
    seat->share.lent[CHANNEL_LENT_DEVICE] = 0;
    cr_assert_eq(room_of(&all[0].seat.lender, 0).mapping_bytes, 1, "it has nothing");
    seat->share.lent[CHANNEL_LENT_DEVICE] = 1;
    tenant->lender.account.most[CHANNEL_LENT_DEVICE] = LIMIT_NONE;
}

Test(lender, memory_that_was_taken_over_has_a_peak_and_a_time)
{
    struct lender_seat *seat = &all[0].seat.lender;
    has(0, 1, 10 * MIB);
    lender_take_over(seat, 1, 4 * MIB);
    const struct figures_memory *taken = lender_taken(seat, 1);
    cr_assert_eq(atomic_load(&taken->bytes), 4 * MIB);
    cr_assert_eq(atomic_load(&taken->peak), 14 * MIB, "of all that it has then");
    uint64_t began_ms = still.now_ns / GA_NS_PER_MS;
    cr_assert_eq(figures_memory_kib_ms(taken, began_ms + 10), 4 * 1024 * 10);
    lender_take_over(seat, 0, MIB);
    cr_assert_eq(lender_taken_bytes(seat, 1), 4 * MIB);
    cr_assert_eq(lender_taken_bytes(seat, UINT32_MAX), 5 * MIB);
    still.now_ns += 10 * GA_NS_PER_MS;
    lender_give_up(seat, 1, 4 * MIB);
    cr_assert_eq(lender_taken_bytes(seat, 1), 0);
    cr_assert_eq(figures_memory_kib_ms(taken, began_ms + 500), 4 * 1024 * 10);
    cr_assert_eq(atomic_load(&taken->peak), 14 * MIB);
    cr_assert_eq(atomic_load(&lender_taken(seat, 2)->bytes), 0, "there is no such GPU");
}
