/* SPDX-License-Identifier: Apache-2.0 */
/* Stream attributes: reading, checking and storing them. */
#include "front/memory/stream_attributes.h"

#include <string.h>

#include "api/launch_attributes.h"

const struct front_stream_attributes front_stream_attributes_new = {.policy = CU_SYNC_POLICY_AUTO};

CUresult front_stream_attribute_set(struct front_stream_attributes *kept, CUstreamAttrID attribute,
                                    const CUstreamAttrValue *value, int least, int greatest)
{
    if (value == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    switch ((int)attribute) {
    case CU_LAUNCH_ATTRIBUTE_PRIORITY: /* the highest priority is the lowest number */
        kept->priority = value->priority > least      ? least
                         : value->priority < greatest ? greatest
                                                      : value->priority;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
        if ((int)value->syncPolicy < CU_SYNC_POLICY_AUTO ||
            (int)value->syncPolicy > CU_SYNC_POLICY_BLOCKING_SYNC) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        kept->policy = value->syncPolicy;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
        if (!(value->accessPolicyWindow.hitRatio >= 0 && value->accessPolicyWindow.hitRatio <= 1) ||
            value->accessPolicyWindow.missProp == CU_ACCESS_PROPERTY_PERSISTING) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        kept->window = value->accessPolicyWindow;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
        kept->domains = value->memSyncDomainMap;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
        if ((int)value->memSyncDomain < CU_LAUNCH_MEM_SYNC_DOMAIN_DEFAULT ||
            (int)value->memSyncDomain > CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        kept->domain = value->memSyncDomain;
        return CUDA_SUCCESS;
    case API_LAUNCH_NVLINK_UTIL_CENTRIC_SCHEDULING: {
        uint32_t wanted;
        memcpy(&wanted, value, sizeof wanted);
        if (wanted > 1) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        kept->nvlink_centric = wanted;
        return CUDA_SUCCESS;
    }
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult front_stream_attribute_get(const struct front_stream_attributes *kept,
                                    CUstreamAttrID attribute, CUstreamAttrValue *value)
{
    CUstreamAttrValue out;
    memset(&out, 0, sizeof out);
    switch ((int)attribute) {
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
        out.priority = kept->priority;
        break;
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
        out.syncPolicy = kept->policy;
        break;
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
        out.accessPolicyWindow = kept->window;
        break;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
        out.memSyncDomainMap = kept->domains;
        break;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
        out.memSyncDomain = kept->domain;
        break;
    case API_LAUNCH_NVLINK_UTIL_CENTRIC_SCHEDULING:
        memcpy(&out, &kept->nvlink_centric, sizeof kept->nvlink_centric);
        break;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (value == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *value = out;
    return CUDA_SUCCESS;
}
