/* SPDX-License-Identifier: Apache-2.0 */
/* What the program has said about parts of its managed memory (cuMemAdvise), and where it has
 * wanted them last (cuMemPrefetchAsync). It is kept here only to be asked for again: whoever owns
 * the memory decides what to do with it, and forgets what it frees. */
#ifndef FRONT_MEMORY_ADVICE_H
#define FRONT_MEMORY_ADVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"

#define FRONT_ADVICE_DEVICES 1024u
#define FRONT_ADVICE_HOST    FRONT_ADVICE_DEVICES /* its number in `accessed` */

struct front_advice {
    bool read_mostly;
    CUmemLocation preferred, prefetched; /* type 0: none */
    uint64_t accessed[FRONT_ADVICE_DEVICES / 64 + 1];
};

/* What holds for all of [start, end): what its parts disagree about is as if never said. */
void front_advice_get(uint64_t start, uint64_t end, struct front_advice *out);
/* Changes each part of [start, end) by `change`. False: no memory, and nothing has changed. */
bool front_advice_set(uint64_t start, uint64_t end,
                      void (*change)(struct front_advice *advice, const void *user),
                      const void *user);
/* The memory is freed. */
void front_advice_forget(uint64_t start, uint64_t end);

#endif
