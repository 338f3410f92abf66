/* SPDX-License-Identifier: Apache-2.0 */
/* stdout and stderr of a backend process. */
#include "server/app/kernel_output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/driver_open.h"
#include "base/log.h"
#include "server/app/app.h"
#include "server/app/carrier.h"

#define PIECE      16384u    /* bytes of text in a frame */
#define PIPE_BYTES (1 << 20) /* a driver that writes into it need not wait for us */

/* ---- to the client; with the lock */

static bool sink_has(const struct kernel_output *sink, CUcontext real)
{
    ga_list_each (at, next, &sink->contexts) {
        if (ga_container(at, struct output_context, link)->real == real) {
            return true;
        }
    }
    return false;
}

/* Whose output the calling thread writes; NULL: not known. */
static struct kernel_output *redirection_sink(const struct output_redirection *output)
{
    CUcontext real = output->context_of != NULL ? output->context_of() : NULL;
    struct kernel_output *sink = NULL;
    unsigned count = 0;
    ga_list_each (at, next, &output->sinks) {
        sink = ga_container(at, struct kernel_output, link);
        if (real != NULL && sink_has(sink, real)) {
            return sink;
        }
        count++;
    }
    return count == 1 ? sink : NULL;
}

/* The address of its client, which need not be that of the calling thread's. */
static const char *redirection_client(const struct output_redirection *output)
{
    const struct kernel_output *sink = redirection_sink(output);
    return sink != NULL ? sink->app->host->client : "";
}

static void kernel_output_put(struct output_redirection *output, enum wire_output to,
                              const char *text, size_t bytes)
{
    const struct kernel_output *sink = redirection_sink(output);
    if (sink == NULL || !sink->taken) {
        if (!output->told) {
            output->told = true;
            ga_warn("what kernels print is lost: %s",
                    sink == NULL ? "nobody has connected yet"
                                 : "the client's build is older and does not take it");
        }
        return;
    }
    for (size_t at = 0; at < bytes; at += PIECE) {
        sink->app->carrier->print(sink->app, to, text + at,
                                  bytes - at < PIECE ? bytes - at : PIECE);
    }
}

/* ---- stdio */

static ssize_t write_stdout(void *cookie, const char *text, size_t bytes)
{
    struct output_redirection *output = cookie;
    pthread_mutex_lock(&output->lock);
    kernel_output_put(output, WIRE_OUTPUT_STDOUT, text, bytes);
    pthread_mutex_unlock(&output->lock);
    return (ssize_t)bytes;
}

/* Our log writes to the descriptor and does not come by here. */
static ssize_t write_stderr(void *cookie, const char *text, size_t bytes)
{
    struct output_redirection *output = cookie;
    size_t said = bytes;
    while (said > 0 && text[said - 1] == '\n') {
        said--; /* a line of the log ends by itself */
    }
    const size_t ours = sizeof CUDA_DRIVER_SAYS - 1;
    pthread_mutex_lock(&output->lock);
    const char *client = redirection_client(output);
    if (said > ours && memcmp(text, CUDA_DRIVER_SAYS, ours) == 0) {
        ga_warn_of(client, "softgpu: %.*s", (int)(said - ours), text + ours);
    } else if (said > 0) {
        ga_warn_of(client, "on stderr: %.*s", (int)(said < 800 ? said : 800), text);
    }
    kernel_output_put(output, WIRE_OUTPUT_STDERR, text, bytes);
    pthread_mutex_unlock(&output->lock);
    return (ssize_t)bytes;
}

static FILE *stream_open(struct output_redirection *output, cookie_write_function_t *write)
{
    FILE *file = fopencookie(output, "w", (cookie_io_functions_t){.write = write});
    if (file != NULL) {
        (void)setvbuf(file, NULL, _IONBF, 0);
    }
    return file;
}

/* ---- descriptor 1 */

/* All that is there. With the lock: several threads come here. */
static void pipe_drain(struct output_redirection *output)
{
    char text[PIECE];
    ssize_t got;
    while ((got = read(output->pipe, text, sizeof text)) > 0) {
        kernel_output_put(output, WIRE_OUTPUT_STDOUT, text, (size_t)got);
    }
}

