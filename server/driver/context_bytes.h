/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a device that a context takes. */
#ifndef SERVER_DRIVER_CONTEXT_BYTES_H
#define SERVER_DRIVER_CONTEXT_BYTES_H

#include "api/cuda_driver.h"

/* A context of the device is current, and stays so. */
CUresult context_bytes_measure(const struct cuda_driver *driver, CUdevice device, uint64_t *bytes);

#endif
