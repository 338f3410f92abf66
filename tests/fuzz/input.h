/* SPDX-License-Identifier: Apache-2.0 */
/* The interface of a fuzz target: its one function, and numbers from the bytes of the input.
 *
 * Note: a target runs thousands of times in one process. It must leave nothing behind: no
 * memory, no thread, no descriptor. A leak is a finding. */
#ifndef TESTS_FUZZ_INPUT_H
#define TESTS_FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The names are libFuzzer's. A target has the first; the second and the third if it wants to set
 * something up, or to make inputs itself, for which the fourth is what libFuzzer would do. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

/* Like assert, in every build: what must hold whatever the bytes are. */
#define FUZZ_CHECK(condition)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);         \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

struct fuzz_input {
    const uint8_t *at;
    size_t left;
};

/* The next bytes; NULL when there are not so many. */
static inline const uint8_t *fuzz_take(struct fuzz_input *input, size_t size)
{
    if (size > input->left) {
        return NULL;
    }
    const uint8_t *taken = input->at;
    input->at += size;
    input->left -= size;
    return taken;
}

/* The next number, little endian; what is missing at the end is 0. */
static inline uint64_t fuzz_number(struct fuzz_input *input, size_t size)
{
    uint64_t number = 0;
    size_t there = size < input->left ? size : input->left;
    if (there != 0) {
        memcpy(&number, fuzz_take(input, there), there);
    }
    return number;
}

static inline uint8_t fuzz_u8(struct fuzz_input *input)
{
    return (uint8_t)fuzz_number(input, 1);
}

static inline uint16_t fuzz_u16(struct fuzz_input *input)
{
    return (uint16_t)fuzz_number(input, 2);
}

static inline uint32_t fuzz_u32(struct fuzz_input *input)
{
    return (uint32_t)fuzz_number(input, 4);
}

static inline uint64_t fuzz_u64(struct fuzz_input *input)
{
    return fuzz_number(input, 8);
}

/* All that is left, in memory of exactly that size, 16-aligned, so that a sanitizer sees the first
 * byte too many. The caller frees it. */
static inline uint8_t *fuzz_rest(struct fuzz_input *input, size_t *size)
{
    uint8_t *rest = malloc(input->left != 0 ? input->left : 1);
    FUZZ_CHECK(rest != NULL);
    *size = input->left;
    memcpy(rest, fuzz_take(input, *size), *size);
    return rest;
}

/* Pseudo-random, for what need not be steered byte by byte. `state` must not be 0. */
static inline uint64_t fuzz_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

#endif
