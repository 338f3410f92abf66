/* Functions of the program that streams call. The server says when the turn of one has come; they
 * run on a thread of their own, one after the other, and may take as long as they like. Values in
 * the program's memory, which streams write or wait for, come the same way, on another thread: no
 * function holds them up. */
#ifndef CLIENT_STREAM_HOST_FUNCTION_H
#define CLIENT_STREAM_HOST_FUNCTION_H

#include <stdint.h>

#include "api/cuda_names.h"

struct client_host_call;
struct front_host_call;
struct front_value;

/* front_host.host_call. */
CUresult client_host_submit(CUstream stream, const struct front_host_call *what);
/* A step of a stream with a value in pinned memory. */
CUresult client_host_submit_value(CUstream stream, const struct front_value *value);

/* Its turn has come; `ticket` goes back to the server when it has returned. Any thread. */
void client_host_call_due(struct client_host_call *call, int status, uint32_t ticket);
/* Its turn never comes: the connection has ended, with `status`. Any thread. */
void client_host_call_lost(struct client_host_call *call, int status);

#endif
