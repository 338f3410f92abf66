/* SPDX-License-Identifier: Apache-2.0 */
/* Pointer attributes: answers and refusals. */
#include <criterion/criterion.h>

#include "front/tests/fake_host.h"

#define KNOWN   UINT64_C(0x10008)
#define UNKNOWN UINT64_C(0x8)

Test(pointer, several_at_once)
{
    CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                                   CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    uint64_t size = 0;
    int ordinal = 0;
    void *to[] = {&size, &ordinal};
    cr_assert_eq(cuInit(0), CUDA_SUCCESS);
    cr_assert_eq(cuPointerGetAttributes(2, which, to, KNOWN), CUDA_SUCCESS);
    cr_expect_eq(size, 0x10000);
    cr_expect_eq(ordinal, 1);
    to[1] = NULL;
    cr_expect_eq(cuPointerGetAttributes(2, which, to, KNOWN), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuPointerGetAttributes(0, which, to, KNOWN), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuPointerGetAttributes(1, which, to, UNKNOWN), CUDA_SUCCESS);
    cr_expect_eq(size, 0);
}

/* At any position among the queried attributes; nothing is answered then. */
Test(pointer, tokens_for_peers_are_not_supported)
{
    CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_P2P_TOKENS, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                                   CU_POINTER_ATTRIBUTE_P2P_TOKENS};
    uint64_t first[2] = {1, 1}, second[2] = {1, 1};
    void *to[] = {first, second};
    cr_assert_eq(cuInit(0), CUDA_SUCCESS);
    cr_expect_eq(cuPointerGetAttribute(first, which[0], KNOWN), CUDA_ERROR_NOT_SUPPORTED);
    cr_expect_eq(cuPointerGetAttributes(1, which, to, KNOWN), CUDA_ERROR_NOT_SUPPORTED);
    cr_expect_eq(cuPointerGetAttributes(2, which, to, KNOWN), CUDA_ERROR_NOT_SUPPORTED);
    cr_expect_eq(cuPointerGetAttributes(2, which + 1, to, KNOWN), CUDA_ERROR_NOT_SUPPORTED);
    cr_expect(first[0] == 1 && second[0] == 1);
    cr_expect_eq(cuPointerGetAttributes(1, which + 1, to, KNOWN), CUDA_SUCCESS);
    cr_expect_eq(first[0], 0x10000, "what stands behind it is supported");
}
