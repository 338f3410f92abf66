/* SPDX-License-Identifier: Apache-2.0 */
/* Moving managed memory: prefetching, discarding, and attaching to streams. */
#include "front/front.h"
#include "front/memory/advice.h"
#include "front/memory/managed.h"

static void prefetched_change(struct front_advice *advice, const void *user)
{
    advice->prefetched = *(const CUmemLocation *)user;
}

/* `legacy`: whether the legacy stream is allowed. */
static CUresult managed_stream_check(CUstream stream, bool legacy)
{
    unsigned flags;
    CUresult rc = front_ready();
    if (rc == CUDA_SUCCESS) {
        rc = cuStreamGetFlags(stream, &flags);
    }
    if (rc == CUDA_SUCCESS && !legacy && (stream == NULL || stream == CU_STREAM_LEGACY)) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    return rc;
}

static CUresult prefetch(uint64_t start, uint64_t bytes, const CUmemLocation *location,
                         CUstream stream)
{
    if (!front_advice_set(start, start + bytes, prefetched_change, location)) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return front_host.managed_move(stream, start, bytes,
                                   location->type == CU_MEM_LOCATION_TYPE_DEVICE);
}

CUresult CUDAAPI cuMemPrefetchAsync_v2(CUdeviceptr devPtr, size_t count, CUmemLocation location,
                                       unsigned int flags, CUstream hStream)
{
    CUmemLocation place;
    CUresult rc = managed_stream_check(hStream, true);
    if (rc == CUDA_SUCCESS) {
        rc = flags != 0 ? CUDA_ERROR_INVALID_VALUE : front_managed_check(devPtr, count);
    }
    if (rc == CUDA_SUCCESS) {
        rc = front_managed_location(&location, &place);
    }
    return rc == CUDA_SUCCESS ? prefetch(devPtr, count, &place, hStream) : rc;
}

CUresult CUDAAPI cuMemPrefetchAsync(CUdeviceptr devPtr, size_t count, CUdevice dstDevice,
                                    CUstream hStream)
{
    return cuMemPrefetchAsync_v2(devPtr, count, front_managed_place(dstDevice), 0, hStream);
}

/* ---- batches */

struct batch {
    CUdeviceptr *starts;
    size_t *sizes, count;
    CUmemLocation *places; /* NULL: only discard */
    size_t *firsts, place_count;
};

static CUresult places_check(const struct batch *batch)
{
    if (batch->firsts == NULL || batch->place_count == 0 || batch->place_count > batch->count ||
        batch->firsts[0] != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CUresult rc = CUDA_SUCCESS;
    for (size_t i = 0; rc == CUDA_SUCCESS && i < batch->place_count; i++) {
        CUmemLocation place;
        bool ordered =
            batch->firsts[i] < batch->count && (i == 0 || batch->firsts[i] > batch->firsts[i - 1]);
        rc = ordered ? front_managed_location(&batch->places[i], &place) : CUDA_ERROR_INVALID_VALUE;
    }
    return rc;
}

static CUresult managed_batch_check(const struct batch *batch, bool placed,
                                    unsigned long long flags, CUstream stream)
{
    CUresult rc = managed_stream_check(stream, false);
    if (rc == CUDA_SUCCESS && (flags != 0 || batch->starts == NULL || batch->sizes == NULL ||
                               batch->count == 0 || (placed && batch->places == NULL))) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    for (size_t i = 0; rc == CUDA_SUCCESS && i < batch->count; i++) {
        rc = front_managed_check(batch->starts[i], batch->sizes[i]);
    }
    return rc == CUDA_SUCCESS && placed ? places_check(batch) : rc;
}

static CUresult batch_prefetch(const struct batch *batch, CUstream stream)
{
    CUresult rc = CUDA_SUCCESS;
    for (size_t i = 0, at = 0; rc == CUDA_SUCCESS && i < batch->count; i++) {
        at += at + 1 < batch->place_count && batch->firsts[at + 1] <= i;
        CUmemLocation place;
        rc = front_managed_location(&batch->places[at], &place);
        if (rc == CUDA_SUCCESS) {
            rc = prefetch(batch->starts[i], batch->sizes[i], &place, stream);
        }
    }
    return rc;
}

CUresult CUDAAPI cuMemPrefetchBatchAsync(CUdeviceptr *dptrs, size_t *sizes, size_t count,
                                         CUmemLocation *prefetchLocs, size_t *prefetchLocIdxs,
                                         size_t numPrefetchLocs, unsigned long long flags,
                                         CUstream hStream)
{
    const struct batch batch = {dptrs,        sizes,           count,
                                prefetchLocs, prefetchLocIdxs, numPrefetchLocs};
    CUresult rc = managed_batch_check(&batch, true, flags, hStream);
    return rc == CUDA_SUCCESS ? batch_prefetch(&batch, hStream) : rc;
}

/* Discarded memory may have any content, so it keeps what it has. */
CUresult CUDAAPI cuMemDiscardBatchAsync(CUdeviceptr *dptrs, size_t *sizes, size_t count,
                                        unsigned long long flags, CUstream hStream)
{
    const struct batch batch = {.starts = dptrs, .sizes = sizes, .count = count};
    return managed_batch_check(&batch, false, flags, hStream);
}

CUresult CUDAAPI cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr *dptrs, size_t *sizes, size_t count,
                                                   CUmemLocation *prefetchLocs,
                                                   size_t *prefetchLocIdxs, size_t numPrefetchLocs,
                                                   unsigned long long flags, CUstream hStream)
{
    return cuMemPrefetchBatchAsync(dptrs, sizes, count, prefetchLocs, prefetchLocIdxs,
                                   numPrefetchLocs, flags, hStream);
}

/* ---- streams */

CUresult CUDAAPI cuStreamAttachMemAsync(CUstream hStream, CUdeviceptr dptr, size_t length,
                                        unsigned int flags)
{
    struct front_pointer pointer;
    CUresult rc = managed_stream_check(hStream, flags != CU_MEM_ATTACH_SINGLE);
    if (rc == CUDA_SUCCESS && flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST &&
        flags != CU_MEM_ATTACH_SINGLE) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS && (!front_host.pointer(dptr, &pointer) || !pointer.managed ||
                               pointer.start != dptr || (length != 0 && length != pointer.bytes))) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    return rc == CUDA_SUCCESS ? front_host.managed_attach(hStream, dptr, flags) : rc;
}
