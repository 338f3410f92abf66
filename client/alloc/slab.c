/* SPDX-License-Identifier: Apache-2.0 */
/* A slab: first fit over a bit map. */
#include "client/alloc/slab.h"

#include <stdlib.h>

struct client_slab *client_slab_create(uint32_t units, uint32_t unit_bytes)
{
    struct client_slab *slab = calloc(1, sizeof *slab);
    if (slab == NULL) {
        return NULL;
    }
    slab->bits = calloc((units + 63) / 64, sizeof *slab->bits);
    slab->bytes = calloc(units, sizeof *slab->bytes);
    slab->unit_bytes = unit_bytes;
    slab->units = units;
    slab->longest = units;
    if (slab->bits == NULL || slab->bytes == NULL) {
        client_slab_destroy(slab);
        return NULL;
    }
    return slab;
}

void client_slab_destroy(struct client_slab *slab)
{
    free(slab->bits);
    free(slab->bytes);
    free(slab);
}

/* The next unit from `at` on whose bit is `set`; `units` when there is none. */
static uint32_t next_unit(const struct client_slab *slab, uint32_t at, bool set)
{
    while (at < slab->units) {
        uint64_t word = slab->bits[at / 64];
        word = (set ? word : ~word) >> (at % 64);
        if (word != 0) {
            at += (uint32_t)__builtin_ctzll(word);
            return at < slab->units ? at : slab->units;
        }
        at = (at / 64 + 1) * 64;
    }
    return slab->units;
}

static void slab_mark(struct client_slab *slab, uint32_t first, uint32_t count, bool set)
{
    for (uint32_t i = first; i < first + count; i++) {
        uint64_t bit = UINT64_C(1) << (i % 64);
        slab->bits[i / 64] = set ? slab->bits[i / 64] | bit : slab->bits[i / 64] & ~bit;
    }
}

static uint32_t units_of(const struct client_slab *slab, uint32_t bytes)
{
    return ((bytes & ~SLAB_DRAINING) + slab->unit_bytes - 1) / slab->unit_bytes;
}

bool client_slab_take(struct client_slab *slab, uint32_t bytes, uint32_t *unit)
{
    uint32_t wanted = units_of(slab, bytes), longest = 0;
    if (wanted > slab->longest) {
        return false;
    }
    for (uint32_t at = next_unit(slab, 0, false); at < slab->units;) {
        uint32_t end = next_unit(slab, at, true);
        if (end - at >= wanted) {
            slab_mark(slab, at, wanted, true);
            slab->bytes[at] = bytes;
            slab->used += wanted;
            *unit = at;
            return true;
        }
        longest = end - at > longest ? end - at : longest;
        at = next_unit(slab, end, false);
    }
    slab->longest = longest;
    return false;
}

void client_slab_give(struct client_slab *slab, uint32_t unit)
{
    uint32_t count = units_of(slab, slab->bytes[unit]);
    slab_mark(slab, unit, count, false);
    slab->bytes[unit] = 0;
    slab->used -= count;
    slab->longest = slab->units;
}

bool client_slab_find(const struct client_slab *slab, uint32_t unit, uint32_t *first)
{
    for (uint32_t at = unit + 1; at-- > 0;) {
        if (slab->bytes[at] != 0) {
            *first = at;
            return unit < at + units_of(slab, slab->bytes[at]);
        }
        if ((slab->bits[at / 64] >> (at % 64) & 1) == 0) {
            return false;
        }
    }
    return false;
}
