/* SPDX-License-Identifier: Apache-2.0 */
/* What a compiler is told to compile for. sm_NN means machine code, compute_NN PTX. */
#ifndef JIT_ARCH_H
#define JIT_ARCH_H

#include <stdbool.h>
#include <stddef.h>

/* The options of nvrtc with sm_NN replaced by compute_NN. The array and what it points to are one
 * block: free() it. `*machine` tells whether one asked for machine code. NULL: no memory. */
const char **jit_arch_for_ptx(const char *const *options, size_t count, bool *machine);

#endif
