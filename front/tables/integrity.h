/* SPDX-License-Identifier: Apache-2.0 */
/* The integrity check of the CUDA runtime: a keyed hash over facts of this process and of the
 * devices. The runtime computes the hash as well; if the two differ, each of its calls returns
 * 103. */
#ifndef FRONT_TABLES_INTEGRITY_H
#define FRONT_TABLES_INTEGRITY_H

#include <stddef.h>
#include <stdint.h>

#include "front/front.h"

struct front_integrity {
    uint32_t driver_version;
    uint32_t version; /* of the asking runtime, plus 0, 1 or 2 */
    uint32_t pid;
    uint32_t thread; /* low 32 bits of pthread_self() of the calling thread */
    uint64_t runtime_table;
    uint64_t integrity_table;
    uint64_t integrity_function;
    uint64_t unix_seconds; /* the caller's, not our clock's */
    const struct front_device *devices;
    size_t device_count;
};

void front_integrity_hash(const struct front_integrity *facts, uint64_t answer[2]);

#endif
