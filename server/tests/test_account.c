/* SPDX-License-Identifier: Apache-2.0 */
/* The account of a seat: which figure becomes which, how bytes are divided among GPUs, and which
 * rows are to be written. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "server/gpu_set.h"
#include "server/tests/still_clock.h"
#include "server/usage/account.h"
#include "server/usage/usage.h"
#include "server/usage/usage_seat.h"

#define GPUS   3u
#define MS     GA_NS_PER_MS
#define MIB    (UINT64_C(1) << 20)
#define MEMORY (64 * MIB)

static struct still_clock still;
static const struct conf_gpu conf_gpus[] = {
    {.driver = CONF_DRIVER_NVIDIA}, {.driver = CONF_DRIVER_SOFT}, {.driver = CONF_DRIVER_SOFT}};
static struct device all_devices[GPUS];
static uint32_t visible[GPUS] = {0, 1, 2};
static struct processes processes;
static struct usage room;
static struct figures figures;
static struct figures_memory memory[GPUS], taken[GPUS];
static struct figures_times times;
static uint64_t gpus[GPU_SET_WORDS];
static const uint8_t id[16] = {0xab, 0x01, 0xcd, 0x23, 0xff};
static bool counted;
static const bool ready = true;
static uint64_t open_ms; /* 0: no session yet */
static struct usage_seat seat;
static struct account *account;

static uint64_t seat_began(const struct usage_seat *of, uint64_t now)
{
    (void)of;
    return open_ms != 0 ? now - open_ms * MS : 0;
}

static const struct figures_memory *seat_taken(const struct usage_seat *of, uint32_t gpu)
{
    (void)of;
    return &taken[gpu];
}

static uint64_t seat_waited(const struct usage_seat *of, uint32_t gpu)
{
    (void)of;
    return 1000 + gpu;
}

static void seat_shared(const struct usage_seat *of, uint32_t gpu, const struct time_share *share)
{
    (void)of, (void)gpu, (void)share;
}

static const struct usage_seat_ops ops = {
    .began_ns = seat_began, .taken = seat_taken, .waited_ns = seat_waited, .shared = seat_shared};

static void start(void)
{
    still_clock_init(&still);
    for (uint32_t i = 0; i < GPUS; i++) {
        all_devices[i] = (struct device){.gpu = &conf_gpus[i], .ordinal = i == 2 ? 1 : 0};
        all_devices[i].facts.memory_bytes = MEMORY;
        all_devices[i].facts.uuid[0] = (uint8_t)(i + 1);
    }
    processes = (struct processes){.timers = &still.timers};
    processes.devices = (struct devices){
        .all = all_devices, .count = GPUS, .visible = visible, .visible_count = GPUS};
    usage_init(&room, &processes, NULL);
    seat = (struct usage_seat){.room = &room,
                               .ops = &ops,
                               .tenant = "lab",
                               .user = "ann",
                               .program = "train",
                               .id = id,
                               .isolation = ISOLATION_EXCLUSIVE,
                               .counted = &counted,
                               .driver = CONF_DRIVER_SOFT,
                               .taken_ns = still.now_ns - 1000 * MS,
                               .ready = &ready,
                               .gpus = gpus,
                               .figures = &figures,
                               .memory = memory,
                               .times = &times};
    account = account_make(&seat, "n1", 7, 42);
    cr_assert_not_null(account);
}

static void stop(void)
{
    account_free(account);
    usage_fini(&room);
}

TestSuite(account, .init = start, .fini = stop);

/* Rows of GPUs to which so much has been copied. */
static void rows_make(uint32_t count, const uint64_t copied[])
{
    account->rows = calloc(count, sizeof *account->rows);
    account->count = account->room = count;
    for (uint32_t i = 0; i < count; i++) {
        account->rows[i].copied[0] = account->rows[i].copied[1] = copied[i];
        account->rows[i].gpu[0] = (char)('A' + i);
    }
}

