/* What the attributes of cuLaunchKernelEx ask for. Each is either done, or a hint that may be
 * passed over, or answered with CUDA's error; the table is in launch_options.c. */
#ifndef FRONT_LAUNCH_OPTIONS_H
#define FRONT_LAUNCH_OPTIONS_H

#include <stdbool.h>

#include "api/cuda_names.h"

struct front_launch_options {
    bool cooperative;
    bool prioritised;
    int priority;         /* instead of the stream's, when `prioritised` */
    CUevent completion;   /* to be recorded behind the kernel; NULL: none */
    unsigned event_flags; /* of cuEventRecordWithFlags */
};

/* CUDA_ERROR_INVALID_VALUE: config or its attributes are NULL, an attribute that is none of a
 * launch, a value out of range. CUDA_ERROR_INVALID_CLUSTER_SIZE: there are no clusters.
 * CUDA_ERROR_NOT_SUPPORTED: an attribute that is newer than this. */
CUresult front_launch_options_read(const CUlaunchConfig *config,
                                   struct front_launch_options *options);

#endif
