/* SPDX-License-Identifier: Apache-2.0 */
/* LTO-IR becomes PTX by NVIDIA's own libnvJitLink. */
#ifndef JIT_LTO_H
#define JIT_LTO_H

#include <stddef.h>
#include <stdint.h>

#define NVJITLINK_NO_INLINE
#include <nvJitLink.h>

#include "jit/driver_link.h"

/* NVIDIA's library exports the names without a number in every version; nvJitLink.h declares those
 * with one. */
#define JIT_NUMBERED_(name, major, minor) __##name##_##major##_##minor
#define JIT_NUMBERED(name, major, minor)  JIT_NUMBERED_(name, major, minor)
#define JIT_VERSIONED(name)               JIT_NUMBERED(name, JIT_CUDA_MAJOR, JIT_CUDA_MINOR)

/* `options` as of nvJitLinkCreate. `*ptx` is malloc-ed, its size is without the final NUL. `log`
 * has JIT_LOG_BYTES for errors. */
nvJitLinkResult jit_lto_link(char *const *options, uint32_t option_count,
                             const struct jit_input *inputs, size_t count, char **ptx, size_t *size,
                             char *log);

#endif
