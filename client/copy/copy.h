/* Moving bytes between host and device; shared by linear copies and those of rows and boxes. The
 * call has been entered, its stream checked (`wire`). */
#ifndef CLIENT_COPY_COPY_H
#define CLIENT_COPY_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "client/call/call.h"
#include "front/front.h"

/* What a call says is host memory may be: it is not NULL and not a device's. */
bool client_copy_host_side(const void *host);
/* Host memory is about to be read: copies that still write into it end first. (On a GPU the copy
 * would read it later, in stream order.) */
void client_copy_source(const void *from, uint64_t bytes);
/* The source has been taken when it returns. */
CUresult client_copy_in(struct client_call *call, uint64_t to, const void *from, uint64_t bytes,
                        uint64_t stream);
/* As client_copy_in, but memory that the server shares or reaches is copied in place: its source
 * has been taken when it returns only with `wait`. */
CUresult client_copy_from_host(struct client_call *call, uint64_t to, const void *from,
                               uint64_t bytes, uint64_t stream, bool wait);
/* `wait`, or into memory that is not pinned: the bytes are there when it returns. */
CUresult client_copy_out(struct client_call *call, void *to, uint64_t from, uint64_t bytes,
                         uint64_t stream, bool wait);

/* ---- blocking copies to the device (copy_deferred.c) */

/* A copy to the device that waits in CUDA has been sent: waits, if the program could tell that it
 * is not over yet. */
CUresult client_copy_defer(struct client_call *call, uint64_t stream);
/* From now on it can tell: in streams of the context that do not wait for the legacy one, or (NULL)
 * in other contexts and programs. Waits for copies that have not waited. */
void client_copy_expose(struct client_context *context);
/* Waits for copies that have not waited: their memory goes. */
void client_copy_complete(void);
/* Work comes behind copies that have not waited, and may last. */
void client_copy_fence(struct client_conn *conn);
/* Its work and its events are gone. */
void client_copy_forget(struct client_context *context);
/* All work counts as done: the last of it are copies that have returned. */
bool client_copy_deferred_done(const struct client_context *context);

/* One side of a copy of rows: row r is at `at + r * pitch`. */
struct copy_side {
    bool device;
    uint64_t at, pitch;
};

struct copy_rows {
    struct copy_side from, to;
    uint64_t width, count; /* not 0 */
    uint64_t stream;
    bool wait; /* the bytes are there when it returns, also in pinned memory */
};

/* Device ranges have been checked. */
CUresult client_copy_rows(struct client_call *call, const struct copy_rows *rows);

/* Whether a side of the box is on another server than the call's, so that client_copy_cross_node
 * has to do it: complete when it returns, or at least in the order of the stream. */
bool client_copy_leaves(const struct client_call *call, const struct front_box *box);
CUresult client_copy_cross_node(struct client_call *call, const struct front_box *box,
                                uint64_t stream);
/* Bytes in a row, as a box. */
struct front_box client_copy_line(uint64_t to, bool to_device, uint64_t from, bool from_device,
                                  uint64_t bytes);
/* The contexts that a copy names are there, on whichever servers. */
CUresult client_copy_contexts(CUcontext to, CUcontext from);
/* A box within the reach of the call's server. */
CUresult client_copy_box(struct client_call *call, const struct front_box *box, uint64_t stream,
                         bool wait);

/* Whether linear memory of a box is a device's, and in `call`'s reach. */
CUresult client_copy_side(struct client_call *call, const struct front_box *box,
                          const struct front_side *said, bool *device);
/* Whether the box could be copied, whatever its sides are. */
CUresult client_copy_check(struct client_call *call, const struct front_box *box);
/* A box one or both of whose sides are arrays (copy_array.c). */
CUresult client_copy_array(struct client_call *call, const struct front_box *box, uint64_t stream,
                           bool wait);

#endif
