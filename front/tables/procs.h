/* SPDX-License-Identifier: Apache-2.0 */
/* The table behind cuGetProcAddress, generated: one row per exported symbol that may be asked for.
 * Sorted by name, then per_thread, then version. */
#ifndef FRONT_TABLES_PROCS_H
#define FRONT_TABLES_PROCS_H

#include <stddef.h>

struct front_proc {
    const char *name; /* base name: "cuMemAlloc" also for cuMemAlloc_v2 */
    int version;      /* of CUDA, in which this variant appeared: 3020 */
    int per_thread;   /* 1: _ptds or _ptsz */
    void (*function)(void);
};
extern const struct front_proc front_procs[];
extern const size_t front_proc_count;

#endif
