/* What kernels print: a FIFO for each context, and the way from there to the program's stdout.
 *
 * What a reader would get wrong: as in CUDA, nothing is printed when a kernel prints it, but by the
 * thread that makes one of the calls which CUDA names for that (a launch, a wait, a blocking copy,
 * loading and unloading a module, the end of the context), and before host functions. Such a call
 * makes the output due while it holds the process's lock; sg_leave writes what is due after it has
 * let go of it. A FIFO that is full loses its oldest records, as a GPU's does. */
#ifndef SG_PRINT_H
#define SG_PRINT_H

#include <stdatomic.h>

#include "softgpu/engine.h"

struct sg_print;
struct sg_context;

#define SG_PRINT_BYTES ((size_t)1 << 20) /* CU_LIMIT_PRINTF_FIFO_SIZE of a new context */

/* NULL: no memory. One reference. */
struct sg_print *sg_print_make(void);
/* Also for kernels that run while their context goes. With the process's lock. */
void sg_print_hold(struct sg_print *print);
void sg_print_drop(struct sg_print *print);
/* How much it holds, in bytes as a GPU counts them: of arguments and strings, not of text. */
void sg_print_resize(struct sg_print *print, size_t bytes);
/* For launches in the context. */
struct sg_printer *sg_print_printer(struct sg_print *print);

/* Makes what the FIFO holds due. With the process's lock. */
void sg_print_due(struct sg_print *print);

/* Nonzero: something is due, or being written. */
extern _Atomic int sg_print_pending;
/* Writes all that is due, to stdout and stderr of <stdio.h>; when it returns, nothing that was due
 * before is unwritten. Without the process's lock: it may take as long as stdout does. */
void sg_print_write_due(void);

static inline void sg_print_write(void)
{
    if (atomic_load_explicit(&sg_print_pending, memory_order_acquire) != 0) {
        sg_print_write_due();
    }
}

#endif
