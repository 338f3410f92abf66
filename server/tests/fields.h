/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of every call that travels, for wrong values in each. Generated: call_fields.c. */
#ifndef SERVER_TESTS_FIELDS_H
#define SERVER_TESTS_FIELDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/handle.h"

enum field_kind {
    FIELD_NUMBER,
    FIELD_COUNT,   /* of an array beside it: always 1 */
    FIELD_ADDRESS, /* of device memory */
    FIELD_HANDLE,
    FIELD_NEW, /* the handle of what the call makes */
};

enum { FIELDS_MAX = 24 };

struct field {
    const char *name;
    enum field_kind kind;
    enum ga_handle_type type;
};

struct field_call {
    const char *name;
    uint16_t opcode;
    bool bulk; /* one byte follows the values */
    unsigned count;
    struct field fields[FIELDS_MAX];
    void (*write)(struct ga_writer *writer, const uint64_t *values); /* NULL: no values */
};

extern const struct field_call field_calls[];
extern const unsigned field_call_count;
/* The contents of arrays of bytes. */
extern const uint8_t field_bytes[64];

#endif
