/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel output (printf), on its way from the driver to the client.
 *
 * Drivers print to stdout and stderr of their process, in the calls that CUDA names (a launch, a
 * wait, ...). In a backend process both are redirected to this file: output becomes frames of a
 * data connection before the call returns, so answers that are queued later follow it.
 *
 * softgpu says of which context it writes (struct cuda_driver_traits), NVIDIA's driver does not: it
 * writes to a descriptor. Output of no known context is the only application's; where a driver
 * tells nothing, a second application is refused.
 *
 * Output needs no limit of its own: its frames count against the send queue, and a client that
 * reads nothing is served no further call. */
#ifndef SERVER_APP_KERNEL_OUTPUT_H
#define SERVER_APP_KERNEL_OUTPUT_H

#include <pthread.h>
#include <stdbool.h>

#include "api/cuda_names.h"
#include "base/list.h"
#include "base/status.h"

struct event_ref;
struct server_app;
struct server_context;

/* A context of the driver, of an application; a member of struct server_context. */
struct output_context {
    struct ga_list link; /* of the sink */
    CUcontext real;
};

/* The sink of an application: its carrier, while a connection is that. */
struct kernel_output {
    struct ga_list link; /* of the redirection */
    struct ga_list contexts;
    struct server_app *app;
    bool taken; /* the client understands WIRE_OUTPUT; otherwise output is dropped */
};

/* The redirected output of a process' drivers. */
struct output_redirection {
    pthread_mutex_t lock;
    struct ga_list sinks;      /* struct kernel_output */
    void *(*context_of)(void); /* the CUcontext that the calling thread writes for; NULL: the
                                * driver does not tell */
    bool told;                 /* that output is lost */
    int pipe;                  /* what is written to descriptor 1; -1: nobody writes there */
};

/* Redirects stdout and stderr of <stdio.h>; with `descriptor` also descriptor 1 of the process, for
 * a driver that does not use stdio. Call once, before the driver is opened. */
GA_CHECKED enum ga_status output_open(struct output_redirection *output, bool descriptor);
/* A sink without contexts. */
void output_init(struct kernel_output *sink, struct server_app *app);
/* Sends output to this sink from now on. GA_DENIED: there is another, and the driver does not tell
 * whose output it is. `output` NULL: nothing is redirected. */
GA_CHECKED enum ga_status output_attach(struct output_redirection *output,
                                        struct kernel_output *sink);
/* No more; nothing happens where it was not attached. */
void output_detach(struct output_redirection *output, struct kernel_output *sink);
/* A context of the driver is the sink's from now on; and no more. `output` NULL: the same. */
void output_context_add(struct output_redirection *output, struct kernel_output *sink,
                        struct output_context *context, CUcontext real);
void output_context_remove(struct output_redirection *output, struct output_context *context);

/* Make the driver write what kernels have printed. None of them waits, because the work is done
 * already: that of the event, of the stream of the context (NULL: there is none), or of the current
 * context, unless a fault has ended it. */
void output_of_event(struct server_app *app, const struct event_ref *ref);
void output_of_stream(struct server_app *app, const struct server_context *context,
                      CUstream stream);
void output_of_context(struct server_app *app);

#endif
