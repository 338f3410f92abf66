/* SPDX-License-Identifier: Apache-2.0 */
/* The address windows of this process. They are reserved so that the host's malloc cannot collide
 * with device addresses. The size of a window depends on the memory of its device. */
#ifndef CLIENT_ALLOC_WINDOW_H
#define CLIENT_ALLOC_WINDOW_H

#include <stdbool.h>

#include "api/handshake.h"

/* Reserves the next candidate that is free; false: none is left. */
bool client_window_next(uint64_t memory_bytes, struct handshake_window *window);
/* Reserves what a server proposes; false: part of it is in use. */
bool client_window_reserve(const struct handshake_window *window);
void client_window_release(const struct handshake_window *window);

#if defined(__SANITIZE_THREAD__)
#define CLIENT_OTHERS_FIRST (UINT64_C(448) << 30)
#define CLIENT_OTHERS_END   (UINT64_C(504) << 30)
#else
#define CLIENT_OTHERS_FIRST UINT64_C(0x400000000000)
#define CLIENT_OTHERS_END   UINT64_C(0x500000000000)
#endif

#define CLIENT_OTHERS_UNIT (UINT64_C(2) << 20) /* of reservations there */

/* Whether an address lies in the area of client_window_take. */
static inline bool client_window_other(uint64_t address)
{
    return address - CLIENT_OTHERS_FIRST < CLIENT_OTHERS_END - CLIENT_OTHERS_FIRST;
}
/* Reserves addresses outside of all windows: at `wish` if that is free, else anywhere; at a
 * multiple of `alignment`, a power of two of at least a page. False: there is no room. */
bool client_window_take(uint64_t wish, uint64_t bytes, uint64_t alignment, uint64_t *start);
void client_window_give(uint64_t start, uint64_t bytes);

#endif
