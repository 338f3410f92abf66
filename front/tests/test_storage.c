/* SPDX-License-Identifier: Apache-2.0 */
/* Context-local storage: values under keys of a context. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "front/core/storage.h"

#define CONTEXT(n) ((CUcontext)(uintptr_t)(0x100 + (n)))
#define KEY(n)     ((void *)(uintptr_t)(0x10000 + 16 * (n)))

static _Atomic int destroyed;
static void *last_value;

static void destroy(CUcontext context, void *key, void *value)
{
    (void)context;
    void *there;
    /* The value is removed before its destructor runs, which may use the storage. */
    cr_assert_eq(front_storage_get(context, key, &there), CUDA_ERROR_INVALID_HANDLE);
    last_value = value;
    destroyed++;
}

Test(storage, put_get_remove)
{
    int a, b;
    void *value = &b;
    cr_assert_eq(front_storage_get(CONTEXT(0), KEY(0), &value), CUDA_ERROR_INVALID_HANDLE);
    cr_assert_eq(value, &b);
    cr_assert_eq(front_storage_put(CONTEXT(0), KEY(0), &a, destroy), CUDA_SUCCESS);
    cr_assert_eq(front_storage_get(CONTEXT(0), KEY(0), &value), CUDA_SUCCESS);
    cr_assert_eq(value, &a);
    cr_assert_eq(front_storage_get(CONTEXT(1), KEY(0), &value), CUDA_ERROR_INVALID_HANDLE);
    cr_assert_eq(front_storage_get(CONTEXT(0), KEY(1), &value), CUDA_ERROR_INVALID_HANDLE);
    cr_assert_eq(front_storage_put(CONTEXT(0), KEY(0), &b, destroy), CUDA_SUCCESS);
    cr_assert_eq(front_storage_get(CONTEXT(0), KEY(0), &value), CUDA_SUCCESS);
    cr_assert_eq(value, &b, "a new value is seen at once");
    cr_assert_eq(front_storage_remove(CONTEXT(0), KEY(0)), CUDA_SUCCESS);
    cr_assert_eq(front_storage_remove(CONTEXT(0), KEY(0)), CUDA_ERROR_INVALID_HANDLE);
    cr_assert_eq(front_storage_get(CONTEXT(0), KEY(0), &value), CUDA_ERROR_INVALID_HANDLE);
    cr_assert_eq(destroyed, 0, "removing does not destroy");
}

Test(storage, a_dead_context_takes_its_values_along)
{
    void *value;
    for (int i = 0; i < 40; i++) {
        cr_assert_eq(front_storage_put(CONTEXT(i % 2), KEY(i), KEY(i), i < 38 ? destroy : NULL),
                     CUDA_SUCCESS);
    }
    front_storage_drop(CONTEXT(0));
    cr_assert_eq(destroyed, 19);
    for (int i = 0; i < 40; i++) {
        CUresult want = i % 2 == 0 ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
        cr_assert_eq(front_storage_get(CONTEXT(i % 2), KEY(i), &value), want);
    }
    front_storage_drop(CONTEXT(1));
    cr_assert_eq(destroyed, 38);
    cr_assert_not_null(last_value);
}

static void *hammer(void *number)
{
    uintptr_t me = (uintptr_t)number;
    uintptr_t wrong = 0;
    for (int round = 0; round < 2000; round++) {
        void *value = NULL;
        front_storage_put(CONTEXT(me), KEY(me), (void *)(me + 1), NULL);
        for (int i = 0; i < 5; i++) {
            CUresult rc = front_storage_get(CONTEXT(me), KEY(me), &value);
            wrong += rc != CUDA_SUCCESS || value != (void *)(me + 1);
        }
        front_storage_drop(CONTEXT(me));
        wrong += front_storage_get(CONTEXT(me), KEY(me), &value) == CUDA_SUCCESS;
    }
    return (void *)wrong;
}

Test(storage, threads)
{
    pthread_t threads[4];
    for (uintptr_t i = 0; i < 4; i++) {
        cr_assert_eq(pthread_create(&threads[i], NULL, hammer, (void *)i), 0);
    }
    for (int i = 0; i < 4; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        cr_assert_null(wrong);
    }
}
