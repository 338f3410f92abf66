/* SPDX-License-Identifier: Apache-2.0 */
/* Advice about parts of managed memory (cuMemAdvise), and the last target of a prefetch
 * (cuMemPrefetchAsync). It is kept only for queries: the owner of the memory decides what to do
 * with it, and removes the advice of memory that it frees. */
#ifndef FRONT_MEMORY_ADVICE_H
#define FRONT_MEMORY_ADVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"

#define FRONT_ADVICE_DEVICES 1024u
#define FRONT_ADVICE_HOST    FRONT_ADVICE_DEVICES /* index of the host in `accessed` */

struct front_advice {
    bool read_mostly;
    CUmemLocation preferred, prefetched; /* type 0: none */
    uint64_t accessed[FRONT_ADVICE_DEVICES / 64 + 1];
};

/* The advice that holds for all of [start, end). Advice that differs between its parts
 * counts as not given. */
void front_advice_get(uint64_t start, uint64_t end, struct front_advice *out);
/* Applies `change` to each part of [start, end). False: no memory, and nothing has changed. */
bool front_advice_set(uint64_t start, uint64_t end,
                      void (*change)(struct front_advice *advice, const void *user),
                      const void *user);
/* To be called when the memory is freed. */
void front_advice_forget(uint64_t start, uint64_t end);

#endif
