/* SPDX-License-Identifier: Apache-2.0 */
/* The queries of texture and surface objects. */
#include "front/front.h"

static CUresult sampled_description(CUtexObject handle, bool surface, const void *out,
                                    struct front_sampled *sampled)
{
    CUresult rc = front_ready();
    if (rc == CUDA_SUCCESS) {
        rc = front_host.sampled(handle, surface, sampled);
    }
    return rc == CUDA_SUCCESS && out == NULL ? CUDA_ERROR_INVALID_VALUE : rc;
}

CUresult CUDAAPI cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *pResDesc, CUtexObject texObject)
{
    struct front_sampled sampled;
    CUresult rc = sampled_description(texObject, false, pResDesc, &sampled);
    if (rc == CUDA_SUCCESS) {
        *pResDesc = sampled.resource;
    }
    return rc;
}

CUresult CUDAAPI cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC *pTexDesc, CUtexObject texObject)
{
    struct front_sampled sampled;
    CUresult rc = sampled_description(texObject, false, pTexDesc, &sampled);
    if (rc == CUDA_SUCCESS) {
        *pTexDesc = sampled.texture;
    }
    return rc;
}

CUresult CUDAAPI cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC *pResViewDesc,
                                                CUtexObject texObject)
{
    struct front_sampled sampled;
    CUresult rc = sampled_description(texObject, false, pResViewDesc, &sampled);
    if (rc == CUDA_SUCCESS && !sampled.viewed) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        *pResViewDesc = sampled.view;
    }
    return rc;
}

CUresult CUDAAPI cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *pResDesc, CUsurfObject surfObject)
{
    struct front_sampled sampled;
    CUresult rc = sampled_description(surfObject, true, pResDesc, &sampled);
    if (rc == CUDA_SUCCESS) {
        *pResDesc = sampled.resource;
    }
    return rc;
}
