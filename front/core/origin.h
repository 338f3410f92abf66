/* SPDX-License-Identifier: Apache-2.0 */
/* The file that memory of the program is mapped from; it tells who registered an image. */
#ifndef FRONT_CORE_ORIGIN_H
#define FRONT_CORE_ORIGIN_H

#include <stddef.h>

/* The path of the program, library or file that is mapped at `address`. "": anonymous memory, as
 * that of a run-time compiler. Reads all mappings of the process: only for messages. */
void front_origin(const void *address, char *path, size_t size);

#endif
