/* SPDX-License-Identifier: Apache-2.0 */
/* Users that could change the audit log besides the one that writes it. */
#ifndef AUTH_AUDIT_PLACE_H
#define AUTH_AUDIT_PLACE_H

#include <stddef.h>

#include "base/status.h"

/* The open folder, or an open file of the log, is the caller's (or root's), and nobody else may
 * write it. GA_DENIED, with `why`, which names `path` and the cure. GA_LOST: nobody can say. */
GA_CHECKED enum ga_status audit_place_is_ours(int file, const char *path, char *why,
                                              size_t why_size);

#endif
