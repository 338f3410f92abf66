/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix instructions: their decoded form, and the handlers.
 *
 * A fragment is the distribution of a matrix over the registers of a warp. Fragments of mma,
 * ldmatrix and similar instructions are laid out as the PTX ISA says ("Matrix Fragments for mma");
 * those of wmma are opaque there, and here they contain the elements of the matrix row after row,
 * lane after lane. */
#ifndef SOFTGPU_EXEC_MATRIX_H
#define SOFTGPU_EXEC_MATRIX_H

#include <stdbool.h>
#include "softgpu/exec/insn.h"

enum sg_element {
    SG_ELEMENT_F16,
    SG_ELEMENT_BF16,
    SG_ELEMENT_TF32,
    SG_ELEMENT_E4M3,
    SG_ELEMENT_E5M2,
    SG_ELEMENT_F32,
    SG_ELEMENT_F64,
    SG_ELEMENT_S8,
    SG_ELEMENT_U8,
    SG_ELEMENT_S4,
    SG_ELEMENT_U4,
    SG_ELEMENT_B1,
    SG_ELEMENT_S32,
    SG_ELEMENTS
};

enum sg_layout {
    SG_LAYOUT_WMMA,
    SG_LAYOUT_MMA,
    SG_LAYOUT_QUAD,   /* mma.m8n8k4 with .f16: four matrices, each in eight lanes */
    SG_LAYOUT_SPARSE, /* mma.sp, during decoding: its fragments are those of mma */
};

enum sg_matrix_role { SG_MATRIX_A, SG_MATRIX_B, SG_MATRIX_C };

struct sg_fragment {
    uint8_t layout, role, element; /* enums above */
    bool column;                   /* QUAD, A and B: .col */
    uint8_t registers;             /* per lane */
    uint16_t rows, columns;        /* of the matrix */
};

#define SG_MATRIX_REGISTERS_MAX 8
#define SG_MATRIX_ELEMENTS_MAX  4096 /* of one matrix: m16n8k256 with .b1 */

enum sg_mma_op { SG_MMA_MULTIPLY, SG_MMA_XOR, SG_MMA_AND };

struct sg_mma {                    /* in.imm points to it; it lives as long as the program */
    struct sg_fragment d, a, b, c; /* in the order of the row list */
    uint8_t op;                    /* enum sg_mma_op */
    bool saturate;                 /* .satfinite of integers */
    uint8_t index_bits; /* mma.sp: bits of metadata for each present element of `a`; otherwise 0 */
    uint8_t first_lane; /* the first one of four lanes that have metadata */
    unsigned rounding;  /* of .f64, in MXCSR */
};

/* f: row list d, a, b, c, with mma.sp the metadata; imm: const struct sg_mma * */
sg_handler sg_matrix_mma;

struct sg_matrix_access { /* wmma.load and .store; in.imm points to it */
    struct sg_fragment fragment;
    bool column; /* the layout of the matrix in memory */
};

/* f: row list, the fragment; a: generic address; b: stride in elements (32 bits);
 * imm: const struct sg_matrix_access * */
sg_handler sg_matrix_load, sg_matrix_store;

/* ldmatrix, stmatrix of 8x8 matrices with 16 bits: f: row list; a: generic address of a row; mode:
 * number of matrices; imm: transposed */
sg_handler sg_matrix_ld, sg_matrix_st;

/* movmatrix: d, a */
sg_handler sg_matrix_move;

#endif
