/* SPDX-License-Identifier: Apache-2.0 */
/* The JIT options of cuModuleLoadDataEx and cuLibraryLoadData. */
#ifndef FRONT_LAUNCH_JIT_H
#define FRONT_LAUNCH_JIT_H

#include <stddef.h>
#include <stdint.h>

#include "api/cuda_names.h"

struct front_jit_log {
    char *text; /* the program's buffer, initially "" */
    size_t size, used;
    void **told; /* receives the used bytes; NULL: not wanted */
};

/* Note: an option's value is the value itself cast to void *, not a pointer to it. Results
 * replace it, so options are borrowed until front_jit_end. */
struct front_jit {
    uint32_t max_registers, optimization; /* 0: not given */
    struct front_jit_log info, error;
    void **wall_time;
    uint64_t begun_ns;
};

/* CUDA_ERROR_INVALID_VALUE: an unknown option, an invalid value, or two options that exclude
 * each other. CUDA_ERROR_NOT_SUPPORTED, said on stderr: symbols that name host memory. Options
 * that only advise the compiler are ignored. */
CUresult front_jit_read(unsigned count, const CUjit_option *options, void **values,
                        struct front_jit *jit);
/* Writes as much of the text as fits; NULL is "". */
void front_jit_write(struct front_jit_log *log, const char *text);
/* Gives the program the sizes of the logs and the time since front_jit_read. */
void front_jit_end(const struct front_jit *jit);

#endif
