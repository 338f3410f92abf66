/* SPDX-License-Identifier: Apache-2.0 */
/* A ledger without limits, and the figures that it keeps. */
#ifndef SERVER_TESTS_FAKE_LEDGER_H
#define SERVER_TESTS_FAKE_LEDGER_H

#include "server/charge/ledger.h"

static struct figures fake_figures;
static struct figures_memory fake_memory[2]; /* of its GPUs */
static struct ledger fake_ledger = {
    .figures = &fake_figures, .memory = fake_memory, .most = {UINT64_MAX, UINT64_MAX}};

static inline uint64_t fake_figure(enum figure which)
{
    return atomic_load(&fake_figures.of[which]);
}

#endif
