/* SPDX-License-Identifier: Apache-2.0 */
/* Stream memory operations: steps of a stream that wait for a value in memory or write one. Each
 * call is a batch of steps. The functions of before CUDA 11.7 (without _v2) are not provided;
 * the attribute CAN_USE_STREAM_MEM_OPS_V1 says so. */
#include "front/memory/values.h"

#include "front/front.h"

static CUresult wait_kind(unsigned flags, struct front_value *out)
{
    if ((flags & CU_STREAM_WAIT_VALUE_FLUSH) != 0) {
        return front_unsupported("CU_STREAM_WAIT_VALUE_FLUSH"); /* CAN_FLUSH_REMOTE_WRITES is 0 */
    }
    if (flags > CU_STREAM_WAIT_VALUE_NOR) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    out->wait = (CUstreamWaitValue_flags)flags;
    return CUDA_SUCCESS;
}

static CUresult wait_one(CUstream stream, CUdeviceptr address, unsigned bytes, uint64_t value,
                         unsigned flags)
{
    struct front_value step = {.address = address, .value = value, .bytes = bytes};
    CUresult rc = front_ready();
    if (rc == CUDA_SUCCESS) {
        rc = wait_kind(flags, &step);
    }
    return rc == CUDA_SUCCESS ? front_host.stream_values(stream, &step, 1) : rc;
}

static CUresult write_one(CUstream stream, CUdeviceptr address, unsigned bytes, uint64_t value,
                          unsigned flags)
{
    const struct front_value step = {
        .address = address, .value = value, .bytes = bytes, .write = true};
    CUresult rc = front_ready();
    if (rc == CUDA_SUCCESS && flags != CU_STREAM_WRITE_VALUE_DEFAULT) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    return rc == CUDA_SUCCESS ? front_host.stream_values(stream, &step, 1) : rc;
}

CUresult CUDAAPI cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr addr, cuuint32_t value,
                                        unsigned int flags)
{
    return wait_one(stream, addr, 4, value, flags);
}

CUresult CUDAAPI cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr addr, cuuint64_t value,
                                        unsigned int flags)
{
    return wait_one(stream, addr, 8, value, flags);
}

CUresult CUDAAPI cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr addr, cuuint32_t value,
                                         unsigned int flags)
{
    return write_one(stream, addr, 4, value, flags);
}

CUresult CUDAAPI cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr addr, cuuint64_t value,
                                         unsigned int flags)
{
    return write_one(stream, addr, 8, value, flags);
}

/* `*none`: the step has no effect here. */
static CUresult batch_step(const CUstreamBatchMemOpParams *op, struct front_value *out, bool *none)
{
    bool wide = op->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64 ||
                op->operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;
    *none = false;
    switch (op->operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        *out = (struct front_value){.address = op->waitValue.address, .bytes = wide ? 8 : 4};
        out->value = wide ? op->waitValue.value64 : op->waitValue.value;
        return wait_kind(op->waitValue.flags, out);
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        *out = (struct front_value){
            .address = op->writeValue.address, .bytes = wide ? 8 : 4, .write = true};
        out->value = wide ? op->writeValue.value64 : op->writeValue.value;
        return op->writeValue.flags == CU_STREAM_WRITE_VALUE_DEFAULT ? CUDA_SUCCESS
                                                                     : CUDA_ERROR_INVALID_VALUE;
    case CU_STREAM_MEM_OP_BARRIER: /* steps of a stream are ordered and visible in order */
        *none = true;
        return op->memoryBarrier.flags <= CU_STREAM_MEMORY_BARRIER_TYPE_GPU
                   ? CUDA_SUCCESS
                   : CUDA_ERROR_INVALID_VALUE;
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
        return front_unsupported("CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES");
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult front_values_read(unsigned count, const CUstreamBatchMemOpParams *ops, unsigned flags,
                           struct front_value *steps, unsigned *made)
{
    CUresult rc = count > FRONT_VALUES_MAX || (ops == NULL && count != 0) || flags != 0
                      ? CUDA_ERROR_INVALID_VALUE
                      : CUDA_SUCCESS;
    *made = 0;
    for (unsigned i = 0; rc == CUDA_SUCCESS && i < count; i++) {
        bool none;
        rc = batch_step(&ops[i], &steps[*made], &none);
        *made += !none;
    }
    return rc;
}

CUresult CUDAAPI cuStreamBatchMemOp_v2(CUstream stream, unsigned int count,
                                       CUstreamBatchMemOpParams *paramArray, unsigned int flags)
{
    struct front_value steps[FRONT_VALUES_MAX];
    unsigned made;
    CUresult rc = front_ready();
    if (rc == CUDA_SUCCESS) {
        rc = front_values_read(count, paramArray, flags, steps, &made);
    }
    return rc == CUDA_SUCCESS ? front_host.stream_values(stream, steps, made) : rc;
}
