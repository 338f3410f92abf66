/* SPDX-License-Identifier: Apache-2.0 */
/* What cuStreamSetAttribute keeps of a stream. Only the priority changes what happens; the others
 * are hints about caches, waiting threads and fences that this library can do without, and are
 * answered as they were set. */
#ifndef FRONT_MEMORY_STREAM_ATTRIBUTES_H
#define FRONT_MEMORY_STREAM_ATTRIBUTES_H

#include "api/cuda_names.h"

struct front_stream_attributes {
    int priority;
    CUsynchronizationPolicy policy;
    CUaccessPolicyWindow window;
    CUlaunchMemSyncDomainMap domains;
    CUlaunchMemSyncDomain domain;
};

extern const struct front_stream_attributes front_stream_attributes_new;

/* A priority outside of the range is cut to it. CUDA_ERROR_INVALID_VALUE: NULL, not an attribute of
 * streams, or no value of it. */
CUresult front_stream_attribute_set(struct front_stream_attributes *kept, CUstreamAttrID attribute,
                                    const CUstreamAttrValue *value, int least, int greatest);
CUresult front_stream_attribute_get(const struct front_stream_attributes *kept,
                                    CUstreamAttrID attribute, CUstreamAttrValue *value);

#endif
