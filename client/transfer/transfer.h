/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes in one row, between the program's memory and a device's. The call has been entered, its
 * stream checked (`stream` is the wire's); nothing is asked about mirrors. */
#ifndef CLIENT_TRANSFER_TRANSFER_H
#define CLIENT_TRANSFER_TRANSFER_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"

struct client_call;

/* Copies to the device. The source has been read when this returns. */
CUresult client_copy_in(struct client_call *call, uint64_t to, const void *from, uint64_t bytes,
                        uint64_t stream);
/* As client_copy_in, but memory in a shared buffer is copied in place: then the source has been
 * read when this returns only if `wait` is set. */
CUresult client_copy_from_host(struct client_call *call, uint64_t to, const void *from,
                               uint64_t bytes, uint64_t stream, bool wait);
/* Copies to the host. With `wait`, or into memory that is not pinned, the bytes are there when this
 * returns. */
CUresult client_copy_out(struct client_call *call, void *to, uint64_t from, uint64_t bytes,
                         uint64_t stream, bool wait);

#endif
