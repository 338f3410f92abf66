/* SPDX-License-Identifier: Apache-2.0 */
/* The mappings of this process, from /proc/self/maps. */
#include "front/core/origin.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* "7f00-7f01 r--p 00000000 08:01 4711   /usr/lib/libx.so". False: the address is not in it. */
static bool line_holds(const char *line, uintptr_t address, const char **path)
{
    unsigned long long first, end;
    if (sscanf(line, "%llx-%llx", &first, &end) != 2 || address < first || address >= end) {
        return false;
    }
    const char *file = strchr(line, '/');
    *path = file != NULL && strncmp(file, "/dev/", 5) != 0 && strncmp(file, "/memfd:", 7) != 0
                ? file
                : "";
    return true;
}

void front_origin(const void *address, char *path, size_t size)
{
    char line[4352]; /* a path has 4096 bytes at most */
    const char *found = "";
    path[0] = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    if (maps == NULL) {
        return;
    }
    while (fgets(line, sizeof line, maps) != NULL) {
        if (line_holds(line, (uintptr_t)address, &found)) {
            snprintf(path, size, "%.*s", (int)strcspn(found, "\n"), found);
            break;
        }
    }
    fclose(maps);
}
