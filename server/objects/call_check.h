/* SPDX-License-Identifier: Apache-2.0 */
/* In builds for tests: a call charges what its stanza says (`charge`, `record` of api/cuda), and
 * nothing else; and when it is over, the driver holds no more of a GPU's memory, by its own count
 * (memory_held of api/driver_places.h), than is charged. Elsewhere nothing of this is compiled. */
#ifndef SERVER_OBJECTS_CALL_CHECK_H
#define SERVER_OBJECTS_CALL_CHECK_H

#include <stdint.h>

#include "server/charge/ledger.h"

struct server_app;

#ifdef GPUAAS_FAILPOINTS
struct call_check {
    uint64_t before[FIGURE_COUNT];
};

void call_check_begin(struct call_check *check, const struct ledger *ledger);
/* Ends the process where the figures have changed otherwise. */
void call_check_end(const struct call_check *check, const struct server_app *app, uint16_t op);
#else
struct call_check {
    char none;
};

#define call_check_begin(check, ledger) ((void)(check), (void)(ledger))
#define call_check_end(check, app, op)  ((void)(check), (void)(app), (void)(op))
#endif

#endif
