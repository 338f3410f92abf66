/* SPDX-License-Identifier: Apache-2.0 */
/* The grammar's text, and its statements without control flow (ptx_grammar.h). Registers of every
 * function: words %r0..7, %d0..3 of 64 bits, predicates %p0..3, vectors %v0..1 of four words; %f is
 * the supply, %t the thread; %g, %q, %x, %y and %z belong to one statement. */
#ifndef TESTS_FUZZ_PTX_WRITER_H
#define TESTS_FUZZ_PTX_WRITER_H

#include <stdbool.h>

#include "tests/fuzz/input.h"

#define FUNCTIONS_MAX 5u
#define SLOTS         16u /* words of local memory of each function */

enum signature { PLAIN, REGISTERS, ARRAY, PREDICATE, NOTHING, SIGNATURES };

struct writer {
    struct fuzz_input *input;
    char *text;
    size_t size, used;
    bool wild;
    bool block; /* the parameter of this name is there */
    unsigned labels, functions, depth;
    enum signature signature[FUNCTIONS_MAX];
};

void ptx_say(struct writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A choice among so many. */
unsigned ptx_pick(struct writer *w, unsigned count);
/* Nothing, or a predicate in front of the next instruction. */
void ptx_guard(struct writer *w);
/* A register or a number. */
const char *ptx_word(struct writer *w, char to[16]);

/* Writes all words, or all slots: nothing is read that has not been written, since it would be what
 * others have left there. */
void ptx_words(struct writer *w);
void ptx_slots(struct writer *w);

#define PTX_STATEMENTS 7u
void ptx_statement(struct writer *w, unsigned which);

#endif
