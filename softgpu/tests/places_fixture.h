/* SPDX-License-Identifier: Apache-2.0 */
/* The fixture of tests of objects made again at the values that they had: the driver as a server
 * opens it, its table of places, and a context. */
#ifndef SG_TESTS_PLACES_FIXTURE_H
#define SG_TESTS_PLACES_FIXTURE_H

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "api/cuda_driver.h"
#include "api/driver_places.h"

#define HEAD ".version 7.0\n.target sm_75\n.address_size 64\n"

static struct cuda_driver driver;
static const struct cuda_driver_places *places;
static CUcontext context;

#define OK(call) cr_assert_eq((CUresult)(call), CUDA_SUCCESS, "%s", #call)
#define GIVES(call, code)                                                                          \
    do {                                                                                           \
        CUresult result_ = (CUresult)(call);                                                       \
        cr_assert_eq(result_, (code), "%s gives %d", #call, (int)result_);                         \
    } while (0)

static void setup(void)
{
    const CUuuid uuid = {.bytes = CUDA_DRIVER_TRAITS_UUID};
    const void *table = NULL;
    char why[256] = "";
    cr_assert_eq(setenv("SOFTGPU_NODE", "self", 1), 0); /* its memory is this process's alone */
    cr_assert_eq(setenv("SOFTGPU_DEVICES", "name=A,memory=256MiB;name=B,memory=256MiB", 1), 0);
    cr_assert_eq(cuda_driver_open(&driver, SOFTGPU_LIBRARY, why, sizeof why), GA_OK, "%s", why);
    OK(driver.cuInit(0));
    OK(driver.cuGetExportTable(&table, &uuid));
    const struct cuda_driver_traits *traits = table;
    cr_assert_geq(traits->bytes, sizeof *traits);
    places = traits->places();
    cr_assert_not_null(places);
    cr_assert_geq(places->bytes, sizeof *places);
    OK(driver.cuCtxCreate_v2(&context, 0, 0));
}

/* An address in free address space, which goes on for 256 MiB and is far from what is mapped next.
 */
static inline uint64_t free_space(void)
{
    const uint64_t bytes = UINT64_C(1) << 30;
    void *space = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    cr_assert_neq(space, MAP_FAILED);
    cr_assert_eq(munmap(space, bytes), 0);
    return ((uint64_t)(uintptr_t)space + bytes / 4) & ~((UINT64_C(1) << 24) - 1);
}

static CUmodule load(const char *text)
{
    CUmodule module;
    OK(driver.cuModuleLoadData(&module, text));
    return module;
}

static void launch(CUmodule module, const char *name, void **params)
{
    CUfunction function;
    OK(driver.cuModuleGetFunction(&function, module, name));
    OK(driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    OK(driver.cuCtxSynchronize());
}

#endif
