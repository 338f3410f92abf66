/* SPDX-License-Identifier: Apache-2.0 */
/* The order of streams: which items wait for which, and that all of them end. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "softgpu/lifetime/context_lifetime.h"
#include "softgpu/lifetime/init.h"
#include "softgpu/process/process.h"
#include "softgpu/stream/events.h"
#include "softgpu/stream/queue.h"
#include "softgpu/stream/streams.h"
#include "softgpu/stream/waits.h"

/* An item that waits until it is released, and records when it ran. */
struct probe {
    struct sg_item item; /* first */
    _Atomic int *gate;   /* NULL: open */
    _Atomic int *ran;    /* becomes the next number of `ticks` */
    CUresult result;
};

static _Atomic int ticks;
static struct sg_context *context;

static CUresult probe_run(struct sg_item *item)
{
    struct probe *probe = ga_container(item, struct probe, item);
    while (probe->gate != NULL && atomic_load(probe->gate) == 0) {
        struct timespec pause = {.tv_nsec = 100000};
        nanosleep(&pause, NULL);
    }
    atomic_store(probe->ran, atomic_fetch_add(&ticks, 1) + 1);
    return probe->result;
}

static struct probe *probe_make(_Atomic int *gate, _Atomic int *ran)
{
    struct probe *probe = sg_item_make(sizeof *probe, GPU_COMPUTE, probe_run);
    cr_assert_not_null(probe);
    probe->gate = gate;
    probe->ran = ran;
    return probe;
}

static void submit(struct sg_stream *stream, _Atomic int *gate, _Atomic int *ran)
{
    sg_submit(stream, &probe_make(gate, ran)->item);
}

static void setup(void)
{
    cr_assert_eq(sg_process_init_with("name=A,memory=64MiB;name=B,memory=64MiB"), CUDA_SUCCESS);
    sg_lock();
    cr_assert_eq(sg_context_make(sg_device_at(0), 0, false, &context), CUDA_SUCCESS);
}

static struct sg_stream *stream_make(unsigned flags)
{
    struct sg_stream *stream = NULL;
    cr_assert_eq(sg_stream_make(context, flags, 0, &stream), CUDA_SUCCESS);
    return stream;
}

Test(queue, a_stream_keeps_its_order, .init = setup)
{
    struct sg_stream *stream = stream_make(0);
    _Atomic int ran[100] = {0};
    for (int i = 0; i < 100; i++) {
        submit(stream, NULL, &ran[i]);
    }
    cr_assert_eq(sg_stream_wait(stream), CUDA_SUCCESS);
    for (int i = 0; i < 100; i++) {
        cr_assert_eq(ran[i], i + 1);
    }
}

Test(queue, the_legacy_stream_waits_for_blocking_ones_and_they_for_it, .init = setup)
{
    struct sg_stream *blocking = stream_make(0), *free_one = stream_make(CU_STREAM_NON_BLOCKING);
    _Atomic int gate = 0, ran[4] = {0};
    submit(blocking, &gate, &ran[0]);
    submit(context->legacy, NULL, &ran[1]);
    submit(blocking, NULL, &ran[2]);
    submit(free_one, NULL, &ran[3]);
    cr_assert_eq(sg_stream_wait(free_one), CUDA_SUCCESS);
    cr_assert_eq(ran[3], 1, "a non-blocking stream waits for nobody");
    cr_assert_not(sg_stream_passed(context->legacy, sg_process.sequence));
    atomic_store(&gate, 1);
    cr_assert_eq(sg_stream_wait(context->legacy), CUDA_SUCCESS);
    cr_assert_eq(ran[1], 3);
    cr_assert_eq(sg_context_wait(context), CUDA_SUCCESS);
    cr_assert_eq(ran[0], 2);
    cr_assert_eq(ran[2], 4);
}

Test(queue, waiting_for_the_empty_legacy_stream_waits_for_blocking_ones, .init = setup)
{
    struct sg_stream *blocking = stream_make(0);
    _Atomic int ran = 0;
    submit(blocking, NULL, &ran);
    cr_assert_eq(sg_stream_wait(context->legacy), CUDA_SUCCESS);
    cr_assert_eq(ran, 1);
}

