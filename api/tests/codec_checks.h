/* SPDX-License-Identifier: Apache-2.0 */
/* A case for each args or results struct (generated), and the values that the generated code
 * fills fields with. */
#ifndef API_TESTS_CODEC_CHECKS_H
#define API_TESTS_CODEC_CHECKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"

struct codec_case {
    const char *name;
    size_t size; /* of the struct */
    void (*fill)(void *to, uint64_t seed);
    void (*zero)(void *to);
    bool (*same)(const void *a, const void *b);
    void (*write)(struct ga_writer *w, const void *from);
    void (*read)(struct ga_reader *r, void *to);
    size_t (*bound)(const void *from);
    /* Writers that claim more elements or characters than there are; ends with NULL. */
    void (*lies[4])(struct ga_writer *w, const void *from);
};
extern const struct codec_case codec_cases[];
extern const size_t codec_case_count;

uint64_t codec_number(uint64_t seed);
/* Borrowed, 16-aligned, alive for ever; at most 4096 bytes. */
const void *codec_pattern(size_t size, uint64_t seed);
const char *codec_text(uint64_t seed);
bool codec_same_text(const char *a, const char *b);
bool codec_same_bytes(const void *a, const void *b, size_t size);

#endif
