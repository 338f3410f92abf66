/* SPDX-License-Identifier: Apache-2.0 */
/* FAKE_DRIVER and FAKE_CLIENT are libraries built beside this test. */
#include <criterion/criterion.h>
#include <string.h>

#include "api/cuda_driver.h"

static char why[256];

Test(driver_open, fills_every_member)
{
    struct cuda_driver driver;
    int count = 0;
    float elapsed = 0;
    cr_assert_eq(cuda_driver_open(&driver, FAKE_DRIVER, why, sizeof why), GA_OK, "%s", why);
    cr_assert_eq(driver.cuInit(0), CUDA_SUCCESS);
    cr_assert_eq(driver.cuInit(1), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(driver.cuDeviceGetCount(&count), CUDA_SUCCESS);
    cr_assert_eq(count, 7);
    cr_assert_eq(driver.cuEventElapsedTime_v2(&elapsed, NULL, NULL), CUDA_SUCCESS);
    cr_assert_float_eq(elapsed, 1.5f, 0.0f, "found under its older name");
    cr_assert_eq(driver.cuMemAlloc_v2(NULL, 1), CUDA_ERROR_NOT_SUPPORTED);
    for (size_t i = 0; i < cuda_driver_symbol_count; i++) {
        void *member;
        memcpy(&member, (char *)&driver + cuda_driver_symbols[i].offset, sizeof member);
        cr_assert_not_null(member, "%s", cuda_driver_symbols[i].name);
    }
}

Test(driver_open, refuses_what_is_no_driver)
{
    struct cuda_driver driver = {.library = why};
    cr_assert_eq(cuda_driver_open(&driver, "libcuda.so.1", why, sizeof why), GA_INVALID);
    cr_assert_not_null(strstr(why, "not an absolute path"));
    cr_assert_eq(cuda_driver_open(&driver, "/nonexistent/libcuda.so", why, sizeof why), GA_INVALID);
    cr_assert_not_null(strstr(why, "/nonexistent/libcuda.so"));
    cr_assert_eq(cuda_driver_open(&driver, NOT_A_DRIVER, why, sizeof why), GA_INVALID);
    cr_assert_not_null(strstr(why, "not a CUDA driver"), "%s", why);
    cr_assert_eq(driver.library, why, "outputs are set only on success");
}

Test(driver_open, refuses_our_own_client)
{
    struct cuda_driver driver;
    cr_assert_eq(cuda_driver_open(&driver, FAKE_CLIENT, why, sizeof why), GA_INVALID);
    cr_assert_not_null(strstr(why, "gpuaas client library"), "%s", why);
}
