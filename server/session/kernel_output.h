/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel output (printf), on its way from the driver to the client.
 *
 * Drivers print to stdout and stderr of their process, in the calls that CUDA names (a launch, a
 * wait, ...). In a backend process both are redirected to this file: output becomes frames of the
 * data connection before the call returns, so answers that are queued later follow it. All output
 * belongs to the one application that the process serves.
 *
 * Output needs no limit of its own: its frames count against the send queue, and a client that
 * reads nothing is served no further call. */
#ifndef SERVER_SESSION_KERNEL_OUTPUT_H
#define SERVER_SESSION_KERNEL_OUTPUT_H

#include <stdbool.h>

#include "api/cuda_names.h"
#include "base/status.h"

struct event_ref;
struct server_conn;
struct server_context;

/* Redirects stdout and stderr of <stdio.h>; with `descriptor` also descriptor 1 of the process, for
 * a driver that does not use stdio. Call once, before the driver is opened. */
GA_CHECKED enum ga_status output_open(bool descriptor);
/* Sends output to this connection from now on. `taken`: the client understands WIRE_OUTPUT;
 * otherwise output is dropped, and the log says so. */
void output_begin(struct server_conn *conn, bool taken);

/* Make the driver write what kernels have printed. None of them waits, because the work is done
 * already: that of the event, of the stream of the context (NULL: there is none), or of the current
 * context, unless a fault has ended it. */
void output_of_event(struct server_conn *conn, const struct event_ref *ref);
void output_of_stream(struct server_conn *conn, const struct server_context *context,
                      CUstream stream);
void output_of_context(struct server_conn *conn);

#endif
