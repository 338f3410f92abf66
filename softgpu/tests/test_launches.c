/* SPDX-License-Identifier: Apache-2.0 */
/* Grids that kernels launch: limits, faults, remaining launches. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "softgpu/tests/engine_fixture.h"

enum { SLOTS = 256 }; /* each of four workers may be in a warp that prepares 32 launches */

static struct engine engine;
static uint32_t *out;

static void open_launches(void)
{
    engine_open(&engine, 3);
    engine_load_file(&engine, "launches");
    size_t bytes = 4096 + (size_t)SLOTS * 4096;
    cr_assert_eq(sg_launcher_create(engine_memory(&engine, bytes), bytes, &engine.launcher), GA_OK);
    engine.pending_launches = 100000;
    out = engine_memory(&engine, 4096);
}

static void shut(void)
{
    sg_launcher_destroy(engine.launcher);
    engine_close(&engine);
}

TestSuite(launches, .init = open_launches, .fini = shut);

static void no_fault(void)
{
    cr_assert_eq(engine.fault.code, SG_FAULT_NONE, "%s: %s at PTX line %u",
                 sg_fault_name(engine.fault.code), engine.fault.text, engine.fault.line);
}

Test(launches, from_all_threads_of_all_blocks)
{
    enum { BLOCKS = 50, THREADS = 40 };
    ENGINE_LAUNCH(&engine, "from_all_threads", BLOCKS, THREADS, 0, PTR(out));
    no_fault();
    cr_assert_eq(*out, BLOCKS * THREADS);
}

Test(launches, as_many_are_pending_as_the_limit_allows)
{
    engine.pending_launches = 4;
    for (unsigned round = 1; round <= 3; round++) {
        ENGINE_LAUNCH(&engine, "many", 1, 1, 0, PTR(out), 10);
        no_fault();
        cr_assert_eq(out[1], 4);
        cr_assert_eq(out[2], 69, "cudaErrorLaunchPendingCountExceeded, not %u", out[2]);
        cr_assert_eq(out[0], 4 * round, "the pending ones ran");
    }
}

Test(launches, a_fault_of_a_child_is_the_fault_of_the_grid)
{
    ENGINE_LAUNCH(&engine, "wild_child", 1, 1, 0, PTR(out));
    cr_assert_eq(engine.fault.code, SG_FAULT_ILLEGAL_ADDRESS);
    cr_assert_str_eq(engine.fault.kernel, "wild");
    cr_assert_eq(engine.fault.thread[0], 5);
    cr_assert_eq(*out, 9, "the last one must not run: %u", *out);
    ENGINE_LAUNCH(&engine, "from_all_threads", 1, 1, 0, PTR(out));
    no_fault();
    cr_assert_eq(*out, 10, "nothing is left of it");
}

Test(launches, a_fill_stays_within_the_memory)
{
    char *end = (char *)engine_memory(&engine, 65536) + 65536;
    ENGINE_LAUNCH(&engine, "wild_fill", 1, 1, 0, PTR(out), PTR(end - 100));
    no_fault();
    cr_assert_eq(end[-1], 1);
    cr_assert_eq(*out, 1);
    ENGINE_LAUNCH(&engine, "wild_fill", 1, 1, 0, PTR(out), PTR(end - 99));
    cr_assert_eq(engine.fault.code, SG_FAULT_ILLEGAL_ADDRESS);
    cr_assert_eq(engine.fault.address, PTR(end - 99));
    cr_assert_eq(*out, 1);
}

static _Atomic int stop;

static void *stop_soon(void *nothing)
{
    nanosleep(&(struct timespec){.tv_nsec = 30000000}, NULL);
    stop = 1;
    return nothing;
}

