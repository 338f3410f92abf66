/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of CUlaunchAttributeID that are newer than the oldest cuda.h that we build with. */
#ifndef API_LAUNCH_ATTRIBUTES_H
#define API_LAUNCH_ATTRIBUTES_H

enum {
    API_LAUNCH_PREFERRED_CLUSTER_DIMENSION = 11,
    API_LAUNCH_COMPLETION_EVENT = 12,
    API_LAUNCH_DEVICE_UPDATABLE_KERNEL_NODE = 13,
    API_LAUNCH_PREFERRED_SHARED_MEMORY_CARVEOUT = 14,
    API_LAUNCH_NVLINK_UTIL_CENTRIC_SCHEDULING = 16,
};

#endif
