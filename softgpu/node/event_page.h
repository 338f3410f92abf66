/* SPDX-License-Identifier: Apache-2.0 */
/* The part of an event that processes share: which recordings there are, and which of them are
 * done. It is a page of an anonymous file of its own, which nobody has but the process that made it
 * and those that got a descriptor of it. (In the segment of the node, all processes could write
 * it.)
 *
 * Whether who has recorded it lives the kernel knows: each process opens the file anew and locks a
 * byte of its own there, as long as it has the event, or work that records it. As with descriptors
 * of memory (memory_ledger.h), the lock goes with the last copy of that open file.
 *
 * Note: who has the event may write anything there. That makes recordings look done too early or
 * never, as recording it does; nothing is read or written elsewhere for it.
 *
 * All functions want the process's lock held. */
#ifndef SOFTGPU_NODE_EVENT_PAGE_H
#define SOFTGPU_NODE_EVENT_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

#define SG_EVENT_PAGE_FILE "softgpu-event"
#define SG_EVENT_PAGES_MAX 1024 /* of a process: each takes a descriptor */

struct sg_event_page;

/* A page with a random key. GA_NO_MEMORY: this process has too many, or there is no memory or no
 * descriptor left. */
GA_CHECKED enum ga_status sg_event_page_make(struct sg_event_page **page);

/* That of a descriptor, which stays the caller's. GA_INVALID: it is none, or its maker has
 * withdrawn it. */
GA_CHECKED enum ga_status sg_event_page_open(int fd, struct sg_event_page **page);

void sg_event_page_hold(struct sg_event_page *page);
/* NULL: nothing happens. */
void sg_event_page_drop(struct sg_event_page *page);

/* Nobody opens it any more; those that have it keep it. */
void sg_event_page_withdraw(struct sg_event_page *page);

uint64_t sg_event_page_key(const struct sg_event_page *page);
/* Its descriptor in this process, by which others find it in /proc. */
int sg_event_page_file(const struct sg_event_page *page);
/* A new descriptor, which the caller owns, to be given to others; -1: there is none left. */
int sg_event_page_export(const struct sg_event_page *page);

/* A new recording by this process. Recordings are not 0. */
uint64_t sg_event_page_record(struct sg_event_page *page);
/* The last recording of all processes; 0: there is none. */
uint64_t sg_event_page_last(const struct sg_event_page *page);

void sg_event_page_set_done(struct sg_event_page *page, uint64_t recording);
/* Also when who recorded is gone. Not for recordings of this process. */
bool sg_event_page_done(const struct sg_event_page *page, uint64_t recording);

#endif
