/* SPDX-License-Identifier: Apache-2.0 */
/* Values for the fields of the generated cases, and the comparison of two structs. */
#include <string.h>

#include "api/tests/codec_checks.h"

#define SLOTS     64
#define BYTES_MAX 4096

uint64_t codec_number(uint64_t seed)
{
    return (seed + 1) * 0x1102030405060709u & 0x7fffffffffffffffu;
}

const void *codec_pattern(size_t size, uint64_t seed)
{
    static _Alignas(16) uint8_t store[SLOTS][BYTES_MAX];
    uint8_t *slot = store[seed % SLOTS];
    for (size_t i = 0; i < size && i < BYTES_MAX; i++) {
        slot[i] = (uint8_t)(seed * 31 + i * 7 + 1);
    }
    return slot;
}

const char *codec_text(uint64_t seed)
{
    static const char *const texts[] = {"a", "vectorAdd", "_Z4kernPfi", "x y"};
    return texts[seed % 4];
}

bool codec_same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

bool codec_same_bytes(const void *a, const void *b, size_t size)
{
    return size == 0 || (a != NULL && b != NULL && memcmp(a, b, size) == 0);
}
