/* SPDX-License-Identifier: Apache-2.0 */
/* cuGetProcAddress: maps a name and a CUDA version to the variant of that version. The table is
 * made from cudaTypedefs.h; a name has a row for each version and stream default. */
#include "front/tables/procs.h"

#include <string.h>

#include "front/front.h"

/* The first row of a name, or the end of the table. */
static size_t first_row(const char *name)
{
    size_t low = 0;
    size_t high = front_proc_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(front_procs[middle].name, name) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The newest variant that is not newer than `version`. Variants for the per-thread stream are
 * last in the table, so they win if they are wanted. */
static const struct front_proc *lookup(const char *name, int version, bool per_thread,
                                       bool *name_known)
{
    const struct front_proc *best = NULL;
    *name_known = false;
    for (size_t i = first_row(name); i < front_proc_count; i++) {
        const struct front_proc *row = &front_procs[i];
        if (strcmp(row->name, name) != 0) {
            break;
        }
        *name_known = true;
        if (row->version <= version && (per_thread || !row->per_thread)) {
            best = row;
        }
    }
    return best;
}

/* A version newer than ours is answered as "no such function"; the caller then falls back to our
 * version, as a newer runtime on an older driver of the same major does. */
static CUdriverProcAddressQueryResult proc_find(const char *symbol, int version, cuuint64_t flags,
                                                void **function)
{
    bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
    bool known = false;
    const struct front_proc *row =
        version <= CUDA_VERSION ? lookup(symbol, version, per_thread, &known) : NULL;
    *function = row != NULL ? (void *)row->function : NULL;
    if (row != NULL) {
        return CU_GET_PROC_ADDRESS_SUCCESS;
    }
    return known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                 : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
}

static bool arguments_ok(const char *symbol, void *const *pfn, cuuint64_t flags)
{
    cuuint64_t both =
        CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    return symbol != NULL && pfn != NULL && (flags & ~both) == 0 && flags != both;
}

/* CUDA 11.3: a name that is not found is an error. */
CUresult CUDAAPI cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags)
{
    if (!arguments_ok(symbol, pfn, flags)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    return proc_find(symbol, cudaVersion, flags, pfn) == CU_GET_PROC_ADDRESS_SUCCESS
               ? CUDA_SUCCESS
               : CUDA_ERROR_NOT_FOUND;
}

/* CUDA 12: a name that is not found gives success, a NULL function and a status. */
CUresult CUDAAPI cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion,
                                     cuuint64_t flags, CUdriverProcAddressQueryResult *symbolStatus)
{
    if (!arguments_ok(symbol, pfn, flags)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CUdriverProcAddressQueryResult status = proc_find(symbol, cudaVersion, flags, pfn);
    if (symbolStatus != NULL) {
        *symbolStatus = status;
    }
    return CUDA_SUCCESS;
}
