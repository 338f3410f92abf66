/* SPDX-License-Identifier: Apache-2.0 */
/* The private tables, used as the runtime does when it starts. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "api/driver_open.h"
#include "base/log.h"
#include "front/tables/integrity.h"
#include "front/tests/fake_host.h"

static const void *const *table(const char *uuid_text)
{
    CUuuid uuid;
    size_t used = 0;
    for (const char *at = uuid_text; used < 16; at += 2) {
        at += *at == '-';
        unsigned byte;
        cr_assert_eq(sscanf(at, "%2x", &byte), 1);
        uuid.bytes[used++] = (char)byte;
    }
    const void *words = NULL;
    if (cuGetExportTable(&words, &uuid) != CUDA_SUCCESS) {
        cr_assert_null(words);
        return NULL;
    }
    return words;
}

#define INTERFACE "6BD5FB6C-5BF4-E74A-8987-D93912FD9DF9"
#define HOOKS     "A094798C-2E74-2E74-93F2-0800200C0A66"
#define TLS       "42D85A81-23F6-CB47-8298-F6E78A3AECDC"
#define STORAGE   "C693336E-1121-DF11-A8C3-68F355D89593"
#define CHECKS    "263E8860-7CD2-6143-92F6-BBD5006DFA7E"
#define INTEGRITY "D4082055-BDE6-704B-8D34-BA123C66E1F2"
#define CONTEXT   "21318C60-9714-3248-8CA6-41FF7324C8F2"
#define MODULE    "6E163FBE-B958-444D-835C-E182AFF1991E"

/* A slot as a function of that type. */
#define SLOT(type, words, n) ((type)(uintptr_t)(words)[n])

Test(tables, all_are_there_and_have_no_empty_slot)
{
    static const struct {
        const char *uuid;
        size_t words;
        bool has_size;
    } all[] = {{INTERFACE, 13, true}, {HOOKS, 7, true},  {TLS, 4, true},
               {STORAGE, 4, false},   {CHECKS, 4, true}, {INTEGRITY, 3, true},
               {CONTEXT, 95, true},   {MODULE, 95, true}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        const void *const *words = table(all[i].uuid);
        cr_assert_not_null(words, "%s", all[i].uuid);
        cr_assert_eq(words, table(all[i].uuid), "addresses are stable");
        for (size_t n = 0; n < all[i].words; n++) {
            cr_assert_not_null(words[n], "%s slot %zu", all[i].uuid, n);
        }
        if (all[i].has_size) {
            cr_assert_eq((uintptr_t)words[0], all[i].words * 8);
        }
    }
    cr_assert_null(table("F8CFF951-2146-8B4E-B9E2-FB469E7C0DD9"));
    cr_assert_null(table("00000000-0000-0000-0000-000000000000"));
    cr_assert_eq(SLOT(CUresult(*)(void), table(CONTEXT), 5)(), CUDA_ERROR_NOT_SUPPORTED);
}