Test(queue, a_mark_orders_streams_of_two_contexts, .init = setup)
{
    struct sg_context *other = NULL;
    cr_assert_eq(sg_context_make(sg_device_at(1), 0, false, &other), CUDA_SUCCESS);
    struct sg_stream *first = stream_make(CU_STREAM_NON_BLOCKING), *second = NULL;
    cr_assert_eq(sg_stream_make(other, CU_STREAM_NON_BLOCKING, 0, &second), CUDA_SUCCESS);
    struct sg_mark *mark = sg_mark_make();
    _Atomic int gate = 0, ran[2] = {0};
    submit(first, &gate, &ran[0]);
    cr_assert_eq(sg_submit_record(first, mark), CUDA_SUCCESS);
    cr_assert_eq(sg_submit_wait_mark(second, mark), CUDA_SUCCESS);
    submit(second, NULL, &ran[1]);
    cr_assert_not(mark->done);
    atomic_store(&gate, 1);
    cr_assert_eq(sg_mark_wait(mark), CUDA_SUCCESS);
    cr_assert_eq(sg_stream_wait(second), CUDA_SUCCESS);
    cr_assert_eq(ran[0], 1);
    cr_assert_eq(ran[1], 2);
    cr_assert_gt(mark->time_ns, 0);
    sg_mark_drop(mark);
}

Test(queue, kernels_of_two_streams_run_side_by_side, .init = setup)
{
    struct sg_stream *first = stream_make(0), *second = stream_make(0);
    _Atomic int gate = 0, ran[2] = {0};
    submit(first, &gate, &ran[0]);
    submit(second, NULL, &ran[1]);
    cr_assert_eq(sg_stream_wait(second), CUDA_SUCCESS);
    cr_assert_eq(ran[1], 1);
    atomic_store(&gate, 1);
    cr_assert_eq(sg_stream_wait(first), CUDA_SUCCESS);
}

Test(queue, a_destroyed_stream_finishes_its_work, .init = setup)
{
    struct sg_stream *stream = stream_make(0);
    _Atomic int gate = 0, ran[2] = {0};
    submit(stream, &gate, &ran[0]);
    submit(stream, NULL, &ran[1]);
    sg_stream_destroy(stream);
    atomic_store(&gate, 1);
    cr_assert_eq(sg_context_wait(context), CUDA_SUCCESS);
    cr_assert_eq(ran[1], 2);
}

