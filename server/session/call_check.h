/* SPDX-License-Identifier: Apache-2.0 */
/* In builds for tests: a call charges what its stanza says (`charge`, `record` of api/cuda), and
 * nothing else. Elsewhere nothing of this is compiled. */
#ifndef SERVER_SESSION_CALL_CHECK_H
#define SERVER_SESSION_CALL_CHECK_H

#include <stdint.h>

#include "server/pipeline/ledger.h"

#ifdef GPUAAS_FAILPOINTS
struct call_check {
    uint64_t before[FIGURE_COUNT];
};

void call_check_begin(struct call_check *check, const struct ledger *ledger);
/* Ends the process where the figures have changed otherwise. */
void call_check_end(const struct call_check *check, const struct ledger *ledger, uint16_t op);
#else
struct call_check {
    char none;
};

#define call_check_begin(check, ledger)   ((void)(check), (void)(ledger))
#define call_check_end(check, ledger, op) ((void)(check), (void)(ledger), (void)(op))
#endif

#endif
