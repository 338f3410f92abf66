/* SPDX-License-Identifier: Apache-2.0 */
/* Fake backend processes: uv_spawn starts nothing; the input gives the bytes of the channel and
 * the time of the exit. They are numbered from 0 in the order of their start. */
#ifndef TESTS_FUZZ_FAKE_SPAWN_H
#define TESTS_FUZZ_FAKE_SPAWN_H

#include "server/channel.h"

#define FAKE_PROCESSES_MAX 16u /* per input; the next one cannot be started */

/* The next one cannot be started. */
void fake_spawn_fail_next(void);
void fake_spawn_says(unsigned n, const union channel_packet *packet, size_t size);
void fake_spawn_exits(unsigned n, int status);
/* All that are left exit. */
void fake_spawn_end(void);

#endif
