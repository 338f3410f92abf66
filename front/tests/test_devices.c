/* SPDX-License-Identifier: Apache-2.0 */
/* Device calls are answered from the facts of the host library. */
#include <criterion/criterion.h>

#include "front/tests/fake_host.h"

Test(devices, are_found_by_ordinal_and_by_pci_place)
{
    char place[32];
    CUdevice device = -1;
    cr_assert_eq(cuDeviceGet(&device, 1), CUDA_ERROR_NOT_INITIALIZED);
    cr_assert_eq(cuInit(0), CUDA_SUCCESS);
    cr_assert_eq(cuDeviceGetPCIBusId(place, sizeof place, 1), CUDA_SUCCESS);
    cr_assert_str_eq(place, "0001:42:03.0");
    cr_assert_eq(cuDeviceGetByPCIBusId(&device, place), CUDA_SUCCESS);
    cr_assert_eq(device, 1);
    cr_assert_eq(cuDeviceGetByPCIBusId(&device, "41:3"), CUDA_SUCCESS);
    cr_assert_eq(device, 0);
    cr_assert_eq(cuDeviceGetByPCIBusId(&device, "0001:43:03.0"), CUDA_ERROR_INVALID_DEVICE);
    cr_assert_eq(cuDeviceGetByPCIBusId(&device, "nowhere"), CUDA_ERROR_INVALID_VALUE);
}

Test(devices, wrong_arguments_are_told_apart)
{
    int value;
    char name[8];
    CUdevice device;
    cr_assert_eq(cuInit(0), CUDA_SUCCESS);
    cr_assert_eq(cuDeviceGet(&device, 2), CUDA_ERROR_INVALID_DEVICE);
    cr_assert_eq(cuDeviceGet(NULL, 0), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuDeviceGetName(name, 0, 0), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuDeviceGetName(name, 3, 0), CUDA_SUCCESS);
    cr_assert_str_eq(name, "fa");
    cr_assert_eq(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 1), CUDA_SUCCESS);
    cr_assert_eq(value, 1000 + CU_DEVICE_ATTRIBUTE_WARP_SIZE);
    cr_assert_eq(cuDeviceGetAttribute(&value, (CUdevice_attribute)0, 1), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAX, 1),
                 CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuDeviceCanAccessPeer(&value, 0, 1), CUDA_SUCCESS);
    cr_assert_eq(value, 1);
    cr_assert_eq(cuDeviceCanAccessPeer(&value, 1, 0), CUDA_SUCCESS);
    cr_assert_eq(value, 0);
    cr_assert_eq(cuDeviceCanAccessPeer(&value, 0, 0), CUDA_SUCCESS);
    cr_assert_eq(value, 0);
    cr_assert_eq(cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK, 0, 0),
                 CUDA_ERROR_INVALID_DEVICE);
    cr_assert_eq(cuDeviceGetP2PAttribute(&value, (CUdevice_P2PAttribute)99, 0, 1),
                 CUDA_ERROR_INVALID_VALUE);
}
