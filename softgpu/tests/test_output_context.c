/* SPDX-License-Identifier: Apache-2.0 */
/* The driver tells whose output it is writing, as a server asks it. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/cuda_driver.h"
#include "api/driver_open.h"

/* Prints its number; and an assertion whose words are all "%u\n". */
static const char ptx[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".extern .func (.param .b32 result) vprintf(.param .b64 format, .param .b64 arguments);\n"
    ".extern .func __assertfail(.param .b64 message, .param .b64 file, .param .b32 line,\n"
    "    .param .b64 function, .param .b64 size);\n"
    ".global .align 1 .b8 text[4] = {37, 117, 10, 0};\n"
    ".visible .entry say(.param .u32 number)\n"
    "{\n"
    "    .local .align 8 .b8 arguments[8];\n    .reg .b32 %r<2>;\n    .reg .b64 %d<5>;\n"
    "    .param .b64 a;\n    .param .b64 b;\n    .param .b32 c;\n"
    "    ld.param.u32 %r1, [number];\n    st.local.u32 [arguments], %r1;\n"
    "    mov.u64 %d1, arguments;\n    cvta.local.u64 %d2, %d1;\n"
    "    mov.u64 %d3, text;\n    cvta.global.u64 %d4, %d3;\n"
    "    st.param.b64 [a], %d4;\n    st.param.b64 [b], %d2;\n"
    "    call.uni (c), vprintf, (a, b);\n    ret;\n}\n"
    ".visible .entry fail()\n"
    "{\n"
    "    .reg .b64 %d<3>;\n"
    "    .param .b64 a;\n    .param .b64 b;\n    .param .b32 c;\n    .param .b64 d;\n"
    "    .param .b64 e;\n"
    "    mov.u64 %d1, text;\n    cvta.global.u64 %d2, %d1;\n"
    "    st.param.b64 [a], %d2;\n    st.param.b64 [b], %d2;\n    st.param.b32 [c], 7;\n"
    "    st.param.b64 [d], %d2;\n    st.param.b64 [e], 1;\n"
    "    call.uni __assertfail, (a, b, c, d, e);\n    ret;\n}\n";

static struct cuda_driver driver;
static const struct cuda_driver_traits *traits;

/* ---- what the driver writes, each time with whose it is */

static struct piece {
    void *context, *elsewhere; /* as this thread is told, and another one at this moment */
    char text[2000];
} pieces[32];
static unsigned piece_count;

static void *ask(void *answer)
{
    *(void **)answer = traits->output_context();
    return NULL;
}

static ssize_t take(void *cookie, const char *text, size_t bytes)
{
    pthread_t other;
    (void)cookie;
    if (piece_count == 32 || bytes >= sizeof pieces[0].text) {
        abort();
    }
    struct piece *piece = &pieces[piece_count++];
    piece->context = traits->output_context();
    memcpy(piece->text, text, bytes);
    if (pthread_create(&other, NULL, ask, &piece->elsewhere) != 0 ||
        pthread_join(other, NULL) != 0) {
        abort();
    }
    return (ssize_t)bytes;
}

static FILE *taken(void)
{
    FILE *file = fopencookie(NULL, "w", (cookie_io_functions_t){.write = take});
    cr_assert_not_null(file);
    cr_assert_eq(setvbuf(file, NULL, _IONBF, 0), 0);
    return file;
}

static void expect(unsigned at, CUcontext context, const char *text)
{
    cr_assert(at < piece_count, "only %u pieces were written", piece_count);
    cr_assert_str_eq(pieces[at].text, text);
    cr_assert_eq(pieces[at].context, context, "piece %u: %p instead of %p", at, pieces[at].context,
                 (void *)context);
    cr_assert_null(pieces[at].elsewhere, "the other thread writes nothing");
}

/* ---- two contexts */

static CUcontext contexts[2]; /* a primary one, and another */
static CUfunction says[2], fails[2];

static void setup(void)
{
    const CUuuid uuid = {.bytes = CUDA_DRIVER_TRAITS_UUID};
    const void *table = NULL;
    char why[256] = "";
    CUmodule module;
    cr_assert_eq(cuda_driver_open(&driver, SOFTGPU_LIBRARY, why, sizeof why), GA_OK, "%s", why);
    cr_assert_eq(driver.cuInit(0), CUDA_SUCCESS);
    cr_assert_eq(driver.cuGetExportTable(&table, &uuid), CUDA_SUCCESS);
    traits = table;
    cr_assert_geq(traits->bytes, sizeof *traits);
    cr_assert_eq(driver.cuDevicePrimaryCtxRetain(&contexts[0], 0), CUDA_SUCCESS);
    cr_assert_eq(driver.cuCtxCreate_v2(&contexts[1], 0, 0), CUDA_SUCCESS);
    for (unsigned i = 0; i < 2; i++) {
        cr_assert_eq(driver.cuCtxSetCurrent(contexts[i]), CUDA_SUCCESS);
        cr_assert_eq(driver.cuModuleLoadData(&module, ptx), CUDA_SUCCESS);
        cr_assert_eq(driver.cuModuleGetFunction(&says[i], module, "say"), CUDA_SUCCESS);
        cr_assert_eq(driver.cuModuleGetFunction(&fails[i], module, "fail"), CUDA_SUCCESS);
    }
    stdout = taken();
    stderr = taken();
}

TestSuite(output_context, .init = setup, .timeout = 60);

static void say(unsigned i, unsigned number)
{
    void *params[] = {&number};
    cr_assert_eq(driver.cuCtxSetCurrent(contexts[i]), CUDA_SUCCESS);
    cr_assert_eq(driver.cuLaunchKernel(says[i], 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL),
                 CUDA_SUCCESS);
}

static CUresult wait_for(unsigned i)
{
    cr_assert_eq(driver.cuCtxSetCurrent(contexts[i]), CUDA_SUCCESS);
    CUresult rc = driver.cuCtxSynchronize();
    cr_assert_null(traits->output_context(), "nothing is written any more");
    return rc;
}

Test(output_context, of_two_contexts_that_print_in_turns)
{
    cr_assert_neq(contexts[0], contexts[1]);
    cr_assert_null(traits->output_context());
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < 2; i++) {
            say(i, 10 * round + i);
            cr_assert_eq(wait_for(i), CUDA_SUCCESS);
        }
    }
    static const char *const texts[] = {"0\n", "1\n", "10\n", "11\n", "20\n", "21\n"};
    cr_assert_eq(piece_count, 6);
    for (unsigned at = 0; at < 6; at++) {
        expect(at, contexts[at % 2], texts[at]);
    }
}

