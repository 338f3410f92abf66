/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of devices, which the host library knows. No call needs a context or waits. */
#include <stdio.h>
#include <string.h>

#include "front/front.h"

/* Checks that front_ready holds, that `out` is not NULL and that the device exists. */
static CUresult device_need(CUdevice dev, const void *out, struct front_device *device)
{
    CUresult rc = front_ready();
    if (rc == CUDA_SUCCESS) {
        rc = front_host.process_state();
    }
    if (rc == CUDA_SUCCESS && out == NULL) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    return rc == CUDA_SUCCESS ? front_host.device(dev, device) : rc;
}

static int device_attribute_get(CUdevice dev, CUdevice_attribute which)
{
    int value = 0;
    (void)front_host.device_attribute(dev, which, &value);
    return value;
}

CUresult CUDAAPI cuDeviceGet(CUdevice *device, int ordinal)
{
    struct front_device found;
    CUresult rc = device_need(ordinal, device, &found);
    if (rc == CUDA_SUCCESS) {
        *device = ordinal;
    }
    return rc;
}

CUresult CUDAAPI cuDeviceGetCount(int *count)
{
    CUresult rc = front_ready();
    if (rc == CUDA_SUCCESS) {
        rc = front_host.process_state();
    }
    if (rc == CUDA_SUCCESS && count == NULL) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    return rc == CUDA_SUCCESS ? front_host.device_count(count) : rc;
}

CUresult CUDAAPI cuDeviceGetName(char *name, int len, CUdevice dev)
{
    struct front_device device;
    CUresult rc = device_need(dev, name, &device);
    if (rc == CUDA_SUCCESS && len <= 0) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        snprintf(name, (size_t)len, "%s", device.name);
    }
    return rc;
}

CUresult CUDAAPI cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
    struct front_device device;
    CUresult rc = device_need(dev, bytes, &device);
    if (rc == CUDA_SUCCESS) {
        *bytes = device.memory_bytes;
    }
    return rc;
}

CUresult CUDAAPI cuDeviceGetAttribute(int *pi, CUdevice_attribute attrib, CUdevice dev)
{
    struct front_device device;
    CUresult rc = device_need(dev, pi, &device);
    if (rc == CUDA_SUCCESS && ((int)attrib < 1 || attrib >= CU_DEVICE_ATTRIBUTE_MAX)) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    return rc == CUDA_SUCCESS ? front_host.device_attribute(dev, attrib, pi) : rc;
}

CUresult CUDAAPI cuDeviceGetUuid(CUuuid *uuid, CUdevice dev)
{
    struct front_device device;
    CUresult rc = device_need(dev, uuid, &device);
    if (rc == CUDA_SUCCESS) {
        memcpy(uuid->bytes, device.uuid, sizeof uuid->bytes);
    }
    return rc;
}

CUresult CUDAAPI cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev)
{
    return cuDeviceGetUuid(uuid, dev);
}

CUresult CUDAAPI cuDeviceGetPCIBusId(char *pciBusId, int len, CUdevice dev)
{
    struct front_device device;
    CUresult rc = device_need(dev, pciBusId, &device);
    if (rc == CUDA_SUCCESS && len <= 0) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        snprintf(pciBusId, (size_t)len, "%04X:%02X:%02X.0", (unsigned)device.pci_domain,
                 (unsigned)device.pci_bus, (unsigned)device.pci_device);
    }
    return rc;
}

/* [domain:]bus:device[.function], hexadecimal. */
CUresult CUDAAPI cuDeviceGetByPCIBusId(CUdevice *dev, const char *pciBusId)
{
    int count;
    CUresult rc = cuDeviceGetCount(&count);
    if (rc == CUDA_SUCCESS && (dev == NULL || pciBusId == NULL)) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    unsigned domain = 0, bus, slot;
    if (sscanf(pciBusId, "%x:%x:%x", &domain, &bus, &slot) != 3) {
        domain = 0;
        if (sscanf(pciBusId, "%x:%x", &bus, &slot) != 2) {
            return CUDA_ERROR_INVALID_VALUE;
        }
    }
    for (int i = 0; i < count; i++) {
        struct front_device at;
        if (front_host.device(i, &at) == CUDA_SUCCESS && (unsigned)at.pci_domain == domain &&
            (unsigned)at.pci_bus == bus && (unsigned)at.pci_device == slot) {
            *dev = i;
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_INVALID_DEVICE;
}

CUresult CUDAAPI cuDeviceGetProperties(CUdevprop *prop, CUdevice dev)
{
    struct front_device device;
    CUresult rc = device_need(dev, prop, &device);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    *prop = (CUdevprop){
        .maxThreadsPerBlock = device_attribute_get(dev, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
        .maxThreadsDim = {device_attribute_get(dev, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X),
                          device_attribute_get(dev, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y),
                          device_attribute_get(dev, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)},
        .maxGridSize = {device_attribute_get(dev, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X),
                        device_attribute_get(dev, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y),
                        device_attribute_get(dev, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)},
        .sharedMemPerBlock =
            device_attribute_get(dev, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK),
        .totalConstantMemory = device_attribute_get(dev, CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY),
        .SIMDWidth = device_attribute_get(dev, CU_DEVICE_ATTRIBUTE_WARP_SIZE),
        .memPitch = device_attribute_get(dev, CU_DEVICE_ATTRIBUTE_MAX_PITCH),
        .regsPerBlock = device_attribute_get(dev, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK),
        .clockRate = device_attribute_get(dev, CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
        .textureAlign = device_attribute_get(dev, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT),
    };
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceComputeCapability(int *major, int *minor, CUdevice dev)
{
    struct front_device device;
    CUresult rc = device_need(dev, major, &device);
    if (rc == CUDA_SUCCESS && minor == NULL) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        *major = device_attribute_get(dev, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
        *minor = device_attribute_get(dev, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    }
    return rc;
}

CUresult CUDAAPI cuDeviceCanAccessPeer(int *canAccessPeer, CUdevice dev, CUdevice peerDev)
{
    struct front_device device;
    CUresult rc = device_need(dev, canAccessPeer, &device);
    if (rc == CUDA_SUCCESS) {
        rc = front_host.device(peerDev, &device);
    }
    if (rc == CUDA_SUCCESS) {
        *canAccessPeer =
            dev != peerDev &&
            front_host.peer_attribute(dev, peerDev, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED) != 0;
    }
    return rc;
}

/* The last one; newer than the oldest cuda.h that we build with. */
#define P2P_ONLY_PARTIAL_NATIVE_ATOMICS 5

CUresult CUDAAPI cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attrib,
                                         CUdevice srcDevice, CUdevice dstDevice)
{
    struct front_device device;
    CUresult rc = device_need(srcDevice, value, &device);
    if (rc == CUDA_SUCCESS) {
        rc = srcDevice == dstDevice ? CUDA_ERROR_INVALID_DEVICE
                                    : front_host.device(dstDevice, &device);
    }
    if (rc == CUDA_SUCCESS && ((int)attrib < CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK ||
                               (int)attrib > P2P_ONLY_PARTIAL_NATIVE_ATOMICS)) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        *value = front_host.peer_attribute(srcDevice, dstDevice, attrib);
    }
    return rc;
}