/* The message on stderr when this table is asked for. */
static const char *said_of(const char *uuid)
{
    static char text[4096];
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    cr_assert_eq(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    cr_assert_eq(write(ends[1], ".", 1), 1); /* so that reading never waits */
    cr_assert_null(table(uuid));
    ssize_t got = read(ends[0], text, sizeof text - 1);
    text[got > 0 ? got : 0] = 0;
    close(ends[0]);
    close(ends[1]);
    return text;
}

/* Tables that every runtime can do without are not reported. */
Test(tables, who_asks_for_a_table_that_is_not_there_is_told)
{
    ga_log_set_level(GA_LOG_WARN);
    const char *said = said_of("01234567-89ab-cdef-FEDC-BA9876543210");
    cr_expect(strstr(said, "table 01234567-89AB-CDEF-FEDC-BA9876543210 is not") != NULL &&
                  strstr(said, "warn") != NULL,
              "%s", said);
    cr_expect_str_eq(said_of("F8CFF951-2146-8B4E-B9E2-FB469E7C0DD9"), ".");
    cr_expect_str_eq(said_of("DA9151D3-3AE6-CC41-A5C0-4F26D533E328"), ".");
}

Test(tables, this_library_does_not_forward)
{
    static const CUuuid uuid = {.bytes = CUDA_DRIVER_FORWARDS_UUID};
    const void *words = &uuid;
    cr_assert_neq(cuGetExportTable(&words, &uuid), CUDA_SUCCESS);
    cr_assert_null(words);
}

Test(tables, start_of_a_runtime)
{
    CUcontext primary = NULL, now = NULL;
    void *buffer = NULL;
    size_t count = 0;
    cr_assert_eq(cuInit(0), CUDA_SUCCESS);
    cr_assert_eq(SLOT(CUresult(*)(CUcontext *, CUdevice), table(INTERFACE), 2)(&primary, 1),
                 CUDA_SUCCESS);
    cr_assert_eq(primary, FAKE_PRIMARY(1));
    cr_assert_eq(SLOT(CUresult(*)(void), table(INTERFACE), 12)(), CUDA_SUCCESS);
    SLOT(void (*)(void **, size_t *), table(HOOKS), 2)(&buffer, &count);
    cr_assert_not_null(buffer);
    cr_assert_geq(count, 14);
    SLOT(void (*)(void **, size_t *), table(HOOKS), 6)(&buffer, &count);
    cr_assert_not_null(buffer);
    cr_assert_eq(cuCtxSetCurrent(primary), CUDA_SUCCESS);
    cr_assert_eq(SLOT(CUresult(*)(CUcontext *), table(TLS), 2)(&now), CUDA_SUCCESS);
    cr_assert_eq(now, primary);

    unsigned int finding = 9;
    const void *more = NULL;
    cr_assert_eq(SLOT(CUresult(*)(CUcontext, unsigned *, const void **), table(CHECKS),
                      2)(now, &finding, &more),
                 CUDA_SUCCESS);
    cr_assert_eq(finding, 0);
    cr_assert_eq(SLOT(CUresult(*)(void), table(CHECKS), 3)(), CUDA_SUCCESS);
}

static int destroyed;

static void destroy(CUcontext context, void *key, void *value)
{
    cr_assert_eq(context, FAKE_PRIMARY(0));
    cr_assert_eq(key, &destroyed);
    *(int *)value += 1;
}

Test(tables, storage)
{
    typedef CUresult put(CUcontext, void *, void *, void (*)(CUcontext, void *, void *));
    const void *const *words = table(STORAGE);
    void *value = NULL;
    cr_assert_eq(cuInit(0), CUDA_SUCCESS);
    cr_assert_neq(SLOT(CUresult(*)(void **, CUcontext, void *), words, 2)(&value, NULL, &destroyed),
                  CUDA_SUCCESS, "no current context");
    cr_assert_eq(cuCtxSetCurrent(FAKE_PRIMARY(0)), CUDA_SUCCESS);
    cr_assert_eq(SLOT(put *, words, 0)(NULL, &destroyed, &destroyed, destroy), CUDA_SUCCESS);
    cr_assert_eq(SLOT(CUresult(*)(void **, CUcontext, void *), words, 2)(&value, FAKE_PRIMARY(0),
                                                                         &destroyed),
                 CUDA_SUCCESS);
    cr_assert_eq(value, &destroyed);
    front_context_reset(FAKE_PRIMARY(0));
    cr_assert_eq(destroyed, 1);
    cr_assert_eq(front_context_current(), FAKE_PRIMARY(0), "a reset context stays current");
    cr_assert_neq(SLOT(CUresult(*)(void **, CUcontext, void *), words, 2)(&value, FAKE_PRIMARY(0),
                                                                          &destroyed),
                  CUDA_SUCCESS);
}

Test(tables, integrity_is_over_this_process_and_its_devices)
{
    uint64_t answer[2] = {0}, want[2];
    uint64_t now = (uint64_t)time(NULL);
    const void *const *words = table(INTEGRITY);
    cr_assert_eq(cuInit(0), CUDA_SUCCESS);
    cr_assert_eq(SLOT(CUresult(*)(uint32_t, uint64_t, uint64_t *), words, 1)(13002, now, answer),
                 CUDA_SUCCESS);
    struct front_device devices[2];
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(front_host.device(i, &devices[i]), CUDA_SUCCESS);
    }
    struct front_integrity facts = {CUDA_VERSION,
                                    13002,
                                    (uint32_t)getpid(),
                                    (uint32_t)(uintptr_t)pthread_self(),
                                    (uintptr_t)table(INTERFACE),
                                    (uintptr_t)words,
                                    (uintptr_t)words[1],
                                    now,
                                    devices,
                                    2};
    front_integrity_hash(&facts, want);
    cr_assert_eq(answer[0], want[0]);
    cr_assert_eq(answer[1], want[1]);
}

static int kernels_seen;

static void see(void *user, CUfunction kernel, void *more)
{
    (void)more;
    cr_assert_eq(user, &kernels_seen);
    cr_assert_eq(kernel, (CUfunction)(uintptr_t)(0x100 + kernels_seen));
    kernels_seen++;
}

Test(tables, tools)
{
    typedef CUresult stream_of(CUcontext, CUstream, void **, int);
    typedef CUresult id_of(CUcontext, void *, uint64_t *);
    const void *const *words = table(CONTEXT);
    void *a = NULL, *b = NULL;
    uint64_t id_a = 0, id_b = 0;
    unsigned long long id = 0;
    cr_assert_eq(cuInit(0), CUDA_SUCCESS);
    cr_assert_eq(SLOT(CUresult(*)(CUcontext, unsigned long long *), words, 4)(FAKE_OTHER, &id),
                 CUDA_SUCCESS);
    cr_assert_eq(id, 0x3000 * 10);
    cr_assert_eq(SLOT(stream_of *, words, 51)(FAKE_OTHER, NULL, &a, 0), CUDA_SUCCESS);
    cr_assert_eq(SLOT(stream_of *, words, 51)(FAKE_OTHER, NULL, &b, 1), CUDA_SUCCESS);
    cr_assert_eq(SLOT(id_of *, words, 39)(FAKE_OTHER, a, &id_a), CUDA_SUCCESS);
    cr_assert_eq(SLOT(id_of *, words, 39)(FAKE_OTHER, b, &id_b), CUDA_SUCCESS);
    cr_assert_neq(id_a, id_b, "the default and the per-thread stream differ");
    typedef unsigned kernels(CUcontext, CUmodule, void (*)(void *, CUfunction, void *), void *);
    cr_assert_eq(SLOT(kernels *, table(MODULE), 7)(NULL, (CUmodule)3, see, &kernels_seen), 3);
    cr_assert_eq(kernels_seen, 3);
}