Test(output_context, is_not_the_current_one)
{
    say(0, 5);
    say(1, 6); /* now current */
    cr_assert_eq(driver.cuCtxSynchronize_v2(contexts[0]), CUDA_SUCCESS);
    cr_assert_eq(driver.cuCtxSynchronize_v2(contexts[1]), CUDA_SUCCESS);
    cr_assert_eq(piece_count, 2);
    expect(0, contexts[0], "5\n");
    expect(1, contexts[1], "6\n");
}

Test(output_context, of_what_the_end_of_a_context_writes)
{
    CUcontext ended = contexts[1];
    say(1, 7);
    cr_assert_eq(driver.cuCtxDestroy_v2(ended), CUDA_SUCCESS);
    cr_assert_null(traits->output_context());
    cr_assert_eq(piece_count, 1);
    expect(0, ended, "7\n");
}

Test(output_context, of_a_failed_assertion)
{
    cr_assert_eq(driver.cuCtxSetCurrent(contexts[1]), CUDA_SUCCESS);
    cr_assert_eq(driver.cuLaunchKernel(fails[1], 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
                 CUDA_SUCCESS);
    cr_assert_eq(wait_for(1), CUDA_ERROR_ASSERT);
    unsigned at = 0; /* the driver's report of the fault is a line by itself */
    while (at < piece_count && strstr(pieces[at].text, " Assertion `%u?` failed.\n") == NULL) {
        at++;
    }
    cr_assert_lt(at, piece_count, "the assertion was not written");
    cr_assert_eq(pieces[at].context, contexts[1]);
}
