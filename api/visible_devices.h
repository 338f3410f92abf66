/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of devices as in CUDA_VISIBLE_DEVICES, for whoever shows devices to a program. */
#ifndef API_VISIBLE_DEVICES_H
#define API_VISIBLE_DEVICES_H

#include <stddef.h>
#include <stdint.h>

#define API_VISIBLE_DEVICES "CUDA_VISIBLE_DEVICES"

/* The UUID of a device, 16 bytes. */
typedef const uint8_t *api_uuid_of(const void *device);

/* Finds the devices that a list like "1,0" or "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6" names (the
 * beginning of a UUID is enough), and moves them to the beginning of the array `devices`, which has
 * `count` of `size` bytes each, in the list's order. In an entry that begins with a digit the
 * leading number counts ("1x" is 1). The first entry that names no device ends the list, and a
 * device that is named twice leaves none, both as in CUDA. Returns how many are named; `text` NULL:
 * all. `variable` names the list in a warning when it names none. */
int api_visible_choose(const char *variable, const char *text, void *devices, size_t size,
                       int count, api_uuid_of *uuid_of);

#endif
