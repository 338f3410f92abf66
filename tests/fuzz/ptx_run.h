/* SPDX-License-Identifier: Apache-2.0 */
/* Runs whatever kernels a program has. A kernel may do anything except touch memory outside its
 * buffer, and ends, as a success or as a fault, after a few milliseconds at the latest. */
#ifndef TESTS_FUZZ_PTX_RUN_H
#define TESTS_FUZZ_PTX_RUN_H

#include "softgpu/engine/engine.h"

/* Once, before all others. */
void ptx_run_open(void);
void ptx_run(const struct sg_program *program);
/* The kernel k of the program (ptx_grammar.h), whose threads know nothing of each other: a block of
 * so many threads must come to what each thread comes to alone. */
void ptx_compare(const struct sg_program *program, uint32_t threads);

#endif
