/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel output (printf), on its way from the driver to the client.
 *
 * Drivers print to stdout and stderr of their process, in the calls that CUDA names (a launch, a
 * wait, ...). In a backend process both are redirected to this file: output becomes frames of a
 * data connection before the call returns, so answers that are queued later follow it.
 *
 * Drivers do not say for whom they print. NVIDIA's writes to a descriptor; softgpu writes what all
 * its kernels have printed in whatever call comes next, so the calling thread tells nothing either.
 * Therefore a process with output has one application: a second sink is refused. A driver that
 * names the context would be told apart in redirection_sink (kernel_output.c), and nowhere else.
 *
 * Output needs no limit of its own: its frames count against the send queue, and a client that
 * reads nothing is served no further call. */
#ifndef SERVER_SESSION_KERNEL_OUTPUT_H
#define SERVER_SESSION_KERNEL_OUTPUT_H

#include <pthread.h>
#include <stdbool.h>

#include "api/cuda_names.h"
#include "base/status.h"

struct event_ref;
struct server_conn;
struct server_context;

/* The sink of an application: its data connection. */
struct kernel_output {
    struct server_conn *conn;
    bool taken; /* the client understands WIRE_OUTPUT; otherwise output is dropped */
};

/* What the drivers of a process print. */
struct output_redirection {
    pthread_mutex_t lock;
    struct kernel_output *sink; /* NULL: nobody listens */
    bool told;                  /* that output is lost */
    int pipe;                   /* what is written to descriptor 1; -1: nobody writes there */
};

/* Redirects stdout and stderr of <stdio.h>; with `descriptor` also descriptor 1 of the process, for
 * a driver that does not use stdio. Call once, before the driver is opened. */
GA_CHECKED enum ga_status output_open(struct output_redirection *output, bool descriptor);
/* Sends output to this sink from now on. GA_DENIED: another application has it. `output` NULL:
 * nothing is redirected. */
GA_CHECKED enum ga_status output_attach(struct output_redirection *output,
                                        struct kernel_output *sink);
/* No more; nothing happens where it was not attached. */
void output_detach(struct output_redirection *output, const struct kernel_output *sink);

/* Make the driver write what kernels have printed. None of them waits, because the work is done
 * already: that of the event, of the stream of the context (NULL: there is none), or of the current
 * context, unless a fault has ended it. */
void output_of_event(struct server_conn *conn, const struct event_ref *ref);
void output_of_stream(struct server_conn *conn, const struct server_context *context,
                      CUstream stream);
void output_of_context(struct server_conn *conn);

#endif
