/* SPDX-License-Identifier: Apache-2.0 */
/* Mutations of a server's frame. An input of the fuzzer has a fixed number of bytes for each. */
#ifndef TESTS_FUZZ_MUTATION_H
#define TESTS_FUZZ_MUTATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mutation_action {
    MUTATION_SET32, /* at `at`, in units of 4, 8 or 1 bytes from the header on */
    MUTATION_SET64,
    MUTATION_SPECIAL32, /* one of those numbers that are wrong more often than others */
    MUTATION_SPECIAL64,
    MUTATION_ADD32,
    MUTATION_ADD64,
    MUTATION_XOR8,
    MUTATION_FILL,   /* `value` bytes with ones of its own */
    MUTATION_RESULT, /* of an answer */
    MUTATION_DROP,
    MUTATION_TWICE,
    MUTATION_SHORTEN,
    MUTATION_LENGTHEN,
    MUTATION_LENGTH, /* the header alone */
    MUTATION_OPCODE,
    MUTATION_SEQUENCE,
    MUTATION_INSERT, /* a frame before this one */
    MUTATION_END,    /* of the connection */
    MUTATION_ACTIONS,
};

struct mutation {
    uint8_t kind, action;
    uint16_t opcode; /* of the client's frame that is answered, */
    uint8_t nth;     /* the n-th of its opcode, */
    uint8_t frame;   /* and of the answer this frame */
    uint16_t at;
    uint64_t value;
};

_Static_assert(sizeof(struct mutation) == 16, "as it stands in an input");

struct mutation_bytes {
    uint8_t *at;
    size_t size, room;
};

void mutation_append(struct mutation_bytes *to, const void *bytes, size_t size);

/* `frame`, with its header; the result may be none or several frames. False: here it ends. */
bool mutation_apply(const struct mutation *mutation, struct mutation_bytes *frame);

/* Memory of the program that no call names, at addresses that wrong numbers may name. */
void mutation_canary_make(void);
void mutation_canary_check(void);

#endif