Test(queue, a_fault_condemns_the_process, .init = setup)
{
    struct sg_stream *stream = stream_make(0);
    _Atomic int gate = 0, ran[3] = {0};
    struct probe *bad = probe_make(&gate, &ran[0]);
    bad->result = CUDA_ERROR_ILLEGAL_ADDRESS;
    sg_submit(stream, &bad->item);
    submit(stream, NULL, &ran[1]);
    struct sg_mark *mark = sg_mark_make();
    cr_assert_eq(sg_submit_record(stream, mark), CUDA_SUCCESS);
    atomic_store(&gate, 1);
    cr_assert_eq(sg_stream_wait(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
    cr_assert_eq(ran[1], 0, "work behind a fault must not run");
    cr_assert_eq(sg_process_state(), CUDA_ERROR_ILLEGAL_ADDRESS);
    cr_assert_eq(sg_mark_wait(mark), CUDA_ERROR_ILLEGAL_ADDRESS);
    cr_assert_eq(sg_submit_wait(stream, &probe_make(NULL, &ran[2])->item),
                 CUDA_ERROR_ILLEGAL_ADDRESS);
    cr_assert_eq(ran[2], 0);
    sg_context_destroy(context);
    sg_mark_drop(mark);
}

Test(queue, a_waiting_submission_runs_at_once, .init = setup)
{
    struct sg_stream *stream = stream_make(0);
    _Atomic int ran[2] = {0};
    submit(stream, NULL, &ran[0]);
    cr_assert_eq(sg_submit_wait(stream, &probe_make(NULL, &ran[1])->item), CUDA_SUCCESS);
    cr_assert_eq(ran[0], 1);
    cr_assert_eq(ran[1], 2);
}

#define CHAINS 8
#define LINKS  400

struct chain {
    struct sg_stream *streams[4];
    _Atomic int ran[LINKS];
    unsigned seed;
};

/* Every link goes to a random stream of its own and waits for the link before through a mark. */
static void *chain_main(void *argument)
{
    struct chain *chain = argument;
    struct sg_mark *before = NULL;
    for (int i = 0; i < LINKS; i++) {
        sg_lock();
        struct sg_stream *stream = chain->streams[rand_r(&chain->seed) % 4];
        if (before != NULL) {
            cr_assert_eq(sg_submit_wait_mark(stream, before), CUDA_SUCCESS);
            sg_mark_drop(before);
        }
        submit(stream, NULL, &chain->ran[i]);
        before = sg_mark_make();
        cr_assert_eq(sg_submit_record(stream, before), CUDA_SUCCESS);
        if (rand_r(&chain->seed) % 16 == 0) {
            cr_assert_eq(sg_mark_wait(before), CUDA_SUCCESS);
            cr_assert_neq(chain->ran[i], 0);
        }
        if (rand_r(&chain->seed) % 32 == 0) {
            _Atomic int ran = 0;
            submit(context->legacy, NULL, &ran);
            cr_assert_eq(sg_stream_wait(context->legacy), CUDA_SUCCESS);
        }
        sg_unlock();
    }
    sg_lock();
    cr_assert_eq(sg_mark_wait(before), CUDA_SUCCESS);
    sg_mark_drop(before);
    sg_unlock();
    return NULL;
}

Test(queue, chains_of_many_threads_keep_their_order, .init = setup)
{
    static struct chain chains[CHAINS];
    pthread_t threads[CHAINS];
    for (unsigned i = 0; i < CHAINS; i++) {
        chains[i].seed = i + 1;
        for (unsigned k = 0; k < 4; k++) {
            chains[i].streams[k] = stream_make(k % 2 == 0 ? 0 : CU_STREAM_NON_BLOCKING);
        }
    }
    sg_unlock();
    for (unsigned i = 0; i < CHAINS; i++) {
        pthread_create(&threads[i], NULL, chain_main, &chains[i]);
    }
    for (unsigned i = 0; i < CHAINS; i++) {
        pthread_join(threads[i], NULL);
        for (int k = 1; k < LINKS; k++) {
            cr_assert_lt(chains[i].ran[k - 1], chains[i].ran[k]);
        }
    }
    sg_lock();
    sg_context_destroy(context);
    cr_assert(ga_list_empty(&sg_process.active));
    cr_assert_eq(sg_process.streams.live, 0);
}

/* ---- what waits has a bound in bytes */

static struct sg_stream *filled;
static _Atomic int filled_ran[3], filled_gate, submitted;

static void *fill_stream(void *unused)
{
    sg_lock();
    for (int i = 0; i < 3; i++) {
        struct probe *probe = probe_make(&filled_gate, &filled_ran[i]);
        probe->item.bytes = (size_t)300 << 20; /* as if it held so much */
        sg_submit(filled, &probe->item);
        atomic_fetch_add(&submitted, 1);
    }
    sg_unlock();
    return unused;
}

Test(queue, who_submits_waits_while_too_many_bytes_wait, .init = setup, .timeout = 60)
{
    const struct timespec moment = {.tv_nsec = 200000000};
    pthread_t thread;
    filled = stream_make(CU_STREAM_NON_BLOCKING);
    sg_unlock();
    cr_assert_eq(pthread_create(&thread, NULL, fill_stream, NULL), 0);
    while (atomic_load(&submitted) < 2) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    (void)nanosleep(&moment, NULL);
    cr_assert_eq(atomic_load(&submitted), 2, "the third one waits");
    atomic_store(&filled_gate, 1);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    sg_lock();
    cr_assert_eq(sg_stream_wait(filled), CUDA_SUCCESS);
    cr_assert_eq(atomic_load(&filled_ran[2]), 3);
}
