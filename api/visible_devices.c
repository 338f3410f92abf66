/* SPDX-License-Identifier: Apache-2.0 */
#include "api/visible_devices.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* "GPU-xxxxxxxx-xxxx-..." as far as the entry goes. */
static bool uuid_matches(const char *entry, size_t length, const uint8_t *uuid)
{
    char text[48] = "GPU-";
    size_t at = 4;
    for (int i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) {
            text[at++] = '-';
        }
        at += (size_t)snprintf(text + at, sizeof text - at, "%02x", uuid[i]);
    }
    return length >= 5 && length <= at && strncasecmp(entry, text, length) == 0;
}

static int entry_device(const char *entry, size_t length, const struct api_choice *devices,
                        int count)
{
    int found = -1;
    if (isdigit((unsigned char)entry[0])) {
        int index = 0;
        for (size_t i = 0; i < length && isdigit((unsigned char)entry[i]); i++) {
            if (index > 100000) {
                return -1;
            }
            index = index * 10 + (entry[i] - '0');
        }
        return index < count ? index : -1;
    }
    for (int i = 0; i < count; i++) {
        if (uuid_matches(entry, length, devices[i].uuid)) {
            if (found >= 0) {
                return -1; /* the prefix means two devices */
            }
            found = i;
        }
    }
    return found;
}

int api_visible_devices(const char *text, const struct api_choice *devices, int count, int *chosen)
{
    int made = 0;
    if (text == NULL) {
        for (; made < count; made++) {
            chosen[made] = made;
        }
        return made;
    }
    while (*text != 0) {
        text += strspn(text, " \t");
        size_t length = strcspn(text, ", \t");
        int device = length != 0 ? entry_device(text, length, devices, count) : -1;
        for (int i = 0; i < made && device >= 0; i++) {
            if (chosen[i] == device) {
                return 0; /* named twice: CUDA then shows no device */
            }
        }
        if (device < 0) {
            break;
        }
        chosen[made++] = device;
        text += length;
        text += strspn(text, " \t");
        text += *text == ',';
    }
    return made;
}
