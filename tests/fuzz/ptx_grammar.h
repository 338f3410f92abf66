/* SPDX-License-Identifier: Apache-2.0 */
/* Writes PTX modules that are right: kernel k with all kinds of control flow, in functions of all
 * kinds of signatures. Every choice is a byte of the input; without input the smallest comes out.
 *
 * k(.param .u64 out, .param .u64 first, .param .align 8 .b8 block[16]): thread t = first + %tid.x
 * writes eight words to out + 32 * t. It ends, however the choices fall: loops and calls take from
 * a supply. Without `wild`, what a thread comes to depends on t alone. */
#ifndef TESTS_FUZZ_PTX_GRAMMAR_H
#define TESTS_FUZZ_PTX_GRAMMAR_H

#include <stdbool.h>

#include "tests/fuzz/input.h"

/* The number of bytes, without the NUL behind them. */
size_t ptx_grammar_write(struct fuzz_input *input, bool wild, char *text, size_t size);

#endif
