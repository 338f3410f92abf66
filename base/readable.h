/* SPDX-License-Identifier: Apache-2.0 */
/* Whether memory can be read, asked of the kernel instead of tried: for sizes that somebody else
 * has said and addresses that a program has given. */
#ifndef BASE_READABLE_H
#define BASE_READABLE_H

#include <stdbool.h>
#include <stddef.h>

/* A system call for each page. Where a sandbox forbids it, the answer is yes. Leaves errno alone.
 */
bool ga_readable(const void *memory, size_t bytes);

#endif
