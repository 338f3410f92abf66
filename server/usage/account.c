/* SPDX-License-Identifier: Apache-2.0 */
#include "server/usage/account.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "server/gpu_set.h"
#include "server/usage/seat_use.h"
#include "server/usage/usage.h"
#include "server/usage/usage_seat.h"

/* The most of each nanosecond that is believed: 1 TB/s, a launch. */
#define BYTES_OF_NS    1000u
#define LAUNCHES_OF_NS 1u

struct account *account_make(const struct usage_seat *seat, const char *node, uint64_t epoch,
                             uint64_t number)
{
    struct account *account = calloc(1, sizeof *account);
    if (account == NULL) {
        return NULL;
    }
    account->seat = seat;
    struct store_usage *head = &account->head;
    *head = (struct store_usage){.tenant_number = seat->tenant_number,
                                 .epoch = epoch,
                                 .isolation = seat->isolation,
                                 .began = timers_wall_s(seat->room->timers)};
    snprintf(head->tenant, sizeof head->tenant, "%s", seat->tenant_number == 0 ? seat->tenant : "");
    snprintf(head->node, sizeof head->node, "%s", node);
    snprintf(head->user, sizeof head->user, "%s", seat->user);
    const uint8_t *id = seat->id; /* its beginning is how people know it */
    snprintf(head->session, sizeof head->session, "%02x%02x%02x%02x.%llu", id[0], id[1], id[2],
             id[3], (unsigned long long)number);
    return account;
}

void account_free(struct account *account)
{
    free(account->rows);
    free(account);
}

/* ---- figures */

/* NULL: no memory. */
static struct account_row *account_row_of(struct account *account, const struct device *device,
                                          uint32_t number)
{
    for (uint32_t i = 0; i < account->count; i++) {
        if (account->rows[i].device == device) {
            return &account->rows[i];
        }
    }
    if (account->count == 0) {
        account->counts = !*account->seat->counted;
        *account->seat->counted = true;
    }
    if (account->count == account->room) {
        uint32_t room = account->room != 0 ? 2 * account->room : 1;
        struct account_row *rows = realloc(account->rows, room * sizeof *rows);
        if (rows == NULL) {
            return NULL;
        }
        account->rows = rows;
        account->room = room;
    }
    struct account_row *row = &account->rows[account->count++];
    *row = (struct account_row){.device = device,
                                .number = number,
                                .seen_ms = timers_now(account->seat->room->timers) / GA_NS_PER_MS,
                                .untold = true};
    devices_uuid_write(device->facts.uuid, row->gpu);
    return row;
}

static void rise(uint64_t *figure, uint64_t to)
{
    *figure = to > *figure ? to : *figure;
}

/* The peak of both together, as far as it has been seen. */
static uint64_t memory_peak(const struct figures_memory *own, const struct figures_memory *taken)
{
    uint64_t peak = atomic_load_explicit(&own->peak, memory_order_relaxed);
    uint64_t also = atomic_load_explicit(&taken->bytes, memory_order_relaxed);
    rise(&peak, atomic_load_explicit(&taken->peak, memory_order_relaxed));
    rise(&peak, also != 0 ? also + atomic_load_explicit(&own->bytes, memory_order_relaxed) : 0);
    return peak;
}

/* A stranger's numbers, and perhaps read while they changed: no more than all memory of the GPU
 * since the last look. Nonsense is left for the next look. */
static void memory_look(const struct account *account, struct account_row *row, uint64_t now_ms)
{
    const struct usage_seat *seat = account->seat;
    const struct figures_memory *memory = &seat->memory[row->number];
    const struct figures_memory *taken = seat->ops->taken(seat, row->number);
    uint64_t most = row->device->facts.memory_bytes;
    uint64_t peak = memory_peak(memory, taken);
    uint64_t sum = figures_memory_kib_ms(memory, now_ms) + figures_memory_kib_ms(taken, now_ms);
    if (sum >= row->memory_kib_ms &&
        sum - row->memory_kib_ms <= most / 1024 * (now_ms - row->seen_ms + 1)) {
        row->memory_kib_ms = sum;
        row->seen_ms = now_ms;
    }
    rise(&row->now.memory_mib_s, row->memory_kib_ms / (1024 * 1000));
    rise(&row->now.memory_peak, peak < most ? peak : most);
}

