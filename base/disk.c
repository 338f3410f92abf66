/* SPDX-License-Identifier: Apache-2.0 */
#include "base/disk.h"

#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <sys/statvfs.h>
#include <unistd.h>

static bool disk_ask(const char *path, struct statvfs *disk)
{
    char folder[PATH_MAX];
    if (statvfs(path, disk) == 0) {
        return true;
    }
    snprintf(folder, sizeof folder, "%s", path);
    return statvfs(dirname(folder), disk) == 0;
}

enum ga_disk_state ga_disk_look(const char *path, uint64_t least, uint64_t *room)
{
    struct statvfs disk;
    uint64_t unknown;
    uint64_t *bytes = room != NULL ? room : &unknown;
    *bytes = UINT64_MAX;
    if (!disk_ask(path, &disk) || disk.f_blocks == 0) {
        return GA_DISK_TAKES;
    }
    *bytes = (uint64_t)(geteuid() == 0 ? disk.f_bfree : disk.f_bavail) * disk.f_frsize;
    return (disk.f_flag & ST_RDONLY) != 0 ? GA_DISK_READ_ONLY
           : *bytes < least               ? GA_DISK_FULL
                                          : GA_DISK_TAKES;
}
