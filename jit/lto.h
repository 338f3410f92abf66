/* SPDX-License-Identifier: Apache-2.0 */
/* LTO-IR becomes PTX by NVIDIA's own libnvJitLink. */
#ifndef JIT_LTO_H
#define JIT_LTO_H

#include <stddef.h>
#include <stdint.h>

#define NVJITLINK_NO_INLINE
#include <nvJitLink.h>

#include "jit/driver_link.h"

/* `options` as of nvJitLinkCreate. `*ptx` is malloc-ed, its size is without the NUL behind it.
 * `log` has JIT_LOG_BYTES: what is wrong. */
nvJitLinkResult jit_lto_link(char *const *options, uint32_t option_count,
                             const struct jit_input *inputs, size_t count, char **ptx, size_t *size,
                             char *log);

#endif
