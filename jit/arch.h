/* SPDX-License-Identifier: Apache-2.0 */
/* The target of a compilation: sm_NN means machine code, compute_NN PTX. */
#ifndef JIT_ARCH_H
#define JIT_ARCH_H

#include <stdbool.h>
#include <stddef.h>

/* Replaces sm_NN by compute_NN in the options of nvrtc. The array and the strings are one block:
 * free() it. `*machine` tells whether an option asked for machine code. NULL: no memory. */
const char **jit_arch_for_ptx(const char *const *options, size_t count, bool *machine);

#endif