Test(account, a_row_says_whose_it_is)
{
    const struct store_usage *head = &account->head;
    cr_assert_str_eq(head->tenant, "lab");
    cr_assert_eq(head->tenant_number, 0u);
    cr_assert_str_eq(head->node, "n1");
    cr_assert_str_eq(head->user, "ann");
    cr_assert_str_eq(head->session, "ab01cd23.42");
    cr_assert_eq(head->epoch, 7u);
    cr_assert_eq(head->isolation, ISOLATION_EXCLUSIVE);
    cr_assert_leq(llabs((long long)(time(NULL) - head->began)), 60);
    seat.tenant_number = 9;
    struct account *numbered = account_make(&seat, "n1", 7, 42);
    cr_assert_str_eq(numbered->head.tenant, "", "the number says who it is");
    cr_assert_eq(numbered->head.tenant_number, 9u);
    account_free(numbered);
}

/* ---- bytes among GPUs */

static void check_divide(unsigned way, uint64_t total, uint64_t first, uint64_t second)
{
    account_divide(account, way, total);
    const struct store_figures *one = &account->rows[0].now, *other = &account->rows[1].now;
    cr_assert_eq(way == 0 ? one->bytes_in : one->bytes_out, first);
    cr_assert_eq(way == 0 ? other->bytes_in : other->bytes_out, second);
}

Test(account, bytes_are_divided_as_they_were_copied)
{
    const uint64_t copied[] = {29, 9}; /* and 1 each, so 3 to 1 */
    rows_make(2, copied);
    check_divide(0, 400, 300, 100);
    check_divide(0, 400, 300, 100);
    check_divide(0, 399, 300, 100); /* never less */
    check_divide(0, 800, 600, 200);
    check_divide(0, 801, 600, 201); /* what is left over is the last one's */
    check_divide(1, 40, 30, 10);
    account->rows[1].copied[0] = 89; /* now 1 to 3: the first one has had too much */
    check_divide(0, 1001, 600, 401);
    check_divide(0, 2600, 650, 1950);
}

Test(account, bytes_of_nobody)
{
    account_divide(account, 0, 100);
    const uint64_t copied[] = {0};
    rows_make(1, copied);
    account_divide(account, 0, 100);
    cr_assert_eq(account->rows[0].now.bytes_in, 100u);
    cr_assert_eq(account->rows[0].now.bytes_out, 0u);
}

/* ---- which rows are written */

Test(account, rows_that_have_news_are_written)
{
    const uint64_t copied[] = {0, 0, 0};
    struct store_usage rows[3];
    rows_make(3, copied);
    account->counts = true;
    account->rows[0].untold = account->rows[2].untold = true;
    account->rows[2].now.launches = 5;
    cr_assert_eq(account_rows(account, NULL), 2u);
    cr_assert_eq(account_rows(account, rows), 2u);
    cr_assert_str_eq(rows[0].gpu, "A");
    cr_assert_str_eq(rows[1].gpu, "C");
    cr_assert_str_eq(rows[0].session, "ab01cd23.42");
    cr_assert_eq(rows[1].figures.launches, 5u);
    cr_assert(!rows[0].more && rows[1].more, "the first one has the session");
    account->counts = false;
    cr_assert_eq(account_rows(account, rows), 2u);
    cr_assert(rows[0].more && rows[1].more, "another account has it");
    account->rows[2].now.launches = 6; /* meanwhile */
    account_written(account, &rows[0]);
    account_written(account, &rows[1]);
    cr_assert(!account->rows[0].untold && account->rows[2].untold);
    cr_assert_eq(account->rows[2].written.launches, 5u);
    cr_assert_eq(account_rows(account, rows), 1u);
    account->head.ended = 77; /* it has ended before that is written */
    account_written(account, &rows[0]);
    cr_assert(account->rows[2].untold);
    cr_assert_eq(account_rows(account, rows), 1u);
    account_written(account, &rows[0]);
    cr_assert_eq(account_rows(account, rows), 0u);
}

/* ---- figures */

static void gpu_uses(unsigned row, uint64_t ordinal, uint64_t n)
{
    struct gpu_figures *of = &figures.gpus[row];
    of->gpu = ordinal + 1;
    of->works = n;
    of->copied_bytes[0] = 10 * n;
    of->copied_bytes[1] = 20 * n;
}

static const struct account_row *row_of(uint32_t gpu)
{
    for (uint32_t i = 0; i < account->count; i++) {
        if (account->rows[i].number == gpu) {
            return &account->rows[i];
        }
    }
    cr_assert_fail("GPU %u has no row", gpu);
    return NULL;
}

