/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that are cancelled inside a call. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "guest.h"

/* A thread that is cancelled inside a call must not leave locks behind. */
int cancel_in_threads(void)
{
    load();
    begin();
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        void *result;
        start(&thread, 0, copy_for_ever);
        usleep(2000);
        pthread_cancel(thread);
        if (pthread_join(thread, &result) != 0 || result != PTHREAD_CANCELED) {
            fail("the thread ended by itself");
        }
        copies(1);
    }
    return 0;
}

/* Calls a function of the driver API by its name. */
#define DRIVER(name, types, ...) check(((int(*) types)symbol(#name))(__VA_ARGS__), #name)

static const char image[] = ".version 8.0\n.target sm_70\n.address_size 64\n"
                            ".visible .entry nothing()\n{\n    ret;\n}\n";

static void called_back(void *called)
{
    *(volatile int *)called = 1;
}

static void launches(void *stream, void *event)
{
    void *module, *function;
    volatile int called = 0;
    DRIVER(cuModuleLoadData, (void **, const void *), &module, image);
    DRIVER(cuModuleGetFunction, (void **, void *, const char *), &function, module, "nothing");
    DRIVER(cuLaunchKernel,
           (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
            void **, void **),
           function, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL);
    DRIVER(cuLaunchHostFunc, (void *, void (*)(void *), void *), stream, called_back,
           (void *)(unsigned long)&called);
    DRIVER(cuEventRecord, (void *, void *), event, stream);
    DRIVER(cuEventSynchronize, (void *), event);
    DRIVER(cuEventQuery, (void *), event);
    DRIVER(cuStreamSynchronize, (void *), stream);
    DRIVER(cuStreamQuery, (void *), stream);
    DRIVER(cuCtxSynchronize, (void));
    DRIVER(cuModuleUnload, (void *), module);
    if (called != 1) {
        fail("the host function was not called");
    }
}

/* Each size takes another way to the device. */
static void copies_of(size_t bytes, void *stream)
{
    unsigned long long memory;
    void *pinned, *pageable = calloc(1, bytes);
    CHECK(cuda.alloc(&memory, bytes));
    DRIVER(cuMemHostAlloc, (void **, size_t, unsigned), &pinned, bytes, 0);
    for (int i = 0; i < 4; i++) {
        void *host = i % 2 == 0 ? pageable : pinned;
        CHECK(cuda.in(memory, host, bytes));
        CHECK(cuda.out(host, memory, bytes));
        DRIVER(cuMemcpyHtoDAsync_v2, (unsigned long long, const void *, size_t, void *), memory,
               host, bytes, stream);
        DRIVER(cuMemcpyDtoHAsync_v2, (void *, unsigned long long, size_t, void *), host, memory,
               bytes, stream);
        DRIVER(cuMemsetD8Async, (unsigned long long, unsigned char, size_t, void *), memory, 1,
               bytes, stream);
        DRIVER(cuStreamSynchronize, (void *), stream);
    }
    CHECK(cuda.free(memory));
    DRIVER(cuMemFreeHost, (void *), pinned);
    DRIVER(cuMemHostRegister_v2, (void *, size_t, unsigned), pageable, bytes, 0);
    DRIVER(cuMemHostUnregister, (void *), pageable);
    free(pageable);
}

static void *pending_in(void *reached)
{
    void *stream, *event, *context;
    size_t left, all;
    int device = 0;
    pthread_cancel(pthread_self()); /* it takes effect at the first cancellation point */
    begin();
    DRIVER(cuMemGetInfo_v2, (size_t *, size_t *), &left, &all);
    DRIVER(cuStreamCreate, (void **, unsigned), &stream, 1);
    DRIVER(cuEventCreate, (void **, unsigned), &event, 0);
    launches(stream, event);
    copies_of(64, stream);
    copies_of(1 << 16, stream);
    copies_of(8 << 20, stream);
    DRIVER(cuEventDestroy_v2, (void *), event);
    DRIVER(cuStreamDestroy_v2, (void *), stream);
    DRIVER(cuCtxCreate_v2, (void **, unsigned, int), &context, 0, device);
    DRIVER(cuCtxDestroy_v2, (void *), context);
    CHECK(cuda.release(0));
    *(volatile int *)reached = 1;
    pthread_testcancel();
    return NULL;
}

/* semantics S124: else a thread would end inside a call, and with locks. */
int cancel_pending(void)
{
    volatile int reached = 0;
    pthread_t thread;
    void *result;
    load();
    if (pthread_create(&thread, NULL, pending_in, (void *)(unsigned long)&reached) != 0 ||
        pthread_join(thread, &result) != 0 || result != PTHREAD_CANCELED || reached != 1) {
        fail("a thread was cancelled inside a call");
    }
    return session(); /* no lock is held */
}
