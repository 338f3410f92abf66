/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels print: a FIFO for each context, and the way from there to the program's stdout.
 *
 * What a reader would get wrong: as in CUDA, nothing is printed when a kernel prints it, but by the
 * thread that makes one of the calls which CUDA names for that (a launch, a wait, a blocking copy,
 * loading and unloading a module, the end of the context), and before host functions. Such a call
 * makes the output due while it holds the process's lock; sg_leave writes it when it has let go of
 * that (front_output_write). A FIFO that is full loses its oldest records, as a GPU's does. */
#ifndef SOFTGPU_PROCESS_PRINT_H
#define SOFTGPU_PROCESS_PRINT_H

#include "softgpu/engine/engine.h"

struct sg_print;
struct sg_context;

#define SG_PRINT_BYTES     ((size_t)1 << 20) /* CU_LIMIT_PRINTF_FIFO_SIZE of a new context */
#define SG_PRINT_BYTES_MAX ((size_t)64 << 20)

/* NULL: no memory. One reference. */
struct sg_print *sg_print_make(void);
/* Also for kernels that run while their context goes. With the process's lock. */
void sg_print_hold(struct sg_print *print);
void sg_print_drop(struct sg_print *print);
/* How much it holds (SG_PRINT_BYTES_MAX at most), in bytes as a GPU counts them: of arguments and
 * strings, not of text. */
void sg_print_resize(struct sg_print *print, size_t bytes);
/* For launches in the context. */
struct sg_printer *sg_print_printer(struct sg_print *print);

/* Hands what the FIFO holds to front_output_put. With the process's lock. */
void sg_print_due(struct sg_print *print);

#endif
