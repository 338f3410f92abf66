/* SPDX-License-Identifier: Apache-2.0 */
/* Atomic operations by name. */
#ifndef SOFTGPU_EXEC_ATOMIC_H
#define SOFTGPU_EXEC_ATOMIC_H

#include "softgpu/exec/misc.h"

/* Atomics: d old value (0: not used), a address, b operand, c second operand of cas; imm offset,
 * mode: enum sg_mem_space (GLOBAL, SHARED or GENERIC). NULL: there is no atomic of that name (names
 * are like "add_u32"). */
sg_handler *sg_atomic_find(const char *name);

#endif
