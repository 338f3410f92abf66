/* Devices: everything is answered from the facts that came with the welcome. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/state.h"

/* Ready, `out` is given and the device exists. */
static CUresult need(CUdevice dev, const void *out, struct client_device **device)
{
    CUresult rc = client_ready();
    if (rc == CUDA_SUCCESS && out == NULL) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    return rc == CUDA_SUCCESS ? client_device_find(dev, device) : rc;
}

CUresult CUDAAPI cuDeviceGet(CUdevice *device, int ordinal)
{
    struct client_device *found;
    CUresult rc = need(ordinal, device, &found);
    if (rc == CUDA_SUCCESS) {
        *device = ordinal;
    }
    return rc;
}

CUresult CUDAAPI cuDeviceGetCount(int *count)
{
    CUresult rc = client_ready();
    if (rc == CUDA_SUCCESS && count == NULL) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        *count = client_device_count;
    }
    return rc;
}

CUresult CUDAAPI cuDeviceGetName(char *name, int len, CUdevice dev)
{
    struct client_device *device;
    CUresult rc = need(dev, name, &device);
    if (rc == CUDA_SUCCESS && len <= 0) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        snprintf(name, (size_t)len, "%s", device->name);
    }
    return rc;
}

CUresult CUDAAPI cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
    struct client_device *device;
    CUresult rc = need(dev, bytes, &device);
    if (rc == CUDA_SUCCESS) {
        *bytes = device->memory_bytes;
    }
    return rc;
}

CUresult CUDAAPI cuDeviceGetAttribute(int *pi, CUdevice_attribute attrib, CUdevice dev)
{
    struct client_device *device;
    CUresult rc = need(dev, pi, &device);
    if (rc == CUDA_SUCCESS && (attrib < 1 || attrib >= CU_DEVICE_ATTRIBUTE_MAX)) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        *pi = attrib < CLIENT_ATTRIBUTES ? device->attributes[attrib] : 0;
    }
    return rc;
}

CUresult CUDAAPI cuDeviceGetUuid(CUuuid *uuid, CUdevice dev)
{
    struct client_device *device;
    CUresult rc = need(dev, uuid, &device);
    if (rc == CUDA_SUCCESS) {
        memcpy(uuid->bytes, device->uuid, sizeof uuid->bytes);
    }
    return rc;
}

CUresult CUDAAPI cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev)
{
    return cuDeviceGetUuid(uuid, dev);
}

CUresult CUDAAPI cuDeviceGetPCIBusId(char *pciBusId, int len, CUdevice dev)
{
    struct client_device *device;
    CUresult rc = need(dev, pciBusId, &device);
    if (rc == CUDA_SUCCESS && len <= 0) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        const int32_t *at = device->attributes;
        snprintf(pciBusId, (size_t)len, "%04X:%02X:%02X.0",
                 (unsigned)at[CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID],
                 (unsigned)at[CU_DEVICE_ATTRIBUTE_PCI_BUS_ID],
                 (unsigned)at[CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID]);
    }
    return rc;
}

/* "domain:bus:device.function", the domain and the function may be missing. */
CUresult CUDAAPI cuDeviceGetByPCIBusId(CUdevice *dev, const char *pciBusId)
{
    CUresult rc = client_ready();
    if (rc != CUDA_SUCCESS || dev == NULL || pciBusId == NULL) {
        return rc != CUDA_SUCCESS ? rc : CUDA_ERROR_INVALID_VALUE;
    }
    unsigned domain = 0, bus, slot;
    if (sscanf(pciBusId, "%x:%x:%x", &domain, &bus, &slot) != 3) {
        domain = 0;
        if (sscanf(pciBusId, "%x:%x", &bus, &slot) != 2) {
            return CUDA_ERROR_INVALID_VALUE;
        }
    }
    for (int i = 0; i < client_device_count; i++) {
        const int32_t *at = client_devices[i]->attributes;
        if ((unsigned)at[CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID] == domain &&
            (unsigned)at[CU_DEVICE_ATTRIBUTE_PCI_BUS_ID] == bus &&
            (unsigned)at[CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID] == slot) {
            *dev = i;
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_INVALID_DEVICE;
}

CUresult CUDAAPI cuDeviceGetProperties(CUdevprop *prop, CUdevice dev)
{
    struct client_device *device;
    CUresult rc = need(dev, prop, &device);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    const int32_t *at = device->attributes;
    *prop = (CUdevprop){
        .maxThreadsPerBlock = at[CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK],
        .maxThreadsDim = {at[CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X],
                          at[CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y],
                          at[CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z]},
        .maxGridSize = {at[CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X],
                        at[CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y],
                        at[CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z]},
        .sharedMemPerBlock = at[CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK],
        .totalConstantMemory = at[CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY],
        .SIMDWidth = at[CU_DEVICE_ATTRIBUTE_WARP_SIZE],
        .memPitch = at[CU_DEVICE_ATTRIBUTE_MAX_PITCH],
        .regsPerBlock = at[CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK],
        .clockRate = at[CU_DEVICE_ATTRIBUTE_CLOCK_RATE],
        .textureAlign = at[CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT],
    };
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceComputeCapability(int *major, int *minor, CUdevice dev)
{
    struct client_device *device;
    CUresult rc = need(dev, major, &device);
    if (rc == CUDA_SUCCESS && minor == NULL) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        *major = device->attributes[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR];
        *minor = device->attributes[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR];
    }
    return rc;
}

/* Kernels of one device reading another's memory: not offered yet. Copies between devices of one
 * node work without. */
CUresult CUDAAPI cuDeviceCanAccessPeer(int *canAccessPeer, CUdevice dev, CUdevice peerDev)
{
    struct client_device *device;
    CUresult rc = need(dev, canAccessPeer, &device);
    if (rc == CUDA_SUCCESS) {
        rc = client_device_find(peerDev, &device);
    }
    if (rc == CUDA_SUCCESS) {
        *canAccessPeer = 0;
    }
    return rc;
}

CUresult CUDAAPI cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attrib,
                                         CUdevice srcDevice, CUdevice dstDevice)
{
    struct client_device *device;
    CUresult rc = need(srcDevice, value, &device);
    if (rc == CUDA_SUCCESS) {
        rc = client_device_find(dstDevice, &device);
    }
    if (rc == CUDA_SUCCESS && (srcDevice == dstDevice || (int)attrib < 1)) {
        rc = srcDevice == dstDevice ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        *value = 0;
    }
    return rc;
}
