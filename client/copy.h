/* Moving bytes between host and device; shared by the linear and the 2D copies. The call has been
 * entered, its stream checked (`wire`). */
#ifndef CLIENT_COPY_H
#define CLIENT_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "client/call.h"

/* Host memory is about to be read: copies that still write into it end first. (On a GPU the copy
 * would read it later, in stream order.) */
void client_copy_source(const void *from, uint64_t bytes);
/* The source has been taken when it returns. */
CUresult client_copy_in(struct client_call *call, uint64_t to, const void *from, uint64_t bytes,
                        uint64_t stream);
/* `wait`, or into memory that is not pinned: the bytes are there when it returns. */
CUresult client_copy_out(struct client_call *call, void *to, uint64_t from, uint64_t bytes,
                         uint64_t stream, bool wait);
/* All work of the stream has ended. */
CUresult client_copy_stream_wait(struct client_call *call, uint64_t stream);

#endif
