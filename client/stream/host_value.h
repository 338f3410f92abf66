/* SPDX-License-Identifier: Apache-2.0 */
/* Values in pinned memory that streams write or wait for: the client writes or waits when the
 * stream's turn has come (host_function.c). */
#ifndef CLIENT_STREAM_HOST_VALUE_H
#define CLIENT_STREAM_HOST_VALUE_H

#include <stdbool.h>

#include "front/front.h"

/* Whether the wait is over; also if the memory is pinned no more, since then no write can end it.
 */
bool client_host_value_holds(const struct front_value *value);
/* Whether the word `now` satisfies the wait. */
bool client_host_value_meets(const struct front_value *value, uint64_t now);
void client_host_value_store(const struct front_value *value);

#endif
