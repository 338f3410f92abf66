/* SPDX-License-Identifier: Apache-2.0 */
/* The faults of a connection, as in the options of its address (fault.h). */
#ifndef TRANSPORT_FAULT_FAULT_OPTIONS_H
#define TRANSPORT_FAULT_FAULT_OPTIONS_H

#include "transport/fault/fault_frames.h"

#define FAULTS_NEVER UINT64_MAX

enum direction { IN, OUT };

struct faults {
    uint64_t most, again, delay_us, on;
    uint64_t reset[2], silent[2], corrupt[2], half[2]; /* by enum direction */
    struct fault_frames frames[2];
};

/* False: invalid options. */
bool faults_parse(const char *text, struct faults *faults);

#endif
