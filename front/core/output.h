/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels have printed, on the last piece of its way: to the program's stdout and stderr, by
 * <stdio.h>, so that it comes in order with what the program prints itself.
 *
 * It is put here as it comes, and written by a thread of the program inside a call that has waited
 * for it: a stdout that is slow holds up nobody else. */
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
    uint32_t charge; /* whatever the owner wants */
};

struct front_output {
    struct ga_list link;
    size_t begin, end, room; /* in `records`: from here, up to here, at most up to here */
    uint8_t records[];       /* struct front_record, text, ... */
};

/* From malloc, without records; NULL: no memory. */
struct front_output *front_output_make(size_t room);
/* There must be room. */
void front_output_add(struct front_output *output, const struct front_record *record,
                      const void *text);
/* Takes it over. */
void front_output_put(struct front_output *output);

/* Nonzero: something has been put and not been written, or is being written. */
extern _Atomic int front_output_pending;
void front_output_write_pending(void);

/* When it returns, what was put before is written. No lock that another thread may want while it
 * holds stdout may be held. */
static inline void front_output_write(void)
{
    if (atomic_load_explicit(&front_output_pending, memory_order_acquire) != 0) {
        front_output_write_pending();
    }
}

#endif
