/* SPDX-License-Identifier: Apache-2.0 */
#include "api/visible_devices.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"

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

struct choice {
    uint8_t *devices;
    size_t size;
    int count;
    api_uuid_of *uuid_of;
};

static int entry_device(const char *entry, size_t length, const struct choice *choice)
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
        return index < choice->count ? index : -1;
    }
    for (int i = 0; i < choice->count; i++) {
        const uint8_t *device = choice->devices + (size_t)i * choice->size;
        if (uuid_matches(entry, length, choice->uuid_of(device))) {
            if (found >= 0) {
                return -1; /* the prefix means two devices */
            }
            found = i;
        }
    }
    return found;
}

/* The numbers of those that the list names. */
static int list_read(const char *text, const struct choice *choice, int *chosen)
{
    int made = 0;
    while (*text != 0) {
        text += strspn(text, " \t");
        size_t length = strcspn(text, ", \t");
        int device = length != 0 ? entry_device(text, length, choice) : -1;
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

static void choice_swap(const struct choice *choice, int one, int other)
{
    uint8_t *first = choice->devices + (size_t)one * choice->size;
    uint8_t *second = choice->devices + (size_t)other * choice->size;
    for (size_t i = 0; i < choice->size; i++) {
        uint8_t byte = first[i];
        first[i] = second[i];
        second[i] = byte;
    }
}

/* The device that was at the place of one that is chosen goes to where that was. */
static void choice_move(const struct choice *choice, int *chosen, int made)
{
    for (int i = 0; i < made; i++) {
        choice_swap(choice, i, chosen[i]);
        for (int later = i + 1; later < made; later++) {
            chosen[later] = chosen[later] == i ? chosen[i] : chosen[later];
        }
    }
}

int api_visible_choose(const char *variable, const char *text, void *devices, size_t size,
                       int count, api_uuid_of *uuid_of)
{
    const struct choice choice = {devices, size, count, uuid_of};
    if (text == NULL || count == 0) {
        return count;
    }
    int *chosen = malloc((size_t)count * sizeof *chosen);
    if (chosen == NULL) {
        ga_error("no memory");
        return 0;
    }
    int made = list_read(text, &choice, chosen);
    choice_move(&choice, chosen, made);
    free(chosen);
    if (made == 0 && text[0] != 0) {
        ga_warn("%s=%s chooses none of the %d devices that there are", variable, text, count);
    }
    return made;
}
