/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "front/core/results.h"
#include "front/front.h"

Test(errors, names_and_texts)
{
    const char *text = NULL;
    cr_assert_eq(cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &text), CUDA_SUCCESS);
    cr_assert_str_eq(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
    cr_assert_eq(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text), CUDA_SUCCESS);
    cr_assert_str_eq(text, "out of memory");
    cr_assert_eq(cuGetErrorString(CUDA_ERROR_STREAM_CAPTURE_MERGE, &text), CUDA_SUCCESS);
    cr_assert_str_eq(text, "stream capture merge");
    cr_assert_eq(cuGetErrorName((CUresult)12345, &text), CUDA_ERROR_INVALID_VALUE);
    cr_assert_null(text);
    cr_assert_eq(cuGetErrorString((CUresult)12345, &text), CUDA_ERROR_INVALID_VALUE);
    cr_assert_null(text);
    cr_assert_eq(cuGetErrorName(CUDA_SUCCESS, NULL), CUDA_ERROR_INVALID_VALUE);
}

Test(errors, every_result_of_the_header_has_both)
{
    cr_assert_gt(front_result_count, 90);
    for (size_t i = 0; i < front_result_count; i++) {
        const char *text = NULL;
        cr_assert_eq(cuGetErrorString((CUresult)front_results[i].value, &text), CUDA_SUCCESS);
        cr_assert_neq(text[0], 0);
    }
}

Test(errors, an_unsupported_call_answers_801)
{
    cr_assert_eq(front_unsupported("cuSomething"), CUDA_ERROR_NOT_SUPPORTED);
    cr_assert_eq(front_unsupported("cuSomething"), CUDA_ERROR_NOT_SUPPORTED);
}
