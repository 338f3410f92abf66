/* SPDX-License-Identifier: Apache-2.0 */
/* The table behind cuGetProcAddress, generated: a row for each exported symbol that may be asked
 * for. Sorted by name, then per_thread, then version. */
#ifndef FRONT_TABLES_PROCS_H
#define FRONT_TABLES_PROCS_H

#include <stddef.h>

struct front_proc {
    const char *name; /* base name: "cuMemAlloc" for cuMemAlloc_v2 as well */
    int version;      /* of CUDA that introduced this variant: 3020 */
    int per_thread;   /* 1: _ptds or _ptsz */
    void (*function)(void);
};
extern const struct front_proc front_procs[];
extern const size_t front_proc_count;

#endif
