/* SPDX-License-Identifier: Apache-2.0 */
/* Checked arguments of the calls about managed memory. */
#ifndef FRONT_MEMORY_MANAGED_H
#define FRONT_MEMORY_MANAGED_H

#include <stdint.h>

#include "api/cuda_names.h"

/* CUDA_ERROR_INVALID_VALUE unless the range lies in one managed allocation or variable. */
CUresult front_managed_check(uint64_t start, uint64_t bytes);
/* Reads a location. */
CUresult front_managed_location(const CUmemLocation *given, CUmemLocation *out);
/* The location that a device number (or CU_DEVICE_CPU) means. */
CUmemLocation front_managed_place(CUdevice device);

#endif
