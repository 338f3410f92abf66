/* SPDX-License-Identifier: Apache-2.0 */
/* The contract of struct cuda_driver, on which the server relies, as tests that any driver must
 * pass: softgpu always, the machine's real driver by `./dev gpu` (GPUAAS_TEST_DRIVER names it).
 *
 * Note: criterion runs each test in a process of its own, so each opens the driver anew, and a
 * sticky error affects no other test. */
#ifndef TESTS_CONTRACT_DRIVER_H
#define TESTS_CONTRACT_DRIVER_H

#include "api/cuda_driver.h"

extern struct cuda_driver driver;
extern CUcontext context;

/* Opens the driver, and makes a context on device 0 current. */
void open_driver(void);

/* "illegal address" and the like: for messages. */
const char *result_name(CUresult result);

#define CALL(expr) REQUIRE(expr, CUDA_SUCCESS)
#define REQUIRE(expr, expected)                                                                    \
    do {                                                                                           \
        CUresult result_ = (expr);                                                                 \
        cr_assert_eq(result_, (expected), "%s gives %s (%d), %d is due", #expr,                    \
                     result_name(result_), (int)result_, (int)(expected));                         \
    } while (0)

/* Kernels of kernels_ptx: wait spins until *flag is not 0; store writes value to data[global
 * index]; outside writes where no memory is. */
extern const char kernels_ptx[];
CUfunction kernel(CUmodule *module, const char *name);

#endif
