/* SPDX-License-Identifier: Apache-2.0 */
/* Launch attributes (cuLaunchKernelEx). Each is done, ignored as a hint, or answered with CUDA's
 * error; the table is in launch_options.c. */
#ifndef FRONT_LAUNCH_LAUNCH_OPTIONS_H
#define FRONT_LAUNCH_LAUNCH_OPTIONS_H

#include <stdbool.h>

#include "api/cuda_names.h"

struct front_launch_options {
    bool cooperative;
    unsigned cluster[3]; /* blocks of a cluster; 0, 0, 0: not given */
    bool prioritised;
    int priority;         /* instead of the stream's, when `prioritised` */
    CUevent completion;   /* recorded after the kernel; NULL: none */
    unsigned event_flags; /* of cuEventRecordWithFlags */
};

/* CUDA_ERROR_INVALID_VALUE: config or its attributes are NULL, an attribute is not one of
 * launches, or a value is out of range. CUDA_ERROR_INVALID_CLUSTER_SIZE: a size of 0.
 * CUDA_ERROR_NOT_SUPPORTED: an attribute newer than this library. */
CUresult front_launch_options_read(const CUlaunchConfig *config,
                                   struct front_launch_options *options);

/* CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE if the blocks of a cooperative launch do not fit on
 * the device at once; says once how many do. `each`: blocks on a multiprocessor. */
CUresult front_cooperative_check(unsigned __int128 blocks, unsigned each, unsigned sms);

/* Facts of a device and a kernel about clusters, as in CUfunction_attribute. */
struct front_cluster {
    bool possible;        /* CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH */
    bool must_be_set;     /* the launch must give a size, unless */
    bool non_portable;    /* more than 8 blocks are allowed */
    unsigned required[3]; /* 0: any */
};

#define FRONT_CLUSTER_PORTABLE 8u
#define FRONT_CLUSTER_MAX      16u

/* The most blocks of a cluster. */
unsigned front_cluster_most(const struct front_cluster *facts);
/* CUDA_ERROR_INVALID_CLUSTER_SIZE: clusters cannot have this size, or do not divide the grid. */
CUresult front_cluster_check(const struct front_cluster *facts, const unsigned grid[3],
                             const unsigned cluster[3]);

#endif
