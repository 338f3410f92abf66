// SPDX-License-Identifier: Apache-2.0
// Batches of copies: lines between host and device with attributes of their own, boxes between
// memory and arrays, sources that are gone when the call has returned, and what is refused.
#include <vector>

#include "check_driver.h"

static const size_t count = 5;

static void lines(CUstream stream)
{
    CUdeviceptr device, from[count], to[count];
    size_t sizes[count], begin[2] = {0, 3};
    unsigned char *pinned;
    std::vector<unsigned char> back(count * 1000);
    CHECK_DRIVER(cuMemAlloc(&device, 2 * count * 1000));
    CHECK_DRIVER(cuMemHostAlloc((void **)&pinned, count * 1000, 0));
    CUmemcpyAttributes attributes[2] = {};
    attributes[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    attributes[1].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
    attributes[1].flags = CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE;
    for (size_t i = 0; i < count; i++) {
        sizes[i] = 200 + 100 * i;
        from[i] = (CUdeviceptr)(pinned + 1000 * i);
        to[i] = device + 1000 * i;
        memset(pinned + 1000 * i, 10 + (int)i, 1000);
    }
    CHECK_DRIVER(cuMemsetD8(device, 0, 2 * count * 1000));
    CHECK_DRIVER(cuStreamSynchronize(0));
    CHECK_DRIVER(cuMemcpyBatchAsync(to, from, sizes, count, attributes, begin, 2, stream));
    memset(pinned + 3000, 99, 2000); // these have been taken
    CHECK_DRIVER(cuStreamSynchronize(stream));
    for (size_t i = 0; i < count; i++) { // on from there, and back
        from[i] = device + 1000 * i;
        to[i] = device + (count + i) * 1000;
    }
    attributes[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
    CHECK_DRIVER(cuMemcpyBatchAsync(to, from, sizes, count, attributes, begin, 1, stream));
    CHECK_DRIVER(cuMemcpyDtoHAsync(back.data(), device + count * 1000, back.size(), stream));
    CHECK_DRIVER(cuStreamSynchronize(stream));
    for (size_t i = 0; i < back.size(); i++) {
        unsigned right = i % 1000 < sizes[i / 1000] ? 10 + (unsigned)(i / 1000) : 0;
        if (back[i] != right)
            fail("byte %zu of line %zu is %u, %u is right", i % 1000, i / 1000, back[i], right);
    }
    size_t wrong[2] = {0, 7};
    EXPECT_DRIVER(cuMemcpyBatchAsync(to, from, sizes, count, attributes, wrong, 2, stream),
                  CUDA_ERROR_INVALID_VALUE);
    EXPECT_DRIVER(cuMemcpyBatchAsync(to, from, sizes, count, attributes, begin, 1, 0),
                  CUDA_ERROR_INVALID_VALUE);
    attributes[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_INVALID;
    EXPECT_DRIVER(cuMemcpyBatchAsync(to, from, sizes, count, attributes, begin, 1, stream),
                  CUDA_ERROR_INVALID_VALUE);
    CHECK_DRIVER(cuMemFreeHost(pinned));
    CHECK_DRIVER(cuMemFree(device));
}

static void boxes(CUstream stream)
{
    const size_t width = 40, height = 9, depth = 4;
    CUDA_ARRAY3D_DESCRIPTOR shape = {};
    shape.Width = 64;
    shape.Height = 16;
    shape.Depth = 8;
    shape.Format = CU_AD_FORMAT_UNSIGNED_INT32;
    shape.NumChannels = 1;
    CUarray array;
    CUdeviceptr linear;
    std::vector<unsigned> host(width * height * depth), back(host.size());
    for (size_t i = 0; i < host.size(); i++)
        host[i] = (unsigned)(i * 2654435761u);
    CHECK_DRIVER(cuArray3DCreate(&array, &shape));
    CHECK_DRIVER(cuMemAlloc(&linear, 50 * 10 * depth * 4));
    CUDA_MEMCPY3D_BATCH_OP in = {}, on = {}, out = {};
    in.extent = {width, height, depth};
    in.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
    in.src.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    in.src.op.ptr.ptr = (CUdeviceptr)host.data();
    in.dst.type = CU_MEMCPY_OPERAND_TYPE_ARRAY;
    in.dst.op.array.array = array;
    in.dst.op.array.offset = {5, 3, 2};
    CHECK_DRIVER(cuMemcpy3DBatchAsync(1, &in, 0, stream));
    on = in;
    on.src = in.dst;
    on.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    on.dst.op.ptr.ptr = linear;
    on.dst.op.ptr.rowLength = 50;
    on.dst.op.ptr.layerHeight = 10;
    CHECK_DRIVER(cuMemcpy3DBatchAsync(1, &on, 0, stream));
    // Between pointers an element is a byte.
    out.extent = {width * 4, height, depth};
    out.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    out.src = on.dst;
    out.src.op.ptr.rowLength = 50 * 4;
    out.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    out.dst.op.ptr.ptr = (CUdeviceptr)back.data();
    CHECK_DRIVER(cuMemcpy3DBatchAsync(1, &out, 0, stream));
    CHECK_DRIVER(cuStreamSynchronize(stream));
    for (size_t i = 0; i < host.size(); i++) {
        if (back[i] != host[i])
            fail("element %zu of the box is %u, %u is right", i, back[i], host[i]);
    }
    CUDA_MEMCPY3D_BATCH_OP both[2] = {out, in};
    both[1].dst.op.array.offset.x = 30; // beyond the array
    EXPECT_DRIVER(cuMemcpy3DBatchAsync(2, both, 0, stream), CUDA_ERROR_INVALID_VALUE);
    both[1] = in;
    both[1].extent.depth = 0;
    EXPECT_DRIVER(cuMemcpy3DBatchAsync(2, both, 0, stream), CUDA_ERROR_INVALID_VALUE);
    both[1] = in;
    both[1].src.op.ptr.rowLength = width - 1;
    EXPECT_DRIVER(cuMemcpy3DBatchAsync(2, both, 0, stream), CUDA_ERROR_INVALID_VALUE);
    EXPECT_DRIVER(cuMemcpy3DBatchAsync(2, both, 1, stream), CUDA_ERROR_INVALID_VALUE);
    CHECK_DRIVER(cuStreamSynchronize(stream));
    CHECK_DRIVER(cuArrayDestroy(array));
    CHECK_DRIVER(cuMemFree(linear));
}

int main()
{
    CUstream stream;
    CHECK_DRIVER(cuInit(0));
    CUcontext context = create_context(0);
    CHECK_DRIVER(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    lines(stream);
    boxes(stream);
    CHECK_DRIVER(cuStreamDestroy(stream));
    CHECK_DRIVER(cuCtxDestroy(context));
    return passed();
}
