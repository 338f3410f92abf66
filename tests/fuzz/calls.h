/* SPDX-License-Identifier: Apache-2.0 */
/* A compact language for the frames of a client's data connection. An input of a few bytes
 * becomes frames that are mostly valid, with handles that were made before and addresses in the
 * window, so that mutations reach deep. calls.c has the grammar. */
#ifndef TESTS_FUZZ_CALLS_H
#define TESTS_FUZZ_CALLS_H

#include "tests/fuzz/input.h"

#define CALLS_WINDOW       UINT64_C(0x200000000000) /* where session 1's addresses begin */
#define CALLS_WINDOW_BYTES (UINT64_C(64) << 20)
#define CALLS_STREAM_MAX   (4u << 20) /* bytes of all frames */

/* Writes the frames that `input` means to `room`; returns how many bytes they are. */
size_t calls_write(struct fuzz_input *input, uint8_t *room, size_t room_bytes);

#endif
