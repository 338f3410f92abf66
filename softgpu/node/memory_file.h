/* SPDX-License-Identifier: Apache-2.0 */
/* Anonymous files (memfd) that processes of a node map of each other. */
#ifndef SOFTGPU_NODE_MEMORY_FILE_H
#define SOFTGPU_NODE_MEMORY_FILE_H

#include <stdbool.h>

/* Opens the file `fd` of the process `pid` once more, if it is one of that name; -1: it is not, or
 * may not be opened. The result has a position and locks of its own. */
int sg_memory_file_open(int pid, int fd, const char *name, int flags);

/* As sg_memory_file_open, of a descriptor of this process. */
int sg_memory_file_reopen(int fd);
bool sg_memory_file_is(int fd, const char *name);

/* Whether nobody can make the file shorter: who maps it would die of a bus error. */
bool sg_memory_file_keeps_length(int fd);

#endif
