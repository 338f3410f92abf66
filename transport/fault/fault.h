/* SPDX-License-Identifier: Apache-2.0 */
/* The transport that breaks another one; only in builds for tests (GPUAAS_FAULT).
 *
 *     fault+tcp://host:port?OPTION=NUMBER&...
 *
 * or, for every address that the process uses, the same options in GPUAAS_TEST_FAULT. N counts the
 * bytes of one connection and direction, out is what we send:
 *
 *     most=N                    no call moves more than N bytes
 *     again=N                   N - 1 of N calls return GA_AGAIN, whatever is there
 *     delay_us=N                each call takes so long
 *     reset_in=N, reset_out=N   after N bytes: the peer gets a reset, we get GA_LOST
 *     silent_in=N, silent_out=N after N bytes nothing passes in either direction, and neither end
 *                               is told, as if the peer's machine had vanished
 *     corrupt_in=N, corrupt_out=N   byte N, counted from 0, has other bits
 *     half_in=N, half_out=N     after N bytes this direction ends; the other one goes on
 *     cut_in=N, cut_out=N       the last bytes of frame N, counted from 1, are missing, and the
 *                               direction ends there
 *     twice_in=N, twice_out=N   frame N comes twice
 *     swap_in=N, swap_out=N     frame N, or the next that can, comes behind the one after it
 *     long_in=N, long_out=N     the header of frame N announces more bytes than any frame may have
 *     on=1, 2, 3 or 4           only control (1), data (2), side (3) or bulk (4) connections, as
 *                               their first frame shows */
#ifndef TRANSPORT_FAULT_FAULT_H
#define TRANSPORT_FAULT_FAULT_H

#include "transport/transport.h"

#define FAULT_VARIABLE "GPUAAS_TEST_FAULT"

extern const struct transport_ops transport_fault;

/* Wraps a parsed address. GA_INVALID with `why`: invalid options. */
GA_CHECKED enum ga_status transport_fault_wrap(struct transport_address *address,
                                               const char *options, char *why, size_t why_size);

#endif
