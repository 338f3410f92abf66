/* SPDX-License-Identifier: Apache-2.0 */
/* Advice about managed memory: parts, their common advice, and refused calls. The fake host says
 * that [0x10000, 0x20000) is managed. */
#include <criterion/criterion.h>

#include "front/tests/fake_host.h"

#define START UINT64_C(0x10000)
#define PAGE  UINT64_C(0x1000)
#define END   (START + 16 * PAGE)
#define CPU   (-1)
#define NONE  (-2)

static void init(void)
{
    cr_assert_eq(cuInit(0), CUDA_SUCCESS);
    cr_assert_eq(cuCtxSetCurrent(FAKE_EXPLICIT), CUDA_SUCCESS);
}

static void fini(void)
{
    front_advice_forget(START, END);
}

TestSuite(advice, .init = init, .fini = fini);

static int asked(CUmem_range_attribute attribute, uint64_t start, uint64_t bytes)
{
    int value = 12345;
    cr_assert_eq(cuMemRangeGetAttribute(&value, sizeof value, attribute, start, bytes),
                 CUDA_SUCCESS);
    return value;
}

Test(advice, parts_that_agree_and_parts_that_do_not)
{
    const CUmem_range_attribute mostly = CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY;
    cr_assert_eq(asked(mostly, START, PAGE), 0);
    cr_assert_eq(cuMemAdvise(START + 2 * PAGE, 4 * PAGE, CU_MEM_ADVISE_SET_READ_MOSTLY, 0),
                 CUDA_SUCCESS);
    cr_assert_eq(asked(mostly, START + 2 * PAGE, 4 * PAGE), 1);
    cr_assert_eq(asked(mostly, START + 3 * PAGE, 1), 1);
    cr_assert_eq(asked(mostly, START + PAGE, 2 * PAGE), 0, "a part without it before");
    cr_assert_eq(asked(mostly, START + 5 * PAGE, 2 * PAGE), 0, "a part without it behind");
    cr_assert_eq(cuMemAdvise(START + 3 * PAGE, PAGE, CU_MEM_ADVISE_UNSET_READ_MOSTLY, 0),
                 CUDA_SUCCESS);
    cr_assert_eq(asked(mostly, START + 2 * PAGE, 4 * PAGE), 0, "a hole in it");
    cr_assert_eq(asked(mostly, START + 2 * PAGE, PAGE), 1);
    cr_assert_eq(asked(mostly, START + 4 * PAGE, 2 * PAGE), 1);
    cr_assert_eq(cuMemAdvise(START, END - START, CU_MEM_ADVISE_SET_READ_MOSTLY, 0), CUDA_SUCCESS);
    cr_assert_eq(asked(mostly, START, END - START), 1);
    front_advice_forget(START, END);
    cr_assert_eq(asked(mostly, START, END - START), 0);
}

Test(advice, places)
{
    const CUmem_range_attribute preferred = CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION;
    cr_assert_eq(asked(preferred, START, PAGE), NONE);
    cr_assert_eq(cuMemAdvise(START, 2 * PAGE, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, 1),
                 CUDA_SUCCESS);
    cr_assert_eq(cuMemAdvise(START + 2 * PAGE, 2 * PAGE, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, CPU),
                 CUDA_SUCCESS);
    cr_assert_eq(asked(preferred, START, 2 * PAGE), 1);
    cr_assert_eq(asked(preferred, START + 2 * PAGE, 2 * PAGE), CPU);
    cr_assert_eq(asked(preferred, START, 4 * PAGE), NONE, "two places");
    cr_assert_eq(asked(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE, START, 2 * PAGE),
                 CU_MEM_LOCATION_TYPE_DEVICE);
    cr_assert_eq(asked(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID, START, 2 * PAGE), 1);
    cr_assert_eq(asked(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE, START, 4 * PAGE),
                 CU_MEM_LOCATION_TYPE_INVALID);
}

Test(advice, who_uses_it)
{
    int seen[4];
    const CUmem_range_attribute by = CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY;
    cr_assert_eq(cuMemAdvise(START, 2 * PAGE, CU_MEM_ADVISE_SET_ACCESSED_BY, 1), CUDA_SUCCESS);
    cr_assert_eq(cuMemAdvise(START, PAGE, CU_MEM_ADVISE_SET_ACCESSED_BY, CPU), CUDA_SUCCESS);
    cr_assert_eq(cuMemRangeGetAttribute(seen, sizeof seen, by, START, PAGE), CUDA_SUCCESS);
    cr_assert(seen[0] == 1 && seen[1] == CPU && seen[2] == NONE && seen[3] == NONE);
    cr_assert_eq(cuMemRangeGetAttribute(seen, sizeof seen, by, START, 2 * PAGE), CUDA_SUCCESS);
    cr_assert(seen[0] == 1 && seen[1] == NONE);
    cr_assert_eq(cuMemAdvise(START, PAGE, CU_MEM_ADVISE_UNSET_ACCESSED_BY, 1), CUDA_SUCCESS);
    cr_assert_eq(cuMemRangeGetAttribute(seen, 4, by, START, PAGE), CUDA_SUCCESS);
    cr_assert_eq(seen[0], CPU);
    cr_assert_eq(cuMemRangeGetAttribute(seen, 6, by, START, PAGE), CUDA_ERROR_INVALID_VALUE);
}

Test(advice, what_is_refused)
{
    const CUmem_advise mostly = CU_MEM_ADVISE_SET_READ_MOSTLY;
    const CUmem_advise preferred = CU_MEM_ADVISE_SET_PREFERRED_LOCATION;
    cr_assert_eq(cuMemAdvise(START, 0, mostly, 0), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuMemAdvise(END - PAGE, 2 * PAGE, mostly, 0), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuMemAdvise(END, PAGE, mostly, 0), CUDA_ERROR_INVALID_VALUE, "not managed");
    cr_assert_eq(cuMemAdvise(START, PAGE, (CUmem_advise)7, 0), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuMemAdvise(START, PAGE, preferred, 99), CUDA_ERROR_INVALID_DEVICE);
}
