/* SPDX-License-Identifier: Apache-2.0 */
/* The account of each seat: what its application has used of each GPU, written into the store every
 * `ledger_interval_s` and at the end. Rows have absolute figures, so writing one again changes
 * nothing. Until then they are in a journal (store/journal.h), for the next gpuaasd if this one is
 * killed. Where the store cannot be written rows wait; applications go on.
 *
 * Note: times that are billed are of a clock that nobody sets; the wall clock (UTC) only says to
 * which day they belong. */
#ifndef SERVER_USAGE_ACCOUNTING_H
#define SERVER_USAGE_ACCOUNTING_H

#include <stdint.h>

#include "base/status.h"
#include "store/store.h"

struct account;
struct accounting;
struct usage;
struct usage_seat;

/* Makes ready, unless ledger_interval_s is 0: then there are no accounts. */
GA_CHECKED enum ga_status accounting_start(struct usage *usage);
/* Begins the next epoch of the node, which ends the accounts of earlier ones: behind all that may
 * fail when gpuaasd starts, and before anybody has a seat. An error has been logged. */
GA_CHECKED enum ga_status accounting_begin(struct usage *usage);
/* No backend process is left, or is waited for: writes what is not written yet. */
void accounting_stop(struct usage *usage);

/* The application has got the seat; and ends there. */
void accounting_seat_taken(struct usage_seat *seat);
void accounting_seat_ended(struct usage_seat *seat, const char *why);

/* Takes the figures of all as they are now. */
void accounting_refresh(struct usage *usage);

/* GPU time of a tenant (`user` NULL), or of one of its users, in the day or month (UTC) of now,
 * with what is not written yet. An error of the store is answered with what is known without it. */
uint64_t accounting_gpu_ns(struct usage *usage, uint64_t tenant_number, const char *user,
                           enum store_period period);

#endif
