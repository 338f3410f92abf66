/* SPDX-License-Identifier: Apache-2.0 */
/* What printf in a kernel makes of its format and its arguments. The format is the kernel's and may
 * be anything: each specifier is taken apart, and what goes to the host's printf is made anew of
 * what was understood. Rules: CUDA C++ Programming Guide, "Formatted Output". */
#ifndef SOFTGPU_EXEC_FORMAT_H
#define SOFTGPU_EXEC_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SG_FORMAT_ARGUMENTS 32    /* further specifiers are printed as they stand */
#define SG_FORMAT_TEXT      32768 /* bytes of one printf, at most: the rest is cut off */
#define SG_FORMAT_WIDTH     4096  /* width and precision, at most */

/* How the memory of the thread is read: `bytes` (1, 4 or 8) from an address that is a multiple of
 * them. False: it must not be. */
struct sg_format_memory {
    bool (*read)(const struct sg_format_memory *memory, uint64_t address, void *to, unsigned bytes);
};

struct sg_format {
    char text[SG_FORMAT_TEXT];
    size_t used;
    int result;      /* what printf returns: arguments taken, -1 without a format */
    uint32_t charge; /* bytes of the record in a FIFO as GPUs have it: no text, but its parts */
    uint64_t fault;  /* an address that could not be read, and the text is worth nothing; 0: none */
    bool faulted;
};

/* `format`: a string, `arguments`: its arguments one after the other, each aligned to its size. */
void sg_format_print(struct sg_format *out, const struct sg_format_memory *memory, uint64_t format,
                     uint64_t arguments);

#endif