Test(account, rows_are_those_of_gpus_that_it_has_opened_or_used)
{
    account_look(account);
    cr_assert_eq(account->count, 0u);
    cr_assert(!counted);
    gpu_set_add(gpus, 2);
    account_look(account);
    cr_assert_eq(account->count, 0u, "it has no session");
    open_ms = 5000;
    gpu_uses(0, 0, 3); /* ordinal 0 of software GPUs is GPU 1 */
    account_look(account);
    cr_assert_eq(account->count, 2u);
    cr_assert(counted && account->counts);
    uint64_t wall_ms = row_of(2)->now.wall_ms;
    cr_assert(wall_ms >= 5000 && wall_ms < 65000, "%lu", (unsigned long)wall_ms);
    cr_assert_eq(row_of(1)->now.wall_ms, 0u, "it has used it without a session");
    cr_assert_str_eq(row_of(1)->gpu, "GPU-02000000-0000-0000-0000-000000000000");
    cr_assert_eq(row_of(1)->now.launches, 3u);
    cr_assert_eq(row_of(1)->copied[0], 30u);
    cr_assert_eq(row_of(1)->copied[1], 60u);
    cr_assert_eq(row_of(1)->waited_ns, 1001u);
    cr_assert_eq(row_of(2)->waited_ns, 1002u);
    cr_assert(row_of(1)->untold && row_of(2)->untold);
    gpu_uses(0, 0, 2); /* a stranger's number: it has fallen */
    account_look(account);
    cr_assert_eq(row_of(1)->now.launches, 3u);
}

Test(account, a_second_account_of_an_application_counts_no_session)
{
    counted = true;
    gpu_uses(0, 1, 1);
    account_look(account);
    cr_assert_eq(account->count, 1u);
    cr_assert(!account->counts);
}

Test(account, ways_of_bytes)
{
    const enum figure in[] = {FIGURE_FRAMES_IN, FIGURE_BULK_IN, FIGURE_SHARED_IN, FIGURE_RDMA_IN},
                      out[] = {FIGURE_FRAMES_OUT, FIGURE_BULK_OUT, FIGURE_SHARED_OUT,
                               FIGURE_RDMA_OUT};
    gpu_uses(0, 1, 1);
    for (unsigned i = 0; i < FIGURE_COUNT; i++) {
        figures.of[i] = 1000000;
    }
    for (unsigned i = 0; i < 4; i++) {
        figures.of[in[i]] = UINT64_C(1) << i;
        figures.of[out[i]] = UINT64_C(16) << i;
    }
    account_look(account);
    cr_assert_eq(row_of(2)->now.bytes_in, 15u);
    cr_assert_eq(row_of(2)->now.bytes_out, 240u);
    figures.of[FIGURE_BULK_IN] = UINT64_C(1) << 63;
    figures.gpus[0].works = UINT64_MAX;
    account_look(account);
    cr_assert_eq(row_of(2)->now.bytes_in, 1000u * 1000 * MS, "1 TB/s since the seat was taken");
    cr_assert_eq(row_of(2)->now.launches, 1000 * MS, "a launch in each nanosecond");
}

Test(account, times_of_engines)
{
    static const uint64_t lengths[] = {30 * MS, 20 * MS, 10 * MS};
    const struct totals_tenant *total;
    gpu_times_seat_taken(&seat);
    gpu_uses(0, 1, 4);
    uint64_t at = still.now_ns - 500 * MS;
    for (unsigned i = 0; i < GPU_ENGINES; i++) {
        times.of[i].from = at;
        times.of[i].what = figures_time_word(0, (enum gpu_engine)i, lengths[i], FIGURES_TIME_ENDS);
        figures.gpus[0].busy_ns[i] = lengths[i];
        at += lengths[i];
    }
    times.count = GPU_ENGINES;
    gpu_times_seat_ends(&seat);
    account_look(account);
    const struct store_figures *now = &row_of(2)->now;
    cr_assert_eq(now->compute_ns, 30 * MS);
    cr_assert_eq(now->h2d_ns, 20 * MS);
    cr_assert_eq(now->d2h_ns, 10 * MS);
    cr_assert_eq(now->gpu_ns, 60 * MS);
    total = totals_of(&room.totals, "lab");
    cr_assert_eq(total->gpus[2][TOTALS_GPU_NS], 60 * MS);
    cr_assert_eq(total->gpus[2][TOTALS_COMPUTE_NS], 30 * MS);
    cr_assert_eq(total->gpus[2][TOTALS_H2D_NS], 20 * MS);
    cr_assert_eq(total->gpus[2][TOTALS_D2H_NS], 10 * MS);
    cr_assert_eq(total->gpus[2][TOTALS_LAUNCHES], 4u);
    cr_assert_eq(total->gpus[2][TOTALS_WAITED_NS], 1002u);
    cr_assert_eq(room.feedback.count, 1u);
    const struct feedback_row *fed =
        ga_container(room.feedback.rows.next, struct feedback_row, link);
    cr_assert_str_eq(fed->key.tenant, "lab");
    cr_assert_str_eq(fed->key.program, "train");
    cr_assert_eq(fed->sum.busy_any_ns, 60 * MS);
    cr_assert_eq(fed->sum.works, 4u);
    cr_assert_geq(fed->sum.wall_ns, 1000 * MS);
    gpu_times_seat_ended(&seat);
}

