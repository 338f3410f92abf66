/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel output on its way to the program's stdout and stderr. It is written by <stdio.h>, so its
 * order with the program's own output is kept.
 *
 * Pieces are queued as they arrive. A thread of the program writes them inside a call that has
 * waited for the kernel, so a slow stdout blocks only that thread. */
#ifndef FRONT_CORE_OUTPUT_H
#define FRONT_CORE_OUTPUT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "api/wire.h"
#include "base/list.h"

/* Before each text. */
struct front_record {
    uint32_t bytes;  /* of the text */
    uint32_t to;     /* enum wire_output */
    uint32_t charge; /* for the owner's use */
};

struct front_output {
    struct ga_list link;
    void *context;           /* CUcontext whose kernels have printed it; NULL: not known */
    size_t begin, end, room; /* offsets in `records`: first, end, capacity */
    uint8_t records[];       /* struct front_record, text, ... */
};

/* From malloc, without records. NULL: no memory. */
struct front_output *front_output_make(size_t room);
/* The caller has checked that there is room. */
void front_output_add(struct front_output *output, const struct front_record *record,
                      const void *text);
/* Owns the output. */
void front_output_put(struct front_output *output);

/* Nonzero: some output has not been written, or is being written. */
extern _Atomic int front_output_pending;
void front_output_write_pending(void);
/* The context of what the calling thread is just writing; NULL: nothing, or not known. */
void *front_output_context(void);

/* Writes all output that was put before the call. The caller must hold no lock that another
 * thread may take while it holds stdout. */
static inline void front_output_write(void)
{
    if (atomic_load_explicit(&front_output_pending, memory_order_acquire) != 0) {
        front_output_write_pending();
    }
}

#endif
