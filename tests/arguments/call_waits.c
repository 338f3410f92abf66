/* SPDX-License-Identifier: Apache-2.0 */
/* call_waits LIBRARY [CALL...]: each call of the table twice, with right arguments, while a host
 * function holds a stream with work behind it. One line each time on stdout,
 *
 *     NAME waited|returned
 *
 * which says whether the call has returned only after the held work was let go. Each CALL that is
 * named is expected to wait: the work is let go a moment after it has begun. For every other one
 * the work is let go when it has returned, or after PATIENCE_S, which is then its mistake. On
 * stderr, amid what GPUAAS_TRACE=calls says there, stand "begin NAME" and "end NAME". */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/arguments/good.h"
#include "tests/arguments/table.h"

enum { MOMENT_MS = 100, PATIENCE_S = 20 };

static atomic_bool let_go, returned;

static void sleep_ms(unsigned ms)
{
    usleep(ms * 1000);
}

static void hold(void *data)
{
    (void)data;
    while (!atomic_load(&let_go)) {
        sleep_ms(1);
    }
}

static void *let_go_later(void *expected)
{
    unsigned most = expected != NULL ? MOMENT_MS : PATIENCE_S * 1000;
    for (unsigned ms = 0; ms < most && !atomic_load(&returned); ms++) {
        sleep_ms(1);
    }
    atomic_store(&let_go, true);
    return NULL;
}

/* The stream is a blocking one, so the legacy stream waits for it too. */
static void begin_work(void)
{
    CUstream stream = (CUstream)good_stream();
    atomic_store(&let_go, false);
    atomic_store(&returned, false);
    MUST(driver.cuLaunchHostFunc(stream, hold, NULL));
    MUST(driver.cuMemsetD8Async(good_block(), 0, 64, stream));
    MUST(driver.cuEventRecord((CUevent)good_event(), stream));
}

static void run(const struct call *call, bool expected)
{
    uint64_t values[ARGUMENTS_MAX];
    pthread_t thread;

    table_fill(call, values);
    /* not the context: one of the arguments may be a stream that captures */
    MUST(driver.cuStreamSynchronize((CUstream)good_stream()));
    MUST(driver.cuStreamSynchronize(NULL));
    begin_work();
    MUST(pthread_create(&thread, NULL, let_go_later, expected ? (void *)call : NULL));
    fprintf(stderr, "begin %s\n", call->name);
    (void)call->run(values); /* what it answers is wrong_arguments' business */
    bool waited = atomic_load(&let_go);
    fprintf(stderr, "end %s\n", call->name);
    atomic_store(&returned, true);
    pthread_join(thread, NULL);
    printf("%s %s\n", call->name, waited ? "waited" : "returned");
    fflush(stdout);
    table_context();
    good_capture_end();
    MUST(driver.cuCtxSynchronize());
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: call_waits LIBRARY [CALL...]\n");
        return 2;
    }
    table_open(argv[1]);
    MUST(driver.cuInit(0));
    good_make(argv[0]);
    for (unsigned i = 0; i < call_count; i++) {
        bool expected = false;
        for (int k = 2; k < argc; k++) {
            expected = expected || strcmp(argv[k], calls[i].name) == 0;
        }
        if (calls[i].remote) {
            run(&calls[i], expected);
            run(&calls[i], expected);
        }
    }
    good_program();
    good_end();
    return 0;
}
