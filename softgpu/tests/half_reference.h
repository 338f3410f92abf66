/* SPDX-License-Identifier: Apache-2.0 */
/* A reference for the narrow floating-point types that shares nothing with softgpu/exec/half.h: a
 * type is the list of its values, made with ldexp; sums and products are __float128; rounding is a
 * search in the list. */
#ifndef SG_TESTS_HALF_REFERENCE_H
#define SG_TESTS_HALF_REFERENCE_H

#include <stdint.h>

typedef __float128 exact;

struct format {
    const char *name;
    int fraction, least; /* bits; exponent of the smallest normal number */
    uint32_t sign, infinity, nan;
    double values[0x8000]; /* of the codes below `infinity`; there: what would come next */
};

extern struct format f16, bf16, e4m3, e5m2;

void formats_fill(void); /* first of all */

double value_of(const struct format *format, uint32_t code);

/* The code of x. `round` as in FE_*; -1: ties away from zero */
uint32_t rounded(const struct format *format, exact x, int round);

/* To nearest; what is too large becomes the largest number */
uint32_t saturated(const struct format *format, exact x);

/* a * b + c with one bit that says whether anything was lost: an odd last bit of 113 */
exact fused(double a, double b, double c);

#endif
