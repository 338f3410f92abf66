/* SPDX-License-Identifier: Apache-2.0 */
/* The places of matrix elements in the registers of a warp. */
#ifndef SOFTGPU_EXEC_FRAGMENT_H
#define SOFTGPU_EXEC_FRAGMENT_H

#include "softgpu/exec/matrix.h"

unsigned sg_element_bits(enum sg_element element);

/* Registers of a fragment per lane (32 bits each; .f64: 64). */
unsigned sg_fragment_registers(const struct sg_fragment *fragment);

/* Row and column of element `at` of register `r` of a lane. False: the element is unused, or a copy
 * of another lane's. */
bool sg_fragment_place(const struct sg_fragment *fragment, unsigned lane, unsigned r, unsigned at,
                       unsigned *row, unsigned *column);

#endif
