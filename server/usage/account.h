/* SPDX-License-Identifier: Apache-2.0 */
/* One account: the figures of a seat, from the first row to the last. */
#ifndef SERVER_USAGE_ACCOUNT_H
#define SERVER_USAGE_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "server/processes/devices.h"
#include "server/usage/feedback.h"
#include "server/usage/totals.h"
#include "store/store.h"

struct usage_seat;

/* The row of a GPU. */
struct account_row {
    const struct device *device;
    uint32_t number; /* of it, in the list that clients see */
    char gpu[DEVICES_UUID_BYTES];
    struct store_figures now, written;
    uint64_t copied[2]; /* bytes to and from the GPU, before they were compressed */
    uint64_t memory_kib_ms, seen_ms;
    uint64_t waited_ns;                /* for turns */
    uint64_t totalled[TOTALS_FIGURES]; /* what totals.h has been told */
    bool untold;                       /* `now` or the end is not written yet */
    struct feedback_figures fed;       /* what feedback has been told */
};

struct account {
    struct ga_list link;
    const struct usage_seat *seat; /* NULL: it has ended */
    struct store_usage head;       /* of every row, without GPU and figures */
    uint32_t count, room;
    bool counts;           /* its first row has the session; false: another account's has */
    uint32_t written_next; /* where to look for the next row that has been written */
    struct account_row *rows;
};

/* NULL: no memory. */
struct account *account_make(const struct usage_seat *seat, const char *node, uint64_t epoch,
                             uint64_t number);
void account_free(struct account *account);
/* Takes the figures as they are; they never get smaller. */
void account_look(struct account *account);
/* Divides the bytes that have been moved, `total` so far, among the GPUs: in proportion to what has
 * been copied to them (`way` 0), or from them (1), as nearly as rows allow that never get smaller.
 * Their sum is always `total`, or what it was before if that is more. */
void account_divide(struct account *account, unsigned way, uint64_t total);
/* As account_look, for the last time: its seat is no more. */
void account_end(struct account *account, const char *why);
/* How many rows are not written; writes them to `rows`, unless that is NULL. */
size_t account_rows(const struct account *account, struct store_usage *rows);
/* A row that account_rows has given has been written. */
void account_written(struct account *account, const struct store_usage *row);

#endif
