/* SPDX-License-Identifier: Apache-2.0 */
/* A connection whose peer is the fuzzer: it receives given bytes, in pieces of any size, and
 * discards sent bytes. */
#ifndef TESTS_FUZZ_CONN_H
#define TESTS_FUZZ_CONN_H

#include <stdbool.h>

#include "tests/fuzz/input.h"
#include "transport/transport.h"

/* The one connection of this process. Its descriptor is always readable and writable, so nobody
 * sleeps in poll; when the bytes are used up the connection has ended. `seed` makes the pieces:
 * 0: everything at once; else small ones, and GA_AGAIN between them. */
struct transport_conn fuzz_conn_open(const uint8_t *bytes, size_t size, uint64_t seed);
/* Bytes that have not been received yet. */
size_t fuzz_conn_left(void);
void fuzz_conn_close(void);

#endif
