/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of devices as programs may see them. */
#ifndef CLIENT_SESSION_DEVICE_ATTRIBUTES_H
#define CLIENT_SESSION_DEVICE_ATTRIBUTES_H

#include <stdint.h>

/* Attributes as programs may see them, from the driver's (device_attributes.c). */
void client_attributes_apply(int32_t *seen, const int32_t *driver, uint32_t count);

#endif
