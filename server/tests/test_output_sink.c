/* SPDX-License-Identifier: Apache-2.0 */
/* Whose is what drivers print: the application's whose context it is, where they tell. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "server/app/kernel_output.h"
#include "server/conn/conn.h"
#include "server/pipeline/send_queue.h"

static void *writes_for; /* the CUcontext */

static void *tell(void)
{
    return writes_for;
}

static CUcontext context(uintptr_t number)
{
    return (CUcontext)number;
}

static struct output_redirection output;
static struct server_conn *conns[2];
static const struct server_host hosts[2] = {{.client = "192.0.2.7:1"}, {.client = "192.0.2.8:2"}};

static struct transport_conn nowhere;
static struct staging staging;

static void start(void *(*context_of)(void))
{
    cr_assert_eq(output_open(&output, false), GA_OK);
    output.context_of = context_of;
    for (unsigned i = 0; i < 2; i++) {
        conns[i] = calloc(1, sizeof *conns[i]);
        conns[i]->app = calloc(1, sizeof *conns[i]->app);
        conns[i]->app->host = &hosts[i];
        conns[i]->app->carrier = &conn_carrier;
        conns[i]->app->carried_by = conns[i];
        output_init(&conns[i]->app->output, conns[i]->app);
        conns[i]->app->output.taken = true;
        send_queue_init(&conns[i]->out, &nowhere, &staging);
    }
}

static uint64_t queued(unsigned i)
{
    return atomic_load(&conns[i]->out.bytes);
}

static void print(CUcontext of, const char *text)
{
    writes_for = of;
    cr_assert(fputs(text, stdout) >= 0);
    writes_for = NULL;
}

Test(kernel_output, each_context_prints_for_its_application)
{
    struct output_context contexts[3];
    start(tell);
    cr_assert_eq(output_attach(&output, &conns[0]->app->output), GA_OK);
    cr_assert_eq(output_attach(&output, &conns[1]->app->output), GA_OK);
    output_context_add(&output, &conns[0]->app->output, &contexts[0], context(10));
    output_context_add(&output, &conns[1]->app->output, &contexts[1], context(20));
    output_context_add(&output, &conns[1]->app->output, &contexts[2], context(30));
    print(context(10), "one");
    uint64_t first = queued(0);
    cr_assert(first != 0 && queued(1) == 0);
    print(context(30), "other");
    uint64_t second = queued(1);
    cr_assert(queued(0) == first && second != 0);
    print(context(40), "nobody knows");
    print(NULL, "nobody knows");
    cr_assert(queued(0) == first && queued(1) == second, "it may be either's");
    output_context_remove(&output, &contexts[0]);
    print(context(10), "it has ended");
    cr_assert(queued(0) == first && queued(1) == second);
    output_detach(&output, &conns[1]->app->output);
    print(NULL, "the only one's");
    cr_assert(queued(0) > first && queued(1) == second);
}

/* The log's line of a text that the driver writes to stderr. */
static const char *logged(CUcontext of, const char *text)
{
    static char lines[4096];
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    cr_assert_eq(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    writes_for = of;
    cr_assert(fputs(text, stderr) >= 0);
    writes_for = NULL;
    ssize_t got = read(ends[0], lines, sizeof lines - 1);
    lines[got > 0 ? got : 0] = 0;
    return lines;
}

Test(kernel_output, the_log_names_the_client_whose_kernels_print_to_stderr)
{
    struct output_context contexts[2];
    start(tell);
    for (unsigned i = 0; i < 2; i++) {
        cr_assert_eq(output_attach(&output, &conns[i]->app->output), GA_OK);
        output_context_add(&output, &conns[i]->app->output, &contexts[i], context(10 + i));
    }
    ga_log_set_thread_client(hosts[1].client); /* this thread serves the second one */
    cr_assert_not_null(strstr(logged(context(10), "a"), " warn: 192.0.2.7:1: on stderr: a\n"));
    cr_assert_not_null(strstr(logged(context(11), "b"), " warn: 192.0.2.8:2: on stderr: b\n"));
    cr_assert_not_null(strstr(logged(NULL, "c"), " warn: on stderr: c\n"), "it may be either's");
}

Test(kernel_output, a_driver_that_does_not_tell_has_one_application)
{
    start(NULL);
    cr_assert_eq(output_attach(&output, &conns[0]->app->output), GA_OK);
    cr_assert_eq(output_attach(&output, &conns[1]->app->output), GA_DENIED);
    output_detach(&output, &conns[1]->app->output);
    print(NULL, "one");
    cr_assert(queued(0) != 0, "it was not the other's to give up");
    output_detach(&output, &conns[0]->app->output);
    cr_assert_eq(output_attach(&output, &conns[1]->app->output), GA_OK);
}

Test(kernel_output, where_nothing_is_redirected_anyone_may)
{
    start(NULL);
    cr_assert_eq(output_attach(NULL, &conns[0]->app->output), GA_OK);
    cr_assert_eq(output_attach(NULL, &conns[1]->app->output), GA_OK);
    output_detach(NULL, &conns[0]->app->output);
}
