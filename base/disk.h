/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a file system takes more bytes, before somebody has to write them.
 *
 * Note: quotas are not seen here; only the write itself tells. */
#ifndef BASE_DISK_H
#define BASE_DISK_H

#include <stdbool.h>
#include <stdint.h>

enum ga_disk_state { GA_DISK_TAKES, GA_DISK_FULL, GA_DISK_READ_ONLY };

/* Looks at the file system that `path`, or its folder if it is not there, lies in. FULL: this
 * process may write less than `least` bytes there. TAKES also where nothing is known. *room, if it
 * is not NULL: how many bytes it may write, UINT64_MAX where that is not known. */
enum ga_disk_state ga_disk_look(const char *path, uint64_t least, uint64_t *room);

#endif
