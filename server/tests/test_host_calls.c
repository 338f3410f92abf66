/* SPDX-License-Identifier: Apache-2.0 */
/* Leases of the words that streams wait for: bounded memory, numbers that only grow, and nothing
 * that a client says is believed. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>

#include "server/pipeline/host_calls.h"
#include "server/tests/fake_context.h"
#include "server/tests/fake_ledger.h"

static unsigned pinned;

static CUresult fake_alloc(void **memory, size_t bytes, unsigned flags)
{
    (void)flags;
    pinned++;
    *memory = aligned_alloc(4096, bytes);
    return CUDA_SUCCESS;
}

static const struct cuda_driver driver = {FAKE_CONTEXT, .cuMemHostAlloc = fake_alloc,
                                          .cuMemHostGetDevicePointer_v2 = fake_pointer};
static struct host_calls host;

static void start(void)
{
    host_calls_init(&host, &driver, &fake_ledger);
}

static void stop(void)
{
    for (unsigned i = 0; i < host.block_count; i++) {
        free(host.blocks[i]->words);
        free(host.blocks[i]);
    }
}

TestSuite(host_calls, .init = start, .fini = stop, .timeout = 60);

static bool holds(const struct host_wait *wait)
{
    uint32_t now = *(const uint32_t *)(uintptr_t)wait->address;
    return (int32_t)(now - wait->number) >= 0;
}

static struct host_wait lease(uint64_t sequence)
{
    struct host_wait wait;
    cr_assert_eq(host_lease_try(&host, 0, sequence, &wait), CUDA_SUCCESS);
    cr_assert(!holds(&wait), "a new wait holds its stream");
    return wait;
}

Test(host_calls, many_one_after_the_other_use_one_block)
{
    for (uint64_t i = 1; i <= 100000; i++) {
        struct host_wait wait = lease(i);
        host_lease_called(&host, wait.id);
        cr_assert_eq(host_lease_done(&host, wait.id, i), GA_OK);
        cr_assert(holds(&wait));
    }
    cr_assert_eq(pinned, 1);
}

/* A word is leased again before the driver has looked: the old wait is over all the same. */
Test(host_calls, an_old_wait_stays_over)
{
    struct host_wait first = lease(1);
    host_lease_called(&host, first.id);
    cr_assert_eq(host_lease_done(&host, first.id, 1), GA_OK);
    struct host_wait second = lease(2);
    cr_assert_eq(second.address, first.address);
    cr_assert(holds(&first));
}

Test(host_calls, what_was_not_called_is_not_done)
{
    struct host_wait wait = lease(7);
    cr_assert_eq(host_lease_done(&host, wait.id, 7), GA_INVALID, "it was not called yet");
    host_lease_called(&host, wait.id);
    cr_assert_eq(host_lease_done(&host, wait.id, 8), GA_INVALID, "another call's number");
    cr_assert_eq(host_lease_done(&host, wait.id + 1, 7), GA_INVALID, "a free one");
    cr_assert_eq(host_lease_done(&host, HOST_BLOCK, 7), GA_INVALID, "there is no such block");
    cr_assert_eq(host_lease_done(&host, UINT32_MAX, 7), GA_INVALID);
    cr_assert(!holds(&wait));
    cr_assert_eq(host_lease_done(&host, wait.id, 7), GA_OK);
    cr_assert_eq(host_lease_done(&host, wait.id, 7), GA_INVALID, "twice");
}

static void *give_one_back(void *wait)
{
    const struct host_wait *given = wait;
    cr_assert_eq(host_lease_done(&host, given->id, 5), GA_OK);
    return NULL;
}

Test(host_calls, memory_is_bounded_and_who_finds_none_waits)
{
    const uint32_t most = HOST_BLOCK * HOST_BLOCKS_MAX;
    struct host_wait wait = {0}, more;
    for (uint32_t i = 0; i < most; i++) {
        wait = lease(5);
    }
    cr_assert_eq(pinned, HOST_BLOCKS_MAX);
    cr_assert_eq(host_lease_try(&host, 0, 6, &more), CUDA_ERROR_NOT_READY);
    host_lease_called(&host, wait.id);
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, give_one_back, &wait), 0);
    host_lease_wait(&host);
    cr_assert_eq(host_lease_try(&host, 0, 6, &more), CUDA_SUCCESS);
    cr_assert_eq(more.id, wait.id);
    pthread_join(thread, NULL);
}

Test(host_calls, the_end_lets_all_streams_go)
{
    struct host_wait waits[3000];
    for (unsigned i = 0; i < 3000; i++) {
        waits[i] = lease(i);
        if (i % 2) {
            host_lease_called(&host, waits[i].id);
        }
    }
    host_calls_end(&host);
    for (unsigned i = 0; i < 3000; i++) {
        cr_assert(holds(&waits[i]));
    }
    host_lease_wait(&host); /* never again for long */
}
