/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of addresses of functions: SG_CODE_BYTES each, one per program. Any thread may call. */
#ifndef SOFTGPU_EXEC_CODE_RANGES_H
#define SOFTGPU_EXEC_CODE_RANGES_H

#include <stdbool.h>
#include <stdint.h>

/* A range that no program has had yet (as long as there are such). 0: all are in use. */
uint64_t sg_code_range_take(void);
/* Takes the range that begins there. */
enum sg_code_range { SG_CODE_RANGE_TAKEN, SG_CODE_RANGE_IN_USE, SG_CODE_RANGE_WRONG };
enum sg_code_range sg_code_range_place(uint64_t base);
/* 0: none. */
void sg_code_range_give(uint64_t base);

#endif
