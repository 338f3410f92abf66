/* SPDX-License-Identifier: Apache-2.0 */
/* Tests whether memory can be read by asking the kernel: for sizes that a peer has sent and
 * addresses that a program has passed. */
#ifndef BASE_READABLE_H
#define BASE_READABLE_H

#include <stdbool.h>
#include <stddef.h>

/* Costs a system call for each page. True if a sandbox forbids the call. Keeps errno. */
bool ga_readable(const void *memory, size_t bytes);

#endif
