/* SPDX-License-Identifier: Apache-2.0 */
/* Every criterion test is a process of its own: nothing is initialised at the start of each. */
#include <criterion/criterion.h>
#include <pthread.h>

#include "front/tests/fake_host.h"

static CUcontext current(void)
{
    CUcontext context = FAKE_NONSENSE;
    cr_assert_eq(cuCtxGetCurrent(&context), CUDA_SUCCESS);
    return context;
}

Test(thread, nothing_works_before_init)
{
    CUcontext context;
    CUdevice device;
    cr_assert_eq(cuCtxGetCurrent(&context), CUDA_ERROR_NOT_INITIALIZED);
    cr_assert_eq(cuCtxSetCurrent(FAKE_EXPLICIT), CUDA_ERROR_NOT_INITIALIZED);
    cr_assert_eq(cuCtxPushCurrent_v2(FAKE_EXPLICIT), CUDA_ERROR_NOT_INITIALIZED);
    cr_assert_eq(cuCtxPopCurrent_v2(&context), CUDA_ERROR_NOT_INITIALIZED);
    cr_assert_eq(cuCtxGetDevice(&device), CUDA_ERROR_NOT_INITIALIZED);
    cr_assert_eq(front_ready(), CUDA_ERROR_NOT_INITIALIZED);
}

Test(thread, init_asks_the_host_until_it_succeeds)
{
    fake_init_failures = 2;
    cr_assert_eq(cuInit(1), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuInit(0), CUDA_ERROR_NO_DEVICE);
    cr_assert_eq(cuInit(0), CUDA_ERROR_NO_DEVICE);
    cr_assert_eq(cuInit(0), CUDA_SUCCESS);
    cr_assert_eq(cuInit(0), CUDA_SUCCESS);
    cr_assert_eq(fake_init_calls, 3);
}

Test(thread, stack)
{
    CUcontext popped = NULL;
    cr_assert_eq(cuInit(0), CUDA_SUCCESS);
    cr_assert_null(current());
    cr_assert_eq(cuCtxPopCurrent_v2(&popped), CUDA_ERROR_INVALID_CONTEXT);
    cr_assert_eq(cuCtxSetCurrent(NULL), CUDA_SUCCESS);
    cr_assert_eq(cuCtxSetCurrent(FAKE_PRIMARY(0)), CUDA_SUCCESS);
    cr_assert_eq(current(), FAKE_PRIMARY(0));
    cr_assert_eq(cuCtxPushCurrent_v2(FAKE_EXPLICIT), CUDA_SUCCESS);
    cr_assert_eq(cuCtxSetCurrent(FAKE_OTHER), CUDA_SUCCESS, "replaces the top");
    cr_assert_eq(cuCtxPopCurrent_v2(&popped), CUDA_SUCCESS);
    cr_assert_eq(popped, FAKE_OTHER);
    cr_assert_eq(current(), FAKE_PRIMARY(0));
    cr_assert_eq(cuCtxSetCurrent(NULL), CUDA_SUCCESS);
    cr_assert_null(current());
}

Test(thread, what_is_no_context_is_refused)
{
    cr_assert_eq(cuInit(0), CUDA_SUCCESS);
    cr_assert_eq(cuCtxSetCurrent(FAKE_NONSENSE), CUDA_ERROR_INVALID_CONTEXT);
    cr_assert_eq(cuCtxSetCurrent(FAKE_DEAD), CUDA_ERROR_INVALID_CONTEXT);
    cr_assert_eq(cuCtxPushCurrent_v2(NULL), CUDA_ERROR_INVALID_CONTEXT);
    cr_assert_eq(cuCtxPushCurrent_v2(FAKE_NONSENSE), CUDA_ERROR_INVALID_CONTEXT);
    cr_assert_null(current());
}

Test(thread, deep_stack)
{
    CUcontext popped;
    cr_assert_eq(cuInit(0), CUDA_SUCCESS);
    for (int i = 0; i < 100; i++) {
        cr_assert_eq(cuCtxPushCurrent_v2(i % 3 == 0 ? FAKE_OTHER : FAKE_EXPLICIT), CUDA_SUCCESS);
    }
    for (int i = 99; i >= 0; i--) {
        cr_assert_eq(cuCtxPopCurrent_v2(&popped), CUDA_SUCCESS);
        cr_assert_eq(popped, i % 3 == 0 ? FAKE_OTHER : FAKE_EXPLICIT);
    }
    cr_assert_null(current());
}

static void *other_thread(void *result)
{
    for (int i = 0; i < 50; i++) {
        cuCtxPushCurrent_v2(FAKE_OTHER);
    }
    *(CUcontext *)result = front_context_current();
    return NULL;
}

Test(thread, each_thread_has_its_own)
{
    pthread_t thread;
    CUcontext there = NULL;
    cr_assert_eq(cuInit(0), CUDA_SUCCESS);
    cr_assert_eq(cuCtxSetCurrent(FAKE_EXPLICIT), CUDA_SUCCESS);
    cr_assert_eq(pthread_create(&thread, NULL, other_thread, &there), 0);
    pthread_join(thread, NULL);
    cr_assert_eq(there, FAKE_OTHER);
    cr_assert_eq(current(), FAKE_EXPLICIT);
}

Test(thread, a_destroyed_context_is_popped_here)
{
    cr_assert_eq(cuInit(0), CUDA_SUCCESS);
    cr_assert_eq(cuCtxSetCurrent(FAKE_PRIMARY(0)), CUDA_SUCCESS);
    cr_assert_eq(cuCtxPushCurrent_v2(FAKE_EXPLICIT), CUDA_SUCCESS);
    front_context_gone(FAKE_OTHER);
    cr_assert_eq(current(), FAKE_EXPLICIT);
    front_context_gone(FAKE_EXPLICIT);
    cr_assert_eq(current(), FAKE_PRIMARY(0));
}

Test(thread, questions_about_a_context)
{
    CUdevice device = -1;
    unsigned long long id = 0;
    unsigned int version = 0;
    cr_assert_eq(cuInit(0), CUDA_SUCCESS);
    cr_assert_eq(cuCtxGetDevice_v2(&device, NULL), CUDA_ERROR_INVALID_CONTEXT);
    cr_assert_eq(cuCtxSetCurrent(FAKE_EXPLICIT), CUDA_SUCCESS);
    cr_assert_eq(cuCtxGetDevice_v2(&device, NULL), CUDA_SUCCESS, "NULL is the current context");
    cr_assert_eq(device, 1);
    cr_assert_eq(cuCtxGetDevice_v2(&device, FAKE_PRIMARY(0)), CUDA_SUCCESS);
    cr_assert_eq(device, 0);
    cr_assert_eq(cuCtxGetDevice_v2(&device, FAKE_NONSENSE), CUDA_ERROR_INVALID_CONTEXT);
    cr_assert_eq(cuCtxGetDevice(&device), CUDA_SUCCESS);
    cr_assert_eq(device, 1);
    cr_assert_eq(cuCtxGetId(NULL, &id), CUDA_SUCCESS);
    cr_assert_eq(id, 0x20000 / 16 * 10);
    cr_assert_eq(cuCtxGetApiVersion(FAKE_OTHER, &version), CUDA_SUCCESS);
    cr_assert_eq(version, 3020);
    cr_assert_eq(cuCtxGetId(NULL, NULL), CUDA_ERROR_INVALID_VALUE);
}
