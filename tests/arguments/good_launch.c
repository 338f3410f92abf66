/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that are launched as before CUDA 4. */
#include "tests/arguments/good.h"
#include "tests/arguments/table.h"

/* Ready for cuLaunch. */
uint64_t new_shaped(void)
{
    CUfunction function = (CUfunction)new_function();
    uint64_t address = good_block();
    MUST(driver.cuFuncSetBlockShape(function, 32, 1, 1));
    MUST(driver.cuParamSetv(function, 0, &address, sizeof address));
    MUST(driver.cuParamSeti(function, 8, 7));
    MUST(driver.cuParamSetSize(function, 12));
    return (uint64_t)function;
}
