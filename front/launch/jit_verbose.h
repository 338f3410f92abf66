/* SPDX-License-Identifier: Apache-2.0 */
/* CU_JIT_LOG_VERBOSE: the resources of each kernel of a module, in the information log. */
#ifndef FRONT_LAUNCH_JIT_VERBOSE_H
#define FRONT_LAUNCH_JIT_VERBOSE_H

#include <stddef.h>

#include "api/cuda_names.h"

/* `begin` must precede the writing of results into options.
 * `end`, when the module is loaded, appends the resources of each kernel to the information log. */
struct front_jit_verbose {
    char *text;
    size_t size; /* 0: not requested */
    void **told;
};
void front_jit_verbose_begin(struct front_jit_verbose *wanted, unsigned count,
                             const CUjit_option *options, void **values);
void front_jit_verbose_end(const struct front_jit_verbose *wanted, CUmodule module);

#endif
