/* SPDX-License-Identifier: Apache-2.0 */
/* Managed memory: advice, prefetching and range attributes. The calls are checked here;
 * front_host.managed_move and front_host.managed_attach tell the library where the program wants
 * its memory and which stream may use it.
 *
 * Note: cuda.h demands devices with CONCURRENT_MANAGED_ACCESS for advice and prefetching. Here
 * every device takes both: they are hints. */
#include "front/memory/managed.h"

#include "front/front.h"
#include "front/memory/advice.h"

#define DEVICE_CPU     (-1) /* CU_DEVICE_CPU */
#define DEVICE_INVALID (-2) /* CU_DEVICE_INVALID */

/* ---- arguments */

CUresult front_managed_check(uint64_t start, uint64_t bytes)
{
    struct front_pointer pointer;
    bool inside = bytes != 0 && front_host.pointer(start, &pointer) && pointer.managed &&
                  bytes <= pointer.bytes - (start - pointer.start);
    return inside ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Host memory is one location: its NUMA nodes are not told apart, and all are 0. */
CUresult front_managed_location(const CUmemLocation *given, CUmemLocation *out)
{
    struct front_device device;
    *out = (CUmemLocation){.type = given->type};
    switch ((int)given->type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
        out->id = given->id;
        return front_host.device(given->id, &device);
    case CU_MEM_LOCATION_TYPE_HOST:
        return CUDA_SUCCESS;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
        return given->id == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
        out->type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUmemLocation front_managed_place(CUdevice device)
{
    return (CUmemLocation){.type = device == DEVICE_CPU ? CU_MEM_LOCATION_TYPE_HOST
                                                        : CU_MEM_LOCATION_TYPE_DEVICE,
                           .id = device == DEVICE_CPU ? 0 : device};
}

static CUresult managed_ready(void)
{
    CUresult rc = front_ready();
    return rc == CUDA_SUCCESS ? front_host.process_state() : rc;
}

/* ---- advice */

struct word {
    CUmem_advise advice;
    CUmemLocation location;
};

static void advice_change(struct front_advice *advice, const void *user)
{
    const struct word *word = user;
    unsigned number = word->location.type == CU_MEM_LOCATION_TYPE_DEVICE
                          ? (unsigned)word->location.id % FRONT_ADVICE_DEVICES
                          : FRONT_ADVICE_HOST;
    uint64_t bit = UINT64_C(1) << (number % 64);
    switch ((int)word->advice) {
    case CU_MEM_ADVISE_SET_READ_MOSTLY:
    case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
        advice->read_mostly = word->advice == CU_MEM_ADVISE_SET_READ_MOSTLY;
        break;
    case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
        advice->preferred = word->location;
        break;
    case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
        advice->preferred = (CUmemLocation){0};
        break;
    case CU_MEM_ADVISE_SET_ACCESSED_BY:
        advice->accessed[number / 64] |= bit;
        break;
    default:
        advice->accessed[number / 64] &= ~bit;
        break;
    }
}

static CUresult word_check(const CUmemLocation *location, struct word *word)
{
    bool accessed = word->advice == CU_MEM_ADVISE_SET_ACCESSED_BY ||
                    word->advice == CU_MEM_ADVISE_UNSET_ACCESSED_BY;
    if (word->advice < CU_MEM_ADVISE_SET_READ_MOSTLY ||
        word->advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (!accessed && word->advice != CU_MEM_ADVISE_SET_PREFERRED_LOCATION) {
        return CUDA_SUCCESS; /* the location is ignored */
    }
    bool numa = location->type == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
                location->type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
    return accessed && numa ? CUDA_ERROR_INVALID_VALUE
                            : front_managed_location(location, &word->location);
}

CUresult CUDAAPI cuMemAdvise_v2(CUdeviceptr devPtr, size_t count, CUmem_advise advice,
                                CUmemLocation location)
{
    struct word word = {.advice = advice};
    CUresult rc = managed_ready();
    if (rc == CUDA_SUCCESS) {
        rc = front_managed_check(devPtr, count);
    }
    if (rc == CUDA_SUCCESS) {
        rc = word_check(&location, &word);
    }
    if (rc == CUDA_SUCCESS && !front_advice_set(devPtr, devPtr + count, advice_change, &word)) {
        rc = CUDA_ERROR_OUT_OF_MEMORY;
    }
    return rc;
}

CUresult CUDAAPI cuMemAdvise(CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUdevice device)
{
    return cuMemAdvise_v2(devPtr, count, advice, front_managed_place(device));
}

/* ---- attributes of a range */

static int managed_ordinal_of(const CUmemLocation *location)
{
    switch ((int)location->type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
        return location->id;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
        return DEVICE_CPU;
    default:
        return DEVICE_INVALID;
    }
}

static void accessed_list(const struct front_advice *advice, int *out, size_t room)
{
    size_t at = 0;
    for (unsigned number = 0; number <= FRONT_ADVICE_HOST && at < room; number++) {
        if (advice->accessed[number / 64] >> (number % 64) & 1) {
            out[at++] = number == FRONT_ADVICE_HOST ? DEVICE_CPU : (int)number;
        }
    }
    while (at < room) {
        out[at++] = DEVICE_INVALID;
    }
}

static CUresult attribute_check(const void *data, size_t bytes, CUmem_range_attribute attribute)
{
    if (data == NULL || attribute < CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY ||
        attribute > CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    bool fits =
        attribute == CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY ? bytes != 0 && bytes % 4 == 0 : bytes == 4;
    return fits ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static void attribute_write(const struct front_advice *advice, CUmem_range_attribute attribute,
                            int *data, size_t bytes)
{
    switch ((int)attribute) {
    case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
        *data = advice->read_mostly;
        break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
        *data = managed_ordinal_of(&advice->preferred);
        break;
    case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
        accessed_list(advice, data, bytes / 4);
        break;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
        *data = managed_ordinal_of(&advice->prefetched);
        break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
        *data = (int)advice->preferred.type;
        break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
        *data = advice->preferred.id;
        break;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
        *data = (int)advice->prefetched.type;
        break;
    default:
        *data = advice->prefetched.id;
        break;
    }
}

CUresult CUDAAPI cuMemRangeGetAttributes(void **data, size_t *dataSizes,
                                         CUmem_range_attribute *attributes, size_t numAttributes,
                                         CUdeviceptr devPtr, size_t count)
{
    CUresult rc = managed_ready();
    if (rc == CUDA_SUCCESS &&
        (data == NULL || dataSizes == NULL || attributes == NULL || numAttributes == 0)) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        rc = front_managed_check(devPtr, count);
    }
    for (size_t i = 0; rc == CUDA_SUCCESS && i < numAttributes; i++) {
        rc = attribute_check(data[i], dataSizes[i], attributes[i]);
    }
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct front_advice advice;
    front_advice_get(devPtr, devPtr + count, &advice);
    for (size_t i = 0; i < numAttributes; i++) {
        attribute_write(&advice, attributes[i], data[i], dataSizes[i]);
    }
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemRangeGetAttribute(void *data, size_t dataSize,
                                        CUmem_range_attribute attribute, CUdeviceptr devPtr,
                                        size_t count)
{
    return cuMemRangeGetAttributes(&data, &dataSize, &attribute, 1, devPtr, count);
}