/* A driver must not wait for room in the pipe for long: it may hold its locks meanwhile. */
static void *pipe_run(void *argument)
{
    struct output_redirection *output = argument;
    struct pollfd readable = {.fd = output->pipe, .events = POLLIN};
    for (;;) {
        (void)poll(&readable, 1, -1);
        pthread_mutex_lock(&output->lock);
        pipe_drain(output);
        const struct kernel_output *sink = redirection_sink(output);
        if (sink != NULL) { /* with the lock: it may end */
            sink->app->carrier->flush(sink->app);
        }
        pthread_mutex_unlock(&output->lock);
    }
    return NULL;
}

static enum ga_status pipe_open(struct output_redirection *output)
{
    int ends[2];
    pthread_t thread;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return GA_NO_MEMORY;
    }
    output->pipe = ends[0];
    (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
    (void)fcntl(ends[0], F_SETPIPE_SZ, PIPE_BYTES); /* else it has what a pipe has */
    if (dup2(ends[1], STDOUT_FILENO) < 0 || pthread_create(&thread, NULL, pipe_run, output) != 0) {
        return GA_NO_MEMORY;
    }
    (void)pthread_detach(thread);
    close(ends[1]);
    return GA_OK;
}

/* ---- life */

enum ga_status output_open(struct output_redirection *output, bool descriptor)
{
    *output = (struct output_redirection){.pipe = -1};
    ga_list_init(&output->sinks);
    pthread_mutex_init(&output->lock, NULL);
    FILE *to_stdout = stream_open(output, write_stdout);
    FILE *to_stderr = stream_open(output, write_stderr);
    if (to_stdout == NULL || to_stderr == NULL) {
        return GA_NO_MEMORY;
    }
    stdout = to_stdout; /* glibc lets programs do that */
    stderr = to_stderr;
    return descriptor ? pipe_open(output) : GA_OK;
}

void output_init(struct kernel_output *sink, struct server_app *app)
{
    *sink = (struct kernel_output){.app = app};
    ga_list_init(&sink->link);
    ga_list_init(&sink->contexts);
}

enum ga_status output_attach(struct output_redirection *output, struct kernel_output *sink)
{
    enum ga_status status = GA_OK;
    if (output == NULL) {
        return GA_OK;
    }
    pthread_mutex_lock(&output->lock);
    if (output->context_of == NULL && !ga_list_empty(&output->sinks)) {
        status = GA_DENIED;
    } else {
        ga_list_append(&output->sinks, &sink->link);
        output->told = false;
    }
    pthread_mutex_unlock(&output->lock);
    return status;
}

void output_detach(struct output_redirection *output, struct kernel_output *sink)
{
    if (output != NULL) {
        pthread_mutex_lock(&output->lock);
        ga_list_remove(&sink->link);
        ga_list_init(&sink->link);
        pthread_mutex_unlock(&output->lock);
    }
}

void output_context_add(struct output_redirection *output, struct kernel_output *sink,
                        struct output_context *context, CUcontext real)
{
    ga_list_init(&context->link);
    context->real = real;
    if (output != NULL) {
        pthread_mutex_lock(&output->lock);
        ga_list_append(&sink->contexts, &context->link);
        pthread_mutex_unlock(&output->lock);
    }
}

void output_context_remove(struct output_redirection *output, struct output_context *context)
{
    if (output != NULL) {
        pthread_mutex_lock(&output->lock);
        ga_list_remove(&context->link);
        pthread_mutex_unlock(&output->lock);
    }
}

/* ---- at the points that CUDA names. The results of the calls are known already: what matters is
 * that drivers write in them. */

/* Sends output of descriptor 1 before anything else. */
static void kernel_output_written(struct server_app *app)
{
    struct output_redirection *output = app->host->output;
    if (output != NULL && output->pipe >= 0) {
        pthread_mutex_lock(&output->lock);
        pipe_drain(output);
        pthread_mutex_unlock(&output->lock);
    }
}

void output_of_event(struct server_app *app, const struct event_ref *ref)
{
    if (atomic_load_explicit(&ref->context->launched, memory_order_relaxed)) {
        (void)app->driver->cuEventSynchronize(ref->real);
        kernel_output_written(app);
    }
}

void output_of_stream(struct server_app *app, const struct server_context *context, CUstream stream)
{
    if (context != NULL && atomic_load_explicit(&context->launched, memory_order_relaxed)) {
        (void)app->driver->cuStreamSynchronize(stream);
        kernel_output_written(app);
    }
}

void output_of_context(struct server_app *app)
{
    (void)app->driver->cuCtxSynchronize();
    kernel_output_written(app);
}
