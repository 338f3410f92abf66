/* SPDX-License-Identifier: Apache-2.0 */
/* A backend process gives up its user, groups, capabilities, and descriptors that it has inherited
 * by accident; and it goes before others when the kernel runs out of memory. */
#ifndef SERVER_BACKEND_PRIVILEGES_H
#define SERVER_BACKEND_PRIVILEGES_H

#include "server/channel.h"

/* How much likelier than others a backend process is to be ended when the machine has no memory
 * left, in thousandths of its memory: of several the largest one goes first, and gpuaasd last. */
#define PRIVILEGES_OOM_SCORE 500

/* The private memory of this machine that a process of a software GPU may have, above twice
 * application_host_memory and its memory at the start: for itself, and for each processor, which
 * has threads. */
#define PRIVILEGES_DATA_SPARE     ((uint64_t)1 << 30)
#define PRIVILEGES_DATA_PROCESSOR ((uint64_t)32 << 20)

/* Before SETUP is read: closes descriptors that gpuaasd has not meant it to have, and takes its
 * place for the kernel's memory killer. */
void privileges_begin(void);

/* The part that comes before threads start, because each has capabilities of its own. (A thread
 * loses them if the user changes.) GA_INVALID: `why`. */
GA_CHECKED enum ga_status privileges_limit(const struct channel_setup *setup, char *why,
                                           size_t why_size);

/* The rest, once the driver is open. */
GA_CHECKED enum ga_status privileges_drop(const struct channel_setup *setup, char *why,
                                          size_t why_size);

#endif