/* A stranger's number, as far as it can be true: it rises by `each` in a nanosecond at most, from
 * when its seat was taken. No program makes its row too large to be written thereby. */
static uint64_t believed(const struct account *account, uint64_t figure, uint64_t each)
{
    const struct usage_seat *seat = account->seat;
    uint64_t ns = timers_now(seat->room->timers) - seat->taken_ns;
    uint64_t most = ns < INT64_MAX / each ? ns * each : INT64_MAX;
    return figure < most ? figure : most;
}

static uint64_t *moved_of(struct account_row *row, unsigned way)
{
    return way == 0 ? &row->now.bytes_in : &row->now.bytes_out;
}

/* The bytes that a GPU's part lacks, in proportion to the copies to or from it. */
static double bytes_lacking(struct account *account, uint32_t i, unsigned way, double each_copied)
{
    struct account_row *row = &account->rows[i];
    double lacking = each_copied * ((double)row->copied[way] + 1) - (double)*moved_of(row, way);
    return lacking > 0 ? lacking : 0;
}

void account_divide(struct account *account, unsigned way, uint64_t total)
{
    double copied = 0, lacking = 0;
    uint64_t given = 0;
    for (uint32_t i = 0; i < account->count; i++) {
        copied += (double)account->rows[i].copied[way] + 1;
        given += *moved_of(&account->rows[i], way);
    }
    if (account->count == 0 || total <= given) {
        return;
    }
    double each_copied = (double)total / copied;
    for (uint32_t i = 0; i < account->count; i++) {
        lacking += bytes_lacking(account, i, way, each_copied);
    }
    uint64_t more = total - given, left = more;
    for (uint32_t i = 0; i < account->count; i++) {
        double part = lacking > 0 ? bytes_lacking(account, i, way, each_copied) / lacking : 0;
        uint64_t bytes = (uint64_t)(part * (double)more);
        bytes = bytes < left && i + 1 < account->count ? bytes : left;
        *moved_of(&account->rows[i], way) += bytes;
        left -= bytes;
    }
}

static void account_feed(const struct account *account, struct account_row *row,
                         const struct seat_use *use)
{
    const struct usage_seat *seat = account->seat;
    struct feedback_key key = {.number = seat->tenant_number};
    const struct feedback_figures now =
        feedback_figures_of(use, timers_now(seat->room->timers) - seat->taken_ns);
    snprintf(key.tenant, sizeof key.tenant, "%s", seat->tenant);
    snprintf(key.program, sizeof key.program, "%s", seat->program);
    snprintf(key.model, sizeof key.model, "%s", use->device->facts.name);
    feedback_tell(&seat->room->feedback, &key, &row->fed, &now);
}

static void engines_look(const struct account *account, struct account_row *row,
                         const struct seat_use *use)
{
    rise(&row->now.gpu_ns, use->busy_any_ns);
    /* gpuaasd may have heard late of its first device, if the machine is busy. */
    rise(&row->now.wall_ms, use->busy_any_ns / GA_NS_PER_MS);
    rise(&row->now.compute_ns, use->busy_ns[GPU_COMPUTE]);
    rise(&row->now.h2d_ns, use->busy_ns[GPU_H2D]);
    rise(&row->now.d2h_ns, use->busy_ns[GPU_D2H]);
    rise(&row->now.launches, believed(account, use->works, LAUNCHES_OF_NS));
    rise(&row->copied[0], use->copied_bytes[0]);
    rise(&row->copied[1], use->copied_bytes[1]);
}

static void turns_look(const struct account *account, struct account_row *row)
{
    rise(&row->waited_ns, account->seat->ops->waited_ns(account->seat, row->number));
}

