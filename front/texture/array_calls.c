/* SPDX-License-Identifier: Apache-2.0 */
/* The calls about arrays that need only their shape, and copies of lines, which are rectangles
 * with one row. */
#include "front/front.h"

static CUresult array_call_find(CUarray handle, struct front_array *array)
{
    CUresult rc = front_ready();
    return rc == CUDA_SUCCESS ? front_host.array((uint64_t)(uintptr_t)handle, false, array) : rc;
}

static CUresult mipmap_find(CUmipmappedArray handle, struct front_array *array)
{
    CUresult rc = front_ready();
    return rc == CUDA_SUCCESS ? front_host.array((uint64_t)(uintptr_t)handle, true, array) : rc;
}

CUresult CUDAAPI cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *pArrayDescriptor, CUarray hArray)
{
    struct front_array array;
    CUresult rc = array_call_find(hArray, &array);
    if (rc == CUDA_SUCCESS && pArrayDescriptor == NULL) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        *pArrayDescriptor = (CUDA_ARRAY_DESCRIPTOR){.Width = array.shape.Width,
                                                    .Height = array.shape.Height,
                                                    .Format = array.shape.Format,
                                                    .NumChannels = array.shape.NumChannels};
    }
    return rc;
}

CUresult CUDAAPI cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *pArrayDescriptor,
                                           CUarray hArray)
{
    struct front_array array;
    CUresult rc = array_call_find(hArray, &array);
    if (rc == CUDA_SUCCESS && pArrayDescriptor == NULL) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        *pArrayDescriptor = array.shape;
    }
    return rc;
}

/* No array has several planes, is sparse, or can be mapped by the program: queries of these
 * properties are errors, as cuda.h says. */

CUresult CUDAAPI cuArrayGetPlane(CUarray *pPlaneArray, CUarray hArray, unsigned int planeIdx)
{
    (void)pPlaneArray, (void)planeIdx;
    struct front_array array;
    CUresult rc = array_call_find(hArray, &array);
    return rc == CUDA_SUCCESS ? CUDA_ERROR_INVALID_VALUE : rc;
}

CUresult CUDAAPI cuArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES *sparseProperties,
                                            CUarray array)
{
    (void)sparseProperties;
    struct front_array found;
    CUresult rc = array_call_find(array, &found);
    return rc == CUDA_SUCCESS ? CUDA_ERROR_INVALID_VALUE : rc;
}

CUresult CUDAAPI cuMipmappedArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES *sparseProperties,
                                                     CUmipmappedArray mipmap)
{
    (void)sparseProperties;
    struct front_array found;
    CUresult rc = mipmap_find(mipmap, &found);
    return rc == CUDA_SUCCESS ? CUDA_ERROR_INVALID_VALUE : rc;
}

CUresult CUDAAPI cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *memoryRequirements,
                                              CUarray array, CUdevice device)
{
    (void)memoryRequirements, (void)device;
    struct front_array found;
    CUresult rc = array_call_find(array, &found);
    return rc == CUDA_SUCCESS ? CUDA_ERROR_INVALID_VALUE : rc;
}

CUresult CUDAAPI cuMipmappedArrayGetMemoryRequirements(
    CUDA_ARRAY_MEMORY_REQUIREMENTS *memoryRequirements, CUmipmappedArray mipmap, CUdevice device)
{
    (void)memoryRequirements, (void)device;
    struct front_array found;
    CUresult rc = mipmap_find(mipmap, &found);
    return rc == CUDA_SUCCESS ? CUDA_ERROR_INVALID_VALUE : rc;
}

/* ---- lines */

/* CUDA_ERROR_INVALID_VALUE unless the array has one dimension and the address is aligned to its
 * elements. */
static CUresult line_check_address(CUarray handle, CUdeviceptr address)
{
    struct front_array array;
    CUresult rc = array_call_find(handle, &array);
    if (rc == CUDA_ERROR_INVALID_HANDLE ||
        (rc == CUDA_SUCCESS &&
         (array.shape.Height != 0 || array.shape.Depth != 0 || address % array.element != 0))) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    return rc;
}

static CUresult line_check(CUarray handle)
{
    return line_check_address(handle, 0);
}

static CUDA_MEMCPY2D array_line(size_t bytes)
{
    return (CUDA_MEMCPY2D){.WidthInBytes = bytes, .Height = 1};
}

static void to_array(CUDA_MEMCPY2D *copy, CUarray array, size_t offset)
{
    copy->dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy->dstArray = array;
    copy->dstXInBytes = offset;
}

static void from_array(CUDA_MEMCPY2D *copy, CUarray array, size_t offset)
{
    copy->srcMemoryType = CU_MEMORYTYPE_ARRAY;
    copy->srcArray = array;
    copy->srcXInBytes = offset;
}

static CUresult host_to_array(CUDA_MEMCPY2D *copy, CUarray array, size_t offset, const void *host)
{
    to_array(copy, array, offset);
    copy->srcMemoryType = CU_MEMORYTYPE_HOST;
    copy->srcHost = host;
    return line_check(array);
}

static CUresult array_to_host(CUDA_MEMCPY2D *copy, void *host, CUarray array, size_t offset)
{
    from_array(copy, array, offset);
    copy->dstMemoryType = CU_MEMORYTYPE_HOST;
    copy->dstHost = host;
    return line_check(array);
}

static CUresult device_to_array(CUDA_MEMCPY2D *copy, CUarray array, size_t offset, CUdeviceptr from)
{
    to_array(copy, array, offset);
    copy->srcMemoryType = CU_MEMORYTYPE_DEVICE;
    copy->srcDevice = from;
    return line_check(array);
}

