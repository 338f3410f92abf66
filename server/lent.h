/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of what is lent to backend processes (lent.def), for both ends of the channel. */
#ifndef SERVER_LENT_H
#define SERVER_LENT_H

#include "server/figures.h"

struct lent_facts {
    enum limit limit;
    enum figure figure;
    uint64_t grain;
    const char *text;
};

extern const struct lent_facts lent_table[CHANNEL_LENT_KINDS];

/* CHANNEL_LENT_KINDS: what this figure counts is not lent. */
enum channel_lent lent_kind(enum figure figure);
/* The memory that a program with these limits is told a GPU of `bytes` has. */
uint64_t lent_shown(const struct limits *limits, uint64_t bytes);

#endif
