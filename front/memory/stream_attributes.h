/* SPDX-License-Identifier: Apache-2.0 */
/* Stream attributes (cuStreamSetAttribute). Only the priority has an effect. The others are
 * hints about caches, waiting threads and fences; they are stored for queries. */
#ifndef FRONT_MEMORY_STREAM_ATTRIBUTES_H
#define FRONT_MEMORY_STREAM_ATTRIBUTES_H

#include <stdint.h>

#include "api/cuda_names.h"

struct front_stream_attributes {
    int priority;
    CUsynchronizationPolicy policy;
    CUaccessPolicyWindow window;
    CUlaunchMemSyncDomainMap domains;
    CUlaunchMemSyncDomain domain;
    uint32_t nvlink_centric;
};

extern const struct front_stream_attributes front_stream_attributes_new;

/* A priority outside the range is clamped. CUDA_ERROR_INVALID_VALUE: NULL, not a stream
 * attribute, or an invalid value. */
CUresult front_stream_attribute_set(struct front_stream_attributes *kept, CUstreamAttrID attribute,
                                    const CUstreamAttrValue *value, int least, int greatest);
CUresult front_stream_attribute_get(const struct front_stream_attributes *kept,
                                    CUstreamAttrID attribute, CUstreamAttrValue *value);

#endif