static CUresult array_to_device(CUDA_MEMCPY2D *copy, CUdeviceptr to, CUarray array, size_t offset)
{
    from_array(copy, array, offset);
    copy->dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy->dstDevice = to;
    return line_check_address(array, to);
}

static CUresult array_to_array(CUDA_MEMCPY2D *copy, CUarray to, size_t to_offset, CUarray from,
                               size_t from_offset)
{
    to_array(copy, to, to_offset);
    from_array(copy, from, from_offset);
    CUresult rc = line_check(to);
    return rc == CUDA_SUCCESS ? line_check(from) : rc;
}

CUresult CUDAAPI cuMemcpyHtoA_v2(CUarray dstArray, size_t dstOffset, const void *srcHost,
                                 size_t ByteCount)
{
    CUDA_MEMCPY2D copy = array_line(ByteCount);
    CUresult rc = host_to_array(&copy, dstArray, dstOffset, srcHost);
    return rc == CUDA_SUCCESS ? cuMemcpy2D_v2(&copy) : rc;
}

CUresult CUDAAPI cuMemcpyHtoAAsync_v2(CUarray dstArray, size_t dstOffset, const void *srcHost,
                                      size_t ByteCount, CUstream hStream)
{
    CUDA_MEMCPY2D copy = array_line(ByteCount);
    CUresult rc = host_to_array(&copy, dstArray, dstOffset, srcHost);
    return rc == CUDA_SUCCESS ? cuMemcpy2DAsync_v2(&copy, hStream) : rc;
}

CUresult CUDAAPI cuMemcpyAtoH_v2(void *dstHost, CUarray srcArray, size_t srcOffset,
                                 size_t ByteCount)
{
    CUDA_MEMCPY2D copy = array_line(ByteCount);
    CUresult rc = array_to_host(&copy, dstHost, srcArray, srcOffset);
    return rc == CUDA_SUCCESS ? cuMemcpy2D_v2(&copy) : rc;
}

CUresult CUDAAPI cuMemcpyAtoHAsync_v2(void *dstHost, CUarray srcArray, size_t srcOffset,
                                      size_t ByteCount, CUstream hStream)
{
    CUDA_MEMCPY2D copy = array_line(ByteCount);
    CUresult rc = array_to_host(&copy, dstHost, srcArray, srcOffset);
    return rc == CUDA_SUCCESS ? cuMemcpy2DAsync_v2(&copy, hStream) : rc;
}

/* A copy within the device, in the legacy stream or in the thread's. It waits for nothing. */
static CUresult array_copy_in(const CUDA_MEMCPY2D *copy, CUresult rc, CUstream stream)
{
    rc = rc == CUDA_SUCCESS ? cuMemcpy2DAsync_v2(copy, stream) : rc;
    return front_settle(rc, stream, copy->dstDevice, copy->srcDevice); /* 0 for arrays */
}

CUresult CUDAAPI cuMemcpyDtoA_v2(CUarray dstArray, size_t dstOffset, CUdeviceptr srcDevice,
                                 size_t ByteCount)
{
    CUDA_MEMCPY2D copy = array_line(ByteCount);
    CUresult rc = device_to_array(&copy, dstArray, dstOffset, srcDevice);
    return array_copy_in(&copy, rc, CU_STREAM_LEGACY);
}

CUresult CUDAAPI cuMemcpyDtoA_v2_ptds(CUarray dstArray, size_t dstOffset, CUdeviceptr srcDevice,
                                      size_t ByteCount)
{
    CUDA_MEMCPY2D copy = array_line(ByteCount);
    CUresult rc = device_to_array(&copy, dstArray, dstOffset, srcDevice);
    return array_copy_in(&copy, rc, CU_STREAM_PER_THREAD);
}

CUresult CUDAAPI cuMemcpyAtoD_v2(CUdeviceptr dstDevice, CUarray srcArray, size_t srcOffset,
                                 size_t ByteCount)
{
    CUDA_MEMCPY2D copy = array_line(ByteCount);
    CUresult rc = array_to_device(&copy, dstDevice, srcArray, srcOffset);
    return array_copy_in(&copy, rc, CU_STREAM_LEGACY);
}

CUresult CUDAAPI cuMemcpyAtoD_v2_ptds(CUdeviceptr dstDevice, CUarray srcArray, size_t srcOffset,
                                      size_t ByteCount)
{
    CUDA_MEMCPY2D copy = array_line(ByteCount);
    CUresult rc = array_to_device(&copy, dstDevice, srcArray, srcOffset);
    return array_copy_in(&copy, rc, CU_STREAM_PER_THREAD);
}

CUresult CUDAAPI cuMemcpyAtoA_v2(CUarray dstArray, size_t dstOffset, CUarray srcArray,
                                 size_t srcOffset, size_t ByteCount)
{
    CUDA_MEMCPY2D copy = array_line(ByteCount);
    CUresult rc = array_to_array(&copy, dstArray, dstOffset, srcArray, srcOffset);
    return array_copy_in(&copy, rc, CU_STREAM_LEGACY);
}

CUresult CUDAAPI cuMemcpyAtoA_v2_ptds(CUarray dstArray, size_t dstOffset, CUarray srcArray,
                                      size_t srcOffset, size_t ByteCount)
{
    CUDA_MEMCPY2D copy = array_line(ByteCount);
    CUresult rc = array_to_array(&copy, dstArray, dstOffset, srcArray, srcOffset);
    return array_copy_in(&copy, rc, CU_STREAM_PER_THREAD);
}
