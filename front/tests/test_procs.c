/* SPDX-License-Identifier: Apache-2.0 */
/* The whole table of the product, with stubs in place of the functions. */
#include <criterion/criterion.h>
#include <string.h>

#include "front/front.h"
#include "front/tables/procs.h"

struct request {
    const char *name;
    int version;
    cuuint64_t flags;
};

static const struct request requests[] = {
#define REQUEST(name, version, flags) {name, version, flags},
#include "front/tests/requests.def"
};

static void *ask(const char *name, int version, cuuint64_t flags)
{
    void *function = (void *)ask;
    CUdriverProcAddressQueryResult status = (CUdriverProcAddressQueryResult)77;
    cr_assert_eq(cuGetProcAddress_v2(name, &function, version, flags, &status), CUDA_SUCCESS);
    cr_assert_eq(status == CU_GET_PROC_ADDRESS_SUCCESS, function != NULL);
    return function;
}

static bool is_graphics(const char *name)
{
    return strncmp(name, "cuGL", 4) == 0 || strncmp(name, "cuEGL", 5) == 0 ||
           strncmp(name, "cuVDPAU", 7) == 0 || strncmp(name, "cuGraphics", 10) == 0;
}

Test(procs, everything_the_runtime_asks_for)
{
    size_t found = 0, graphics = 0;
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        const struct request *r = &requests[i];
        void *function = ask(r->name, r->version, r->flags);
        cr_assert_eq(function != NULL, !is_graphics(r->name), "%s@%d", r->name, r->version);
        found += function != NULL;
        graphics += is_graphics(r->name);
    }
    cr_assert_eq(found, 401);
    cr_assert_eq(graphics, 38);
}

/* Version and per-thread flag of a request select a row of exactly that version and kind if
 * there is one: the requests name existing variants. */
Test(procs, the_variant_is_the_one_of_that_version)
{
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        const struct request *r = &requests[i];
        void *function = ask(r->name, r->version, r->flags);
        for (size_t k = 0; k < front_proc_count; k++) {
            const struct front_proc *row = &front_procs[k];
            bool thread = (r->flags & 2) != 0;
            if (strcmp(row->name, r->name) == 0 && row->version == r->version &&
                (row->per_thread != 0) == thread) {
                cr_assert_eq(function, (void *)row->function, "%s@%d", r->name, r->version);
            }
        }
    }
}

#define IS(name, version, flags, symbol)                                                           \
    cr_assert_eq(ask(name, version, flags), (void *)symbol, "%s@%d/%d", name, version, flags)

Test(procs, variants_by_hand)
{
    IS("cuCtxGetDevice", 2000, 0, cuCtxGetDevice);
    IS("cuCtxGetDevice", 12090, 0, cuCtxGetDevice);
    IS("cuCtxGetDevice", 13000, 0, cuCtxGetDevice_v2);
    IS("cuCtxSynchronize", 2000, 0, cuCtxSynchronize);
    IS("cuCtxSynchronize", 13000, 0, cuCtxSynchronize_v2);
    IS("cuGetProcAddress", 11030, 0, cuGetProcAddress);
    IS("cuGetProcAddress", 12000, 0, cuGetProcAddress_v2);
    IS("cuMemcpyHtoD", 2000, 0, cuMemcpyHtoD);
    IS("cuMemcpyHtoD", 3020, 0, cuMemcpyHtoD_v2);
    IS("cuMemcpyHtoD", 7000, 2, cuMemcpyHtoD_v2_ptds);
    IS("cuMemcpyHtoD", 7000, 1, cuMemcpyHtoD_v2);
    IS("cuMemcpyHtoD", 7000, 0, cuMemcpyHtoD_v2);
    IS("cuMemcpyHtoD", 3020, 2, cuMemcpyHtoD_v2);
    IS("cuMemAlloc", 12000, 2, cuMemAlloc_v2);
    IS("cuStreamSynchronize", 7000, 2, cuStreamSynchronize_ptsz);
    IS("cuLaunchKernel", 4000, 0, cuLaunchKernel);
    IS("cuLaunchKernel", 13000, 2, cuLaunchKernel_ptsz);
    IS("cuMemPrefetchAsync", 8000, 2, cuMemPrefetchAsync_ptsz);
    IS("cuMemPrefetchAsync", 12020, 2, cuMemPrefetchAsync_v2_ptsz);
    IS("cuMemPrefetchAsync", 12020, 0, cuMemPrefetchAsync_v2);
    IS("cuStreamGetCaptureInfo", 11030, 0, cuStreamGetCaptureInfo_v2);
    IS("cuStreamGetCaptureInfo", 12030, 0, cuStreamGetCaptureInfo_v3);
    IS("cuGraphInstantiate", 10000, 0, cuGraphInstantiate);
    IS("cuGraphInstantiate", 11000, 0, cuGraphInstantiate_v2);
    IS("cuCtxCreate", 3020, 0, cuCtxCreate_v2);
    IS("cuCtxCreate", 13000, 0, cuCtxCreate_v4);
    IS("cuEventElapsedTime", 2000, 0, cuEventElapsedTime);
    IS("cuEventElapsedTime", 12080, 0, cuEventElapsedTime_v2);
}

Test(procs, what_is_not_there)
{
    void *function = (void *)ask;
    CUdriverProcAddressQueryResult status;
    cr_assert_eq(cuGetProcAddress_v2("", &function, 0, 0, &status), CUDA_SUCCESS);
    cr_assert_eq(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    cr_assert_null(function);
    cr_assert_eq(cuGetProcAddress_v2("cuInit", &function, 1000, 0, &status), CUDA_SUCCESS);
    cr_assert_eq(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    cr_assert_eq(cuGetProcAddress_v2("cuInit", &function, CUDA_VERSION + 10, 0, &status),
                 CUDA_SUCCESS);
    cr_assert_null(function);
    cr_assert_eq(cuGetProcAddress_v2("cuMemAllo", &function, 13000, 0, NULL), CUDA_SUCCESS);
    cr_assert_null(function);
    cr_assert_eq(cuGetProcAddress("cuNothing", &function, 13000, 0), CUDA_ERROR_NOT_FOUND);
    cr_assert_eq(cuGetProcAddress("cuInit", &function, 13000, 0), CUDA_SUCCESS);
    cr_assert_eq(function, (void *)cuInit);
    cr_assert_eq(cuGetProcAddress_v2(NULL, &function, 13000, 0, NULL), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuGetProcAddress_v2("cuInit", NULL, 13000, 0, NULL), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuGetProcAddress_v2("cuInit", &function, 13000, 8, NULL),
                 CUDA_ERROR_INVALID_VALUE);
}

Test(procs, the_table_is_sorted)
{
    cr_assert_gt(front_proc_count, 600);
    for (size_t i = 1; i < front_proc_count; i++) {
        const struct front_proc *a = &front_procs[i - 1], *b = &front_procs[i];
        int order = strcmp(a->name, b->name);
        bool sorted = order < 0 ||
                      (order == 0 && (a->per_thread < b->per_thread ||
                                      (a->per_thread == b->per_thread && a->version < b->version)));
        cr_assert(sorted, "%s", b->name);
    }
}

Test(procs, an_unsupported_function_says_so)
{
    CUresult (*function)(void *, unsigned) = NULL;
    void *address = ask("cuDestroyExternalMemory", 10000, 0);
    memcpy(&function, &address, sizeof function);
    cr_assert_eq(function(NULL, 0), CUDA_ERROR_NOT_SUPPORTED);
}
