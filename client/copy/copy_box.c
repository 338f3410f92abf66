/* SPDX-License-Identifier: Apache-2.0 */
/* cuMemcpy2D, cuMemcpy3D and cuMemcpy3DPeer: a box is copied slice by slice. Everything is checked
 * before the first slice, so a call that is refused has copied nothing. */
#include "api/calls.h"
#include "client/call/stream_call.h"
#include "client/context/context.h"
#include "client/copy/copy.h"
#include "client/memory/address.h"
#include "client/memory/mirror.h"
#include "client/memory/range_check.h"
#include "client/memory/sync_memops.h"
#include "front/front.h"

static bool on_device(const struct front_side *said)
{
    return said->place == FRONT_DEVICE ||
           (said->place == FRONT_UNIFIED && client_memory_session(said->start) != NULL);
}

CUresult client_copy_side(struct client_call *call, const struct front_box *box,
                          const struct front_side *said, bool *device)
{
    *device = on_device(said);
    if (*device) {
        return client_range_check(call, said->start, 1, front_box_extent(box, said));
    }
    return client_copy_host_side((const void *)(uintptr_t)said->start) ? CUDA_SUCCESS
                                                                       : CUDA_ERROR_INVALID_VALUE;
}

static CUresult side_of(struct client_call *call, const struct front_box *box,
                        const struct front_side *said, struct copy_side *side)
{
    *side = (struct copy_side){.at = said->start, .pitch = said->pitch};
    return client_copy_side(call, box, said, &side->device);
}

CUresult client_copy_box(struct client_call *call, const struct front_box *box, uint64_t stream,
                         bool wait)
{
    struct copy_rows rows = {
        .width = box->width, .count = box->height, .stream = stream, .wait = wait};
    if (box->width == 0) {
        return CUDA_SUCCESS;
    }
    if (box->from.place == FRONT_ARRAY || box->to.place == FRONT_ARRAY) {
        return client_copy_array(call, box, stream, wait);
    }
    CUresult rc = side_of(call, box, &box->from, &rows.from);
    if (rc == CUDA_SUCCESS) {
        rc = side_of(call, box, &box->to, &rows.to);
    }
    for (uint64_t z = 0; z < box->depth && rc == CUDA_SUCCESS; z++) {
        rc = client_copy_rows(call, &rows);
        rows.from.at += box->from.slice;
        rows.to.at += box->to.slice;
    }
    return rc;
}

static CUresult copy_once(struct client_call *call, const struct front_box *box, uint64_t stream,
                          bool wait)
{
    return client_copy_leaves(call, box) ? client_copy_cross_node(call, box, stream)
                                         : client_copy_box(call, box, stream, wait);
}

static void side_translate(struct front_side *side)
{
    bool host = side->place == FRONT_HOST || side->place == FRONT_UNIFIED;
    if (host && client_mirror_translate(&side->start)) {
        side->place = FRONT_DEVICE;
    }
}

static bool on_host(const struct front_side *said)
{
    return said->place != FRONT_ARRAY && !on_device(said);
}

/* Mirrored memory is copied on the device. After a copy into it that has waited, the program's side
 * has the bytes, too. */
static CUresult copy_box(struct client_call *call, const struct front_box *said, uint64_t stream,
                         bool wait)
{
    struct front_box box = *said;
    uint64_t mark = client_mirrors_mark();
    side_translate(&box.from);
    side_translate(&box.to);
    CUresult rc = copy_once(call, &box, stream, wait);
    if (rc != CUDA_SUCCESS || !wait || box.width == 0 || box.height == 0 || box.depth == 0) {
        return rc;
    }
    if (on_host(&said->from) && !on_host(&said->to)) {
        return client_copy_defer(call, stream);
    }
    if ((box.to.place != FRONT_ARRAY && client_settles(box.to.start, true)) ||
        (box.from.place != FRONT_ARRAY && client_settles(box.from.start, false))) {
        rc = client_stream_wait(call, stream);
    }
    return rc == CUDA_SUCCESS ? client_mirrors_after(call->context, stream, mark) : rc;
}

static CUresult copy_box_enter(struct client_call *call, CUstream stream, uint64_t *wire)
{
    CU_TRY(client_call_enter_handle(call, API_OP_ga_copy_2d));
    return client_stream_check(call, stream, wire);
}

static CUresult copy_2d(const CUDA_MEMCPY2D *copy, CUstream stream, bool wait)
{
    struct client_call call;
    struct front_box box;
    uint64_t wire;
    CU_TRY(copy_box_enter(&call, stream, &wire));
    CU_TRY(front_box_2d(copy, &box));
    return copy_box(&call, &box, wire, wait);
}

static CUresult copy_3d(const CUDA_MEMCPY3D *copy, CUstream stream, bool wait)
{
    struct client_call call;
    struct front_box box;
    uint64_t wire;
    CU_TRY(copy_box_enter(&call, stream, &wire));
    CU_TRY(front_box_3d(copy, &box));
    return copy_box(&call, &box, wire, wait);
}

static CUresult copy_peer(const CUDA_MEMCPY3D_PEER *copy, CUstream stream, bool wait)
{
    struct client_call call;
    struct front_box box;
    uint64_t wire;
    CU_TRY(client_call_enter(&call, API_OP_ga_copy_2d));
    CU_TRY(client_stream_check(&call, stream, &wire));
    CU_TRY(front_box_peer(copy, &box));
    CU_TRY(client_copy_contexts(copy->dstContext, copy->srcContext));
    return copy_box(&call, &box, wire, wait);
}

CUresult CUDAAPI cuMemcpy2D_v2(const CUDA_MEMCPY2D *pCopy)
{
    return copy_2d(pCopy, NULL, true);
}

CUresult CUDAAPI cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *pCopy)
{
    return copy_2d(pCopy, NULL, true);
}

CUresult CUDAAPI cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *pCopy, CUstream hStream)
{
    return copy_2d(pCopy, hStream, false);
}

CUresult CUDAAPI cuMemcpy3D_v2(const CUDA_MEMCPY3D *pCopy)
{
    return copy_3d(pCopy, NULL, true);
}

CUresult CUDAAPI cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *pCopy, CUstream hStream)
{
    return copy_3d(pCopy, hStream, false);
}

/* Runs after all earlier work of both contexts, and before all later work. */
CUresult CUDAAPI cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *pCopy)
{
    CU_TRY(client_usable());
    if (pCopy == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CU_TRY(cuCtxSynchronize_v2(pCopy->srcContext));
    CU_TRY(cuCtxSynchronize_v2(pCopy->dstContext));
    CU_TRY(copy_peer(pCopy, NULL, true));
    return cuStreamSynchronize(NULL);
}

CUresult CUDAAPI cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *pCopy, CUstream hStream)
{
    return copy_peer(pCopy, hStream, false);
}