/* ---- memory */

Test(account, memory_and_its_peak)
{
    gpu_uses(0, 0, 1);
    account_look(account);
    struct account_row *row = &account->rows[0];
    uint64_t now_ms = still.now_ns / MS;
    row->seen_ms = now_ms - 4000;
    figures_memory_change(&memory[1], 8 * MIB, now_ms - 3000); /* for 3 s */
    figures_memory_change(&taken[1], 2 * MIB, now_ms - 1000);  /* for 1 s */
    figures_memory_change(&memory[0], 64 * MIB, now_ms - 3000);
    account_look(account);
    cr_assert(row->now.memory_mib_s >= 26 && row->now.memory_mib_s < 26 + 600, "%lu",
              (unsigned long)row->now.memory_mib_s);
    cr_assert_eq(row->now.memory_peak, 10 * MIB, "both together");
    figures_memory_change(&memory[1], 0 - 8 * MIB, now_ms);
    account_look(account);
    cr_assert_eq(row->now.memory_peak, 10 * MIB);
    figures_memory_change(&taken[1], 60 * MIB, now_ms);
    account_look(account);
    cr_assert_eq(row->now.memory_peak, 62 * MIB);
    memory[1].peak = UINT64_C(1) << 50; /* a stranger's */
    account_look(account);
    cr_assert_eq(row->now.memory_peak, MEMORY, "no more than the GPU has");
}

/* No more than all memory since the last look: it is nonsense, and left for the next look. */
Test(account, memory_that_cannot_be)
{
    gpu_uses(0, 0, 1);
    account_look(account);
    struct account_row *row = &account->rows[0];
    uint64_t now_ms = still.now_ns / MS;
    row->seen_ms = now_ms - 1000;
    memory[1].bytes = 0;
    memory[1].begins = 0 - MEMORY / 1024 * 100000; /* all of it for 100 s */
    account_look(account);
    cr_assert_eq(row->memory_kib_ms, 0u);
    cr_assert_eq(row->seen_ms, now_ms - 1000);
    memory[1].begins = 0 - MEMORY / 1024 * 900; /* for 0.9 s */
    account_look(account);
    cr_assert_eq(row->memory_kib_ms, MEMORY / 1024 * 900);
    cr_assert_eq(row->now.memory_mib_s, 57u); /* 64 * 0.9 */
    cr_assert_geq(row->seen_ms, now_ms);
    memory[1].begins = 0 - MEMORY / 1024 * 800; /* it has fallen */
    account_look(account);
    cr_assert_eq(row->memory_kib_ms, MEMORY / 1024 * 900);
}

Test(account, the_end)
{
    gpu_uses(0, 1, 1);
    account_look(account);
    struct store_usage row;
    cr_assert_eq(account_rows(account, &row), 1u);
    account_written(account, &row);
    account_look(account);
    cr_assert_eq(account_rows(account, NULL), 0u, "nothing is new");
    gpu_uses(0, 1, 9);
    account_end(account, "exited");
    cr_assert_null(account->seat);
    cr_assert_eq(account_rows(account, &row), 1u);
    cr_assert_eq(row.figures.launches, 9u, "its last figures");
    cr_assert_eq(row.ended, row.last);
    cr_assert_neq(row.ended, 0);
    cr_assert_str_eq(row.reason, "exited");
}