static void account_total(const struct account *account, struct account_row *row)
{
    struct usage *room = account->seat->room;
    const uint64_t now[TOTALS_FIGURES] = {
        [TOTALS_GPU_NS] = row->now.gpu_ns,     [TOTALS_COMPUTE_NS] = row->now.compute_ns,
        [TOTALS_H2D_NS] = row->now.h2d_ns,     [TOTALS_D2H_NS] = row->now.d2h_ns,
        [TOTALS_BYTES_IN] = row->now.bytes_in, [TOTALS_BYTES_OUT] = row->now.bytes_out,
        [TOTALS_LAUNCHES] = row->now.launches, [TOTALS_WAITED_NS] = row->waited_ns};
    totals_use(&room->totals, account->seat->tenant, row->number,
               room->processes->devices.visible_count, now, row->totalled);
}

static void bytes_look(struct account *account)
{
    const struct figures *figures = account->seat->figures;
    account_divide(account, 0, believed(account, figures_in(figures), BYTES_OF_NS));
    account_divide(account, 1, believed(account, figures_out(figures), BYTES_OF_NS));
}

void account_look(struct account *account)
{
    const struct usage_seat *seat = account->seat;
    const struct devices *devices = &seat->room->processes->devices;
    uint64_t now = timers_now(seat->room->timers), now_ms = now / GA_NS_PER_MS;
    uint64_t began_ns = seat->ops->began_ns(seat, now);
    struct seat_use use;
    for (uint32_t i = 0; i < devices->visible_count; i++) {
        if (began_ns != 0 && gpu_set_has(seat->gpus, i)) {
            struct account_row *row = account_row_of(account, devices_visible(devices, i), i);
            if (row != NULL) {
                rise(&row->now.wall_ms, now_ms - began_ns / GA_NS_PER_MS);
            }
        }
    }
    for (uint32_t i = 0; seat_use_read(seat, i, &use); i++) {
        struct account_row *row = account_row_of(account, use.device, use.gpu);
        if (row != NULL) {
            engines_look(account, row, &use);
            account_feed(account, row, &use);
        }
    }
    for (uint32_t i = 0; i < account->count; i++) {
        memory_look(account, &account->rows[i], now_ms);
    }
    bytes_look(account);
    for (uint32_t i = 0; i < account->count; i++) {
        turns_look(account, &account->rows[i]);
        account_total(account, &account->rows[i]);
    }
    account->head.last = timers_wall_s(seat->room->timers);
    for (uint32_t i = 0; i < account->count; i++) {
        struct account_row *row = &account->rows[i];
        row->untold = row->untold || memcmp(&row->now, &row->written, sizeof row->now) != 0;
    }
}

void account_end(struct account *account, const char *why)
{
    account_look(account);
    account->head.ended = account->head.last;
    snprintf(account->head.reason, sizeof account->head.reason, "%s", why);
    for (uint32_t i = 0; i < account->count; i++) {
        account->rows[i].untold = true;
    }
    account->seat = NULL;
}

/* ---- rows */

size_t account_rows(const struct account *account, struct store_usage *rows)
{
    size_t count = 0;
    for (uint32_t i = 0; i < account->count; i++) {
        const struct account_row *row = &account->rows[i];
        if (!row->untold) {
            continue;
        }
        if (rows != NULL) {
            rows[count] = account->head;
            rows[count].figures = row->now;
            rows[count].more = i != 0 || !account->counts;
            memcpy(rows[count].gpu, row->gpu, sizeof row->gpu);
        }
        count++;
    }
    return count;
}

/* Rows come in the order in which account_rows has given them, so the next one is found at once. */
void account_written(struct account *account, const struct store_usage *row)
{
    for (uint32_t i = 0; i < account->count; i++) {
        uint32_t at = (account->written_next + i) % account->count;
        struct account_row *of = &account->rows[at];
        if (strcmp(of->gpu, row->gpu) == 0) {
            of->written = row->figures;
            of->untold = row->ended != account->head.ended ||
                         memcmp(&of->now, &of->written, sizeof of->now) != 0;
            account->written_next = (at + 1) % account->count;
            return;
        }
    }
}
