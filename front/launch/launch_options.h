/* SPDX-License-Identifier: Apache-2.0 */
/* What the attributes of cuLaunchKernelEx ask for. Each is either done, or a hint that may be
 * passed over, or answered with CUDA's error; the table is in launch_options.c. */
#ifndef FRONT_LAUNCH_LAUNCH_OPTIONS_H
#define FRONT_LAUNCH_LAUNCH_OPTIONS_H

#include <stdbool.h>

#include "api/cuda_names.h"

struct front_launch_options {
    bool cooperative;
    unsigned cluster[3]; /* blocks of a cluster; 0, 0, 0: not said */
    bool prioritised;
    int priority;         /* instead of the stream's, when `prioritised` */
    CUevent completion;   /* to be recorded behind the kernel; NULL: none */
    unsigned event_flags; /* of cuEventRecordWithFlags */
};

/* CUDA_ERROR_INVALID_VALUE: config or its attributes are NULL, an attribute that is none of a
 * launch, a value out of range. CUDA_ERROR_INVALID_CLUSTER_SIZE: a size of 0.
 * CUDA_ERROR_NOT_SUPPORTED: an attribute that is newer than this. */
CUresult front_launch_options_read(const CUlaunchConfig *config,
                                   struct front_launch_options *options);

/* All blocks of a cooperative launch must be there at once:
 * CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, and said once how many fit, where they cannot. `each`:
 * on a multiprocessor. */
CUresult front_cooperative_check(unsigned __int128 blocks, unsigned each, unsigned sms);

/* What a device and a kernel say about clusters, as CUfunction_attribute has it. */
struct front_cluster {
    bool possible;        /* CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH */
    bool must_be_set;     /* the launch has to name a size, unless the kernel requires one */
    bool non_portable;    /* more than 8 blocks are allowed */
    unsigned required[3]; /* 0: any */
};

#define FRONT_CLUSTER_PORTABLE 8u
#define FRONT_CLUSTER_MAX      16u

/* Blocks of a cluster, at most. */
unsigned front_cluster_most(const struct front_cluster *facts);
/* CUDA_ERROR_INVALID_CLUSTER_SIZE: clusters of this size cannot be, or do not make the grid. */
CUresult front_cluster_check(const struct front_cluster *facts, const unsigned grid[3],
                             const unsigned cluster[3]);

#endif
