/* SPDX-License-Identifier: Apache-2.0 */
/* Which file of the program some of its memory comes from: who has registered an image. */
#ifndef FRONT_CORE_ORIGIN_H
#define FRONT_CORE_ORIGIN_H

#include <stddef.h>

/* The path of the program, library or file that is mapped at `address`, or "": memory of its own,
 * as of a compiler at run time. Costs a look through the whole address space: for messages. */
void front_origin(const void *address, char *path, size_t size);

#endif
