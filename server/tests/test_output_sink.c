/* SPDX-License-Identifier: Apache-2.0 */
/* Whose is what drivers print: the application's whose context it is, where they tell. */
#include <criterion/criterion.h>
#include <unistd.h>

#include "server/pipeline/send_queue.h"
#include "server/session/conn.h"
#include "server/session/kernel_output.h"

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

static struct transport_conn nowhere;
static struct staging staging;

static void start(void *(*context_of)(void))
{
    cr_assert_eq(output_open(&output, false), GA_OK);
    output.context_of = context_of;
    for (unsigned i = 0; i < 2; i++) {
        conns[i] = calloc(1, sizeof *conns[i]);
        conns[i]->output = (struct kernel_output){.conn = conns[i], .taken = true};
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
    cr_assert_eq(output_attach(&output, &conns[0]->output), GA_OK);
    cr_assert_eq(output_attach(&output, &conns[1]->output), GA_OK);
    output_context_add(&output, &conns[0]->output, &contexts[0], context(10));
    output_context_add(&output, &conns[1]->output, &contexts[1], context(20));
    output_context_add(&output, &conns[1]->output, &contexts[2], context(30));
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
    output_detach(&output, &conns[1]->output);
    print(NULL, "the only one's");
    cr_assert(queued(0) > first && queued(1) == second);
}

Test(kernel_output, a_driver_that_does_not_tell_has_one_application)
{
    start(NULL);
    cr_assert_eq(output_attach(&output, &conns[0]->output), GA_OK);
    cr_assert_eq(output_attach(&output, &conns[1]->output), GA_DENIED);
    output_detach(&output, &conns[1]->output);
    print(NULL, "one");
    cr_assert(queued(0) != 0, "it was not the other's to give up");
    output_detach(&output, &conns[0]->output);
    cr_assert_eq(output_attach(&output, &conns[1]->output), GA_OK);
}

Test(kernel_output, where_nothing_is_redirected_anyone_may)
{
    start(NULL);
    cr_assert_eq(output_attach(NULL, &conns[0]->output), GA_OK);
    cr_assert_eq(output_attach(NULL, &conns[1]->output), GA_OK);
    output_detach(NULL, &conns[0]->output);
}
