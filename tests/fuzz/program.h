/* SPDX-License-Identifier: Apache-2.0 */
/* A program that uses CUDA for whatever there is, and goes on whatever it is told: each call ends,
 * with a result that cuda.h knows. */
#ifndef TESTS_FUZZ_PROGRAM_H
#define TESTS_FUZZ_PROGRAM_H

#include <stdint.h>

#define PROGRAM_STEADY 0x1803u /* parts whose calls are the same ones every time */

/* Bit n of `parts`: the n-th part is run. */
void program_run(uint32_t parts);
/* How many calls have failed: none, of a server that is good. */
unsigned program_errors(void);

#endif
