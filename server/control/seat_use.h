/* SPDX-License-Identifier: Apache-2.0 */
/* What an application has used of a GPU from a seat, as its backend process says. These are a
 * stranger's numbers. A process that a program has taken over may say less than is true, or more:
 * but no engine has worked for longer than the application has had the seat. */
#ifndef SERVER_CONTROL_SEAT_USE_H
#define SERVER_CONTROL_SEAT_USE_H

#include <stdbool.h>
#include <stdint.h>

#include "server/figures.h"

struct device;
struct seat;

struct seat_use {
    const struct device *device;
    uint64_t busy_ns[FIGURE_ENGINES];
    uint64_t busy_any_ns; /* any of them */
    uint64_t works;
};

/* The GPU of the row `number` of its figures, from 0, as of now. False: it has used no more. */
bool seat_use_read(const struct seat *seat, uint32_t number, struct seat_use *use);

#endif
