/* SPDX-License-Identifier: Apache-2.0 */
/* Reads whole files. */
#include "sim/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum ga_status file_take(FILE *file, const char *path, size_t most, char **text, char *why,
                                size_t why_room)
{
    size_t used = 0, room = 0;
    for (;;) {
        if (used + 1 >= room) {
            room = room != 0 ? room * 2 : 4096;
            char *more = realloc(*text, room);
            if (more == NULL) {
                return GA_NO_MEMORY;
            }
            *text = more;
        }
        size_t got = fread(*text + used, 1, room - used - 1, file);
        used += got;
        if (used > most) {
            snprintf(why, why_room, "%s: longer than %zu bytes", path, most);
            return GA_INVALID;
        }
        if (got == 0) {
            break;
        }
    }
    (*text)[used] = 0;
    if (ferror(file)) {
        snprintf(why, why_room, "%s: %s", path, strerror(errno));
        return GA_NOT_FOUND;
    }
    if (memchr(*text, 0, used) != NULL) {
        snprintf(why, why_room, "%s: has a byte that is 0; allowed: text", path);
        return GA_INVALID;
    }
    return GA_OK;
}

enum ga_status sim_file_read(const char *path, size_t most, char **text, char *why, size_t why_room)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        snprintf(why, why_room, "%s: %s", path, strerror(errno));
        return GA_NOT_FOUND;
    }
    char *read = NULL;
    enum ga_status status = file_take(file, path, most, &read, why, why_room);
    fclose(file);
    if (status != GA_OK) {
        free(read);
        return status;
    }
    *text = read;
    return GA_OK;
}
