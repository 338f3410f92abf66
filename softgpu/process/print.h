/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel output (device printf): a FIFO for each context, from which it goes to the program's
 * stdout.
 *
 * Note: as in CUDA, output does not appear when a kernel prints it. The calls that CUDA names for
 * that flush it (a launch, a wait, a blocking copy, loading and unloading a module, the end of the
 * context), and it is flushed before host functions. Such a call makes the output due while it
 * holds the process's lock; sg_leave writes it after it has released the lock (front_output_write).
 * A full FIFO loses its oldest records, as a GPU's does. */
#ifndef SOFTGPU_PROCESS_PRINT_H
#define SOFTGPU_PROCESS_PRINT_H

#include <stdbool.h>

#include "api/cuda_names.h"
#include "softgpu/engine/engine.h"

struct sg_print;
struct sg_context;

#define SG_PRINT_BYTES     ((size_t)1 << 20) /* CU_LIMIT_PRINTF_FIFO_SIZE of a new context */
#define SG_PRINT_BYTES_MAX ((size_t)64 << 20)

/* NULL: no memory. One reference. */
struct sg_print *sg_print_make(void);
/* References; kernels that outlive their context hold one. With the process's lock. */
void sg_print_hold(struct sg_print *print);
void sg_print_drop(struct sg_print *print);
/* Sets the size (SG_PRINT_BYTES_MAX at most), in bytes as a GPU counts them: of arguments and
 * strings, not of text. */
void sg_print_resize(struct sg_print *print, size_t bytes);
/* The sink for launches in the context. */
struct sg_printer *sg_print_printer(struct sg_print *print);

/* Hands the contents of the FIFO to front_output_put. With the process's lock. */
void sg_print_due(struct sg_print *print);
/* Whether there is output that nobody has handed on. */
bool sg_print_pending(struct sg_print *print);
/* Says whose output it is; before the first launch. */
void sg_print_name(struct sg_print *print, CUcontext context);

#endif
