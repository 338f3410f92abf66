/* SPDX-License-Identifier: Apache-2.0 */
/* Files as texts. */
#ifndef SIM_FILE_H
#define SIM_FILE_H

#include <stddef.h>

#include "base/status.h"

/* Reads a whole file, at most `most` bytes and without a NUL among them; the caller frees the text.
 * GA_NOT_FOUND, GA_INVALID: `why` has "path: the reason"; GA_NO_MEMORY. */
GA_CHECKED enum ga_status sim_file_read(const char *path, size_t most, char **text, char *why,
                                        size_t why_room);

#endif
