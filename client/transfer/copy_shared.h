/* SPDX-License-Identifier: Apache-2.0 */
/* Copies out of shared buffers and into them. */
#ifndef CLIENT_TRANSFER_COPY_SHARED_H
#define CLIENT_TRANSFER_COPY_SHARED_H

#include <stdbool.h>
#include <stdint.h>

#include "client/transfer/shared_buffer.h"

struct client_call;

/* Copies out of a shared buffer (`in`) or into it, at the place of the program's memory `host`.
 * With `wait` the copy is over when this returns; otherwise it runs in stream order, and freeing
 * the memory waits for it. */
CUresult client_copy_shared(struct client_call *call, struct client_buffer_place place, void *host,
                            uint64_t device, uint64_t bytes, uint64_t stream, bool in, bool wait);
/* Copy through slots as long as some are free; *copied: how many bytes. Bytes to the device have
 * been read when this returns, bytes to the host are there. */
CUresult client_copy_slots_in(struct client_call *call, uint64_t to, const uint8_t *from,
                              uint64_t bytes, uint64_t stream, uint64_t *copied);
CUresult client_copy_slots_out(struct client_call *call, uint8_t *to, uint64_t from, uint64_t bytes,
                               uint64_t stream, uint64_t *copied);

#endif
