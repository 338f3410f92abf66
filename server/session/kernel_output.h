/* What kernels print, on its way from the driver to the client.
 *
 * Drivers print to stdout and stderr of their process, in the calls that CUDA names (a launch, a
 * wait, ...). In a backend process both lead here: what is written becomes frames of the data
 * connection before the call returns, so an answer that is queued afterwards comes behind it. All
 * of it is the one application's that the process serves.
 *
 * There is no queue of its own to bound: frames count as all that waits for the socket, so that a
 * client that reads nothing is served no further call. */
#ifndef SERVER_SESSION_KERNEL_OUTPUT_H
#define SERVER_SESSION_KERNEL_OUTPUT_H

#include <stdbool.h>

#include "api/cuda_names.h"
#include "base/status.h"

struct event_ref;
struct server_conn;
struct server_context;

/* Redirects stdout and stderr, of <stdio.h>, and stdout of the process too if `descriptor` (a
 * driver that does not use stdio). Once, before the driver is opened. */
GA_CHECKED enum ga_status output_open(bool descriptor);
/* From now on there is a client. `taken`: it understands WIRE_OUTPUT; else what is printed is lost,
 * and the log says so. */
void output_begin(struct server_conn *conn, bool taken);

/* Make the driver write what kernels have printed. None of them waits: what the event is for, or
 * the stream of the context (NULL: there is none) holds, is done; and so is the work of the current
 * context, unless a fault ended it. */
void output_of_event(struct server_conn *conn, const struct event_ref *ref);
void output_of_stream(struct server_conn *conn, const struct server_context *context,
                      CUstream stream);
void output_of_context(struct server_conn *conn);

#endif
