/* SPDX-License-Identifier: Apache-2.0 */
#include "server/lent.h"

const struct lent_facts lent_table[CHANNEL_LENT_KINDS] = {
#define LENT(kind, limit_, figure_, grain_, text_)                                                 \
    [CHANNEL_LENT_##kind] = {.limit = LIMIT_##limit_,                                              \
                             .figure = FIGURE_##figure_,                                           \
                             .grain = CHANNEL_GRAIN_##grain_,                                      \
                             .text = text_},
#include "server/lent.def"
#undef LENT
};

enum channel_lent lent_kind(enum figure figure)
{
    switch (figure) {
#define LENT(kind, limit, figure, grain, text)                                                     \
    case FIGURE_##figure:                                                                          \
        return CHANNEL_LENT_##kind;
#include "server/lent.def"
#undef LENT
    case FIGURE_SHARED_BYTES:
        return CHANNEL_LENT_HOST;
    default:
        return CHANNEL_LENT_KINDS;
    }
}

uint64_t lent_shown(const struct limits *limits, uint64_t bytes)
{
    uint64_t all = limits->of[LIMIT_GPU_MEM], each = limits->of[LIMIT_GPU_MEM_PER_GPU];
    uint64_t least = all < each ? all : each;
    return bytes < least ? bytes : least;
}
