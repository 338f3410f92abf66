/* Devices: facts only, no context needed. */
#include <stdio.h>
#include <string.h>

#include "softgpu/calls/call.h"

/* Devices never change after cuInit, so these need no lock. */
static CUresult device_of(CUdevice ordinal, const void *out, struct sg_device **device)
{
    CUresult result = sg_process_state();
    if (result == CUDA_SUCCESS && out == NULL) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    return result == CUDA_SUCCESS ? sg_call_device(ordinal, device) : result;
}

CUresult CUDAAPI cuDeviceGet(CUdevice *device, int ordinal)
{
    struct sg_device *found;
    CUresult result = device_of((CUdevice)ordinal, device, &found);
    if (result == CUDA_SUCCESS) {
        *device = (CUdevice)ordinal;
    }
    return result;
}

CUresult CUDAAPI cuDeviceGetCount(int *count)
{
    CUresult result = sg_process_state();
    if (result == CUDA_SUCCESS && count == NULL) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result == CUDA_SUCCESS) {
        *count = (int)sg_process.device_count;
    }
    return result;
}

CUresult CUDAAPI cuDeviceGetName(char *name, int len, CUdevice dev)
{
    struct sg_device *device;
    CUresult result = device_of(dev, name, &device);
    if (result == CUDA_SUCCESS && len <= 0) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result == CUDA_SUCCESS) {
        snprintf(name, (size_t)len, "%s", device->config.name);
    }
    return result;
}

CUresult CUDAAPI cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
    struct sg_device *device;
    CUresult result = device_of(dev, bytes, &device);
    if (result == CUDA_SUCCESS) {
        *bytes = device->memory.total * SG_CHUNK_BYTES;
    }
    return result;
}

CUresult CUDAAPI cuDeviceGetAttribute(int *pi, CUdevice_attribute attrib, CUdevice dev)
{
    struct sg_device *device;
    CUresult result = device_of(dev, pi, &device);
    return result == CUDA_SUCCESS ? sg_device_attribute(device, attrib, pi) : result;
}

CUresult CUDAAPI cuDeviceGetUuid(CUuuid *uuid, CUdevice dev)
{
    struct sg_device *device;
    CUresult result = device_of(dev, uuid, &device);
    if (result == CUDA_SUCCESS) {
        memcpy(uuid->bytes, device->config.uuid, sizeof uuid->bytes);
    }
    return result;
}

CUresult CUDAAPI cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev)
{
    return cuDeviceGetUuid(uuid, dev);
}

CUresult CUDAAPI cuDeviceGetPCIBusId(char *pciBusId, int len, CUdevice dev)
{
    struct sg_device *device;
    CUresult result = device_of(dev, pciBusId, &device);
    if (result == CUDA_SUCCESS && len <= 0) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result == CUDA_SUCCESS) {
        snprintf(pciBusId, (size_t)len, "0000:%02X:00.0", (unsigned)sg_device_pci_bus(device));
    }
    return result;
}

/* [domain:]bus:device.function, hexadecimal */
CUresult CUDAAPI cuDeviceGetByPCIBusId(CUdevice *dev, const char *pciBusId)
{
    CUresult result = sg_process_state();
    if (result == CUDA_SUCCESS && (dev == NULL || pciBusId == NULL)) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result != CUDA_SUCCESS) {
        return result;
    }
    unsigned domain = 0, bus = 0, slot = 0, function = 0;
    if (sscanf(pciBusId, "%x:%x:%x.%x", &domain, &bus, &slot, &function) < 3) {
        domain = 0;
        if (sscanf(pciBusId, "%x:%x.%x", &bus, &slot, &function) < 2) {
            return CUDA_ERROR_INVALID_VALUE;
        }
    }
    for (unsigned i = 0; i < sg_process.device_count; i++) {
        if (domain == 0 && slot == 0 &&
            bus == (unsigned)sg_device_pci_bus(&sg_process.devices[i])) {
            *dev = (CUdevice)i;
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_INVALID_DEVICE;
}

CUresult CUDAAPI cuDeviceComputeCapability(int *major, int *minor, CUdevice dev)
{
    struct sg_device *device;
    CUresult result = device_of(dev, major, &device);
    if (result == CUDA_SUCCESS && minor == NULL) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result == CUDA_SUCCESS) {
        *major = SG_CC_MAJOR;
        *minor = SG_CC_MINOR;
    }
    return result;
}

static int attribute(const struct sg_device *device, CUdevice_attribute which)
{
    int value = 0;
    (void)sg_device_attribute(device, which, &value);
    return value;
}

CUresult CUDAAPI cuDeviceGetProperties(CUdevprop *prop, CUdevice dev)
{
    struct sg_device *d;
    CUresult result = device_of(dev, prop, &d);
    if (result == CUDA_SUCCESS) {
        *prop = (CUdevprop){.maxThreadsPerBlock = SG_BLOCK_THREADS_MAX,
                            .maxThreadsDim = {attribute(d, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X),
                                              attribute(d, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y),
                                              attribute(d, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)},
                            .maxGridSize = {attribute(d, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X),
                                            attribute(d, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y),
                                            attribute(d, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)},
                            .sharedMemPerBlock = (int)SG_SHARED_BLOCK_DEFAULT,
                            .totalConstantMemory =
                                attribute(d, CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY),
                            .SIMDWidth = SG_WARP_LANES,
                            .memPitch = attribute(d, CU_DEVICE_ATTRIBUTE_MAX_PITCH),
                            .regsPerBlock = (int)SG_REGISTERS_SM,
                            .clockRate = attribute(d, CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
                            .textureAlign = attribute(d, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT)};
    }
    return result;
}

/* Kernels of one device never reach another's memory (copies do, through the driver). */
CUresult CUDAAPI cuDeviceCanAccessPeer(int *canAccessPeer, CUdevice dev, CUdevice peerDev)
{
    struct sg_device *device;
    CUresult result = device_of(dev, canAccessPeer, &device);
    if (result == CUDA_SUCCESS) {
        result = sg_call_device(peerDev, &device);
    }
    if (result == CUDA_SUCCESS) {
        *canAccessPeer = 0;
    }
    return result;
}

CUresult CUDAAPI cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attrib,
                                         CUdevice srcDevice, CUdevice dstDevice)
{
    struct sg_device *device;
    CUresult result = device_of(srcDevice, value, &device);
    if (result == CUDA_SUCCESS) {
        result =
            srcDevice == dstDevice ? CUDA_ERROR_INVALID_DEVICE : sg_call_device(dstDevice, &device);
    }
    if (result == CUDA_SUCCESS && ((int)attrib < CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK ||
                                   attrib > CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED)) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result == CUDA_SUCCESS) {
        *value = 0;
    }
    return result;
}
