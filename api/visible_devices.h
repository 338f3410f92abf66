/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of devices as in CUDA_VISIBLE_DEVICES, for whoever shows devices to a program. */
#ifndef API_VISIBLE_DEVICES_H
#define API_VISIBLE_DEVICES_H

#include <stdint.h>

#define API_VISIBLE_DEVICES "CUDA_VISIBLE_DEVICES"

/* One device that can be chosen. */
struct api_choice {
    const uint8_t *uuid; /* 16 bytes */
};

/* Finds the devices, of `count`, that a list like "1,0" or
 * "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6" names (the beginning of a UUID is enough), in its
 * order. In an entry that begins with a digit the leading number counts ("1x" is 1). The first
 * entry that names no device ends the list, and a device that is named twice leaves none, both as
 * in CUDA. Returns the number of `chosen` ones; text NULL: all. */
int api_visible_devices(const char *text, const struct api_choice *devices, int count, int *chosen);

#endif