Test(launches, tails_may_go_on_for_ever_until_they_are_stopped)
{
    pthread_t thread;
    engine.stop = &stop;
    cr_assert_eq(pthread_create(&thread, NULL, stop_soon, NULL), 0);
    ENGINE_LAUNCH(&engine, "endless", 1, 1, 0, PTR(out));
    pthread_join(thread, NULL);
    cr_assert_eq(engine.fault.code, SG_FAULT_STOPPED);
    cr_assert_gt(*out, 30, "more than the depth that launches may have");
}

Test(launches, buffers_come_back)
{
    for (int round = 0; round < 5; round++) {
        ENGINE_LAUNCH(&engine, "forgets", 1, 1, 0, PTR(out));
        no_fault();
        cr_assert_eq(out[7], 1, "round %d", round);
    }
    ENGINE_LAUNCH(&engine, "forgets", 1, 64, 0, PTR(out)); /* twice as many as there are */
    no_fault();
    cr_assert_eq(out[7], 0);
    ENGINE_LAUNCH(&engine, "forgets", 1, 1, 0, PTR(out));
    cr_assert_eq(out[7], 1);
}

Test(launches, wrong_ones_are_errors)
{
    static const uint32_t expected[10] = {1, 1, 98, 400, 0, 1, 400, 1, 1, 1};
    ENGINE_LAUNCH(&engine, "wrong_launches", 1, 1, 0, PTR(out), PTR(out));
    no_fault();
    out[0] -= 1; /* the good one has counted it up */
    for (int i = 0; i < 10; i++) {
        cr_expect_eq(out[i], expected[i], "%d: %u", i, out[i]);
    }
}

Test(launches, the_first_version)
{
    ENGINE_LAUNCH(&engine, "first_version", 1, 1, 0, PTR(out));
    no_fault();
    cr_assert_eq(out[0], 0);
    cr_assert_eq(out[1], 6);
}

Test(launches, without_a_launcher_nothing_is_launched)
{
    struct sg_launcher *kept = engine.launcher;
    engine.launcher = NULL;
    ENGINE_LAUNCH(&engine, "first_version", 1, 1, 0, PTR(out));
    cr_assert_eq(engine.fault.code, SG_FAULT_ILLEGAL_ADDRESS, "it writes to NULL");
    ENGINE_LAUNCH(&engine, "from_all_threads", 1, 1, 0, PTR(out));
    no_fault();
    cr_assert_eq(*out, 0);
    engine.launcher = kept;
}

#define HEAD ".version 9.0\n.target sm_75\n.address_size 64\n"

Test(launches, what_is_not_provided_is_named)
{
    static const struct {
        const char *text;
        enum sg_load_result result;
        const char *message;
    } refusals[] = {
        {HEAD ".extern .func (.param .b32 r) cudaDeviceSynchronize();\n.visible .entry k() {"
              " .param .b32 r; call (r), cudaDeviceSynchronize; ret; }",
         SG_LOAD_UNSUPPORTED, "'cudaDeviceSynchronize' of the device run time is not supported"},
        {HEAD ".extern .func (.param .b32 r) __cudaCDP2Memcpy3DAsync();\n.visible .entry k() {"
              " .param .b32 r; call (r), __cudaCDP2Memcpy3DAsync; ret; }",
         SG_LOAD_UNSUPPORTED, "'__cudaCDP2Memcpy3DAsync' of the device run time"},
        {HEAD ".extern .func (.param .b64 r) __cudaCDP2GetLastError();\n.visible .entry k() {"
              " .param .b64 r; call (r), __cudaCDP2GetLastError; ret; }",
         SG_LOAD_SYNTAX, "'GetLastError' of the driver is declared in another way"},
    };
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        char messages[256] = "";
        struct sg_log log = {messages, sizeof messages, 0};
        struct sg_program *program = NULL;
        enum sg_load_result rc =
            sg_program_load(refusals[i].text, strlen(refusals[i].text), &log, &program);
        cr_expect_eq(rc, refusals[i].result, "%zu: %d: %s", i, (int)rc, messages);
        cr_expect_not_null(strstr(messages, refusals[i].message), "%zu: %s", i, messages);
        sg_program_destroy(program);
    }
}
