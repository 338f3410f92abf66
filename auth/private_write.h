/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are written whole or not at all. */
#ifndef AUTH_PRIVATE_WRITE_H
#define AUTH_PRIVATE_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/status.h"

/* Writes PATH.new (mode `mode`), to the disk, and renames it to PATH. `replace` false: GA_CONFLICT
 * if PATH is there. On failure PATH is as it was. */
GA_CHECKED enum ga_status private_write(const char *path, const void *bytes, size_t size,
                                        mode_t mode, bool replace, char *why, size_t why_size);

#endif
