/* SPDX-License-Identifier: Apache-2.0 */
/* Formatting of printf in kernels. The format string belongs to the kernel and may be anything:
 * each specifier is parsed, and the host's printf gets a new one made of the result. Rules: CUDA
 * C++ Programming Guide, "Formatted Output". */
#ifndef SOFTGPU_EXEC_FORMAT_H
#define SOFTGPU_EXEC_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SG_FORMAT_ARGUMENTS 32    /* further specifiers are printed literally */
#define SG_FORMAT_TEXT      32768 /* bytes of one printf, at most: the rest is cut */
#define SG_FORMAT_WIDTH     4096  /* width and precision, at most */

/* Reads the memory of the thread: `bytes` (1, 4 or 8) from an aligned address. False: the thread
 * may not read it. */
struct sg_format_memory {
    bool (*read)(const struct sg_format_memory *memory, uint64_t address, void *to, unsigned bytes);
};

struct sg_format {
    char text[SG_FORMAT_TEXT];
    size_t used;
    int result;      /* the result of printf: number of arguments, -1 without a format */
    uint32_t charge; /* bytes of the record in a GPU's FIFO: no text, but format and arguments */
    uint64_t fault;  /* an address that could not be read, which makes the text void; 0: none */
    bool faulted;
};

/* `format`: a string, `arguments`: its arguments one after the other, each aligned to its size. */
void sg_format_print(struct sg_format *out, const struct sg_format_memory *memory, uint64_t format,
                     uint64_t arguments);

#endif
