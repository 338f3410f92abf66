/* SPDX-License-Identifier: Apache-2.0 */
/* Moving bytes between host and device; shared by linear copies and those of rows and boxes. The
 * call has been entered, its stream checked (`wire`). */
#ifndef CLIENT_COPY_COPY_H
#define CLIENT_COPY_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "client/call/call.h"
#include "front/front.h"

/* Whether a pointer that a call names as host memory can be that: not NULL, and not a device's. */
bool client_copy_host_side(const void *host);
/* Call before host memory is read: waits for copies that still write into it. (On a GPU the copy
 * would read it later, in stream order.) */
void client_copy_source(const void *from, uint64_t bytes);
/* Call after sending a copy to the device that blocks in CUDA. Waits for it only if the program
 * could observe that it is not over yet; otherwise the wait is deferred (call/deferred_copies.h).
 */
CUresult client_copy_defer(struct client_call *call, uint64_t stream);

/* One side of a copy of rows: row r is at `at + r * pitch`. */
struct copy_side {
    bool device;
    uint64_t at, pitch;
};

struct copy_rows {
    struct copy_side from, to;
    uint64_t width, count; /* not 0 */
    uint64_t stream;
    bool wait; /* the bytes are there when the call returns, also in pinned memory */
};

/* Copies rows; the caller has checked the device ranges. */
CUresult client_copy_rows(struct client_call *call, const struct copy_rows *rows);

/* Whether a side of the box is on another server than the call's. client_copy_cross_node then
 * copies it; the copy is over when that returns, or at least ordered in the stream. */
bool client_copy_leaves(const struct client_call *call, const struct front_box *box);
CUresult client_copy_cross_node(struct client_call *call, const struct front_box *box,
                                uint64_t stream);
/* Bytes in a row, as a box. */
struct front_box client_copy_line(uint64_t to, bool to_device, uint64_t from, bool from_device,
                                  uint64_t bytes);
/* Checks that both contexts of a copy exist, on whichever servers. */
CUresult client_copy_contexts(CUcontext to, CUcontext from);
/* Copies a box both of whose sides the call's server reaches. */
CUresult client_copy_box(struct client_call *call, const struct front_box *box, uint64_t stream,
                         bool wait);

/* Tells whether linear memory of a box is a device's; an error if `call`'s server does not reach
 * it. */
CUresult client_copy_side(struct client_call *call, const struct front_box *box,
                          const struct front_side *said, bool *device);
/* Checks the box, whatever its sides are. */
CUresult client_copy_check(struct client_call *call, const struct front_box *box);
/* Copies a box one or both of whose sides are arrays (copy_array.c). */
CUresult client_copy_array(struct client_call *call, const struct front_box *box, uint64_t stream,
                           bool wait);

#endif
