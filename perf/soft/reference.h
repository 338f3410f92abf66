/* SPDX-License-Identifier: Apache-2.0 */
/* The work of the kernels in plain C, on one thread, compiled with -O3 -march=x86-64-v3.
 * Parameters are those of the kernels. */
#ifndef PERF_SOFT_REFERENCE_H
#define PERF_SOFT_REFERENCE_H

#include <stddef.h>

/* Inputs, outputs and size of one workload */
struct soft_data {
    const void *in[3];
    void *out[2];
    int n;
};

typedef void soft_reference(const struct soft_data *data);

soft_reference reference_vector_add, reference_reduction, reference_matmul, reference_black_scholes,
    reference_mandelbrot32, reference_mandelbrot64, reference_monte_carlo, reference_histogram,
    reference_nbody;

#define MONTE_CARLO_OPTIONS 32

#endif
