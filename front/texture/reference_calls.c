/* SPDX-License-Identifier: Apache-2.0 */
/* The calls that set and query texture and surface references. */
#include <string.h>

#include "front/front.h"
#include "front/texture/reference.h"

#define FLAGS                                                                                      \
    (CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SRGB |                     \
     CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION | CU_TRSF_SEAMLESS_CUBEMAP)

/* ---- setting ---- */

/* The lock is held on CUDA_SUCCESS; `changed` is a copy of the reference. */
static CUresult reference_begin(CUtexref handle, bool good, struct front_reference **reference,
                                struct front_reference *changed)
{
    CUresult rc = front_reference_enter(handle, false, reference);
    if (rc == CUDA_SUCCESS && !good) {
        (void)front_reference_leave(CUDA_SUCCESS);
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        *changed = **reference;
    }
    return rc;
}

static CUresult reference_end(struct front_reference *reference,
                              const struct front_reference *changed)
{
    return front_reference_leave(front_reference_change(reference, changed));
}

static CUresult bind_array(CUtexref handle, uint64_t array, bool mipmapped, bool good)
{
    struct front_reference *reference, changed;
    struct front_array shape;
    CUresult rc = reference_begin(handle, good, &reference, &changed);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    if (front_host.array(array, mipmapped, &shape) != CUDA_SUCCESS) {
        return front_reference_leave(CUDA_ERROR_INVALID_VALUE);
    }
    changed.bound = true;
    changed.resource = (CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_ARRAY};
    if (mipmapped) {
        changed.resource.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
        changed.resource.res.mipmap.hMipmappedArray = (CUmipmappedArray)(uintptr_t)array;
    } else {
        changed.resource.res.array.hArray = (CUarray)(uintptr_t)array;
    }
    changed.format = shape.shape.Format;
    changed.channels = shape.shape.NumChannels;
    return reference_end(reference, &changed);
}

CUresult CUDAAPI cuTexRefSetArray(CUtexref hTexRef, CUarray hArray, unsigned int Flags)
{
    return bind_array(hTexRef, (uint64_t)(uintptr_t)hArray, false,
                      Flags == CU_TRSA_OVERRIDE_FORMAT);
}

CUresult CUDAAPI cuTexRefSetMipmappedArray(CUtexref hTexRef, CUmipmappedArray hMipmappedArray,
                                           unsigned int Flags)
{
    return bind_array(hTexRef, (uint64_t)(uintptr_t)hMipmappedArray, true,
                      Flags == CU_TRSA_OVERRIDE_FORMAT);
}

/* Checks that some texture can be made of this memory. */
static CUresult memory_try(const CUDA_RESOURCE_DESC *resource)
{
    const CUDA_TEXTURE_DESC plain = {.flags = CU_TRSF_READ_AS_INTEGER};
    CUtexObject object;
    CUresult rc = cuTexObjectCreate(&object, resource, &plain, NULL);
    return rc == CUDA_SUCCESS ? cuTexObjectDestroy(object) : rc;
}

CUresult CUDAAPI cuTexRefSetAddress_v2(size_t *ByteOffset, CUtexref hTexRef, CUdeviceptr dptr,
                                       size_t bytes)
{
    struct front_reference *reference, changed;
    CUdevice device = 0;
    int unit = 1;
    (void)cuCtxGetDevice(&device);
    (void)front_host.device_attribute(device, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, &unit);
    size_t offset = unit > 0 ? dptr % (unsigned)unit : 0;
    CUresult rc = reference_begin(hTexRef, offset == 0 || ByteOffset != NULL, &reference, &changed);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    changed.bound = bytes != 0;
    changed.resource = (CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_LINEAR};
    changed.resource.res.linear.devPtr = dptr - offset;
    changed.resource.res.linear.format = changed.format;
    changed.resource.res.linear.numChannels = changed.channels;
    changed.resource.res.linear.sizeInBytes = bytes + offset;
    rc = changed.bound ? memory_try(&changed.resource) : CUDA_SUCCESS;
    if (rc == CUDA_SUCCESS) {
        rc = front_reference_change(reference, &changed);
    }
    if (rc == CUDA_SUCCESS && ByteOffset != NULL) {
        *ByteOffset = offset;
    }
    return front_reference_leave(rc);
}

CUresult CUDAAPI cuTexRefSetAddress2D_v3(CUtexref hTexRef, const CUDA_ARRAY_DESCRIPTOR *desc,
                                         CUdeviceptr dptr, size_t Pitch)
{
    struct front_reference *reference, changed;
    CUresult rc = reference_begin(hTexRef, desc != NULL, &reference, &changed);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    changed.bound = true;
    changed.format = desc->Format;
    changed.channels = desc->NumChannels;
    changed.resource = (CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_PITCH2D};
    changed.resource.res.pitch2D.devPtr = dptr;
    changed.resource.res.pitch2D.format = desc->Format;
    changed.resource.res.pitch2D.numChannels = desc->NumChannels;
    changed.resource.res.pitch2D.width = desc->Width;
    changed.resource.res.pitch2D.height = desc->Height;
    changed.resource.res.pitch2D.pitchInBytes = Pitch;
    rc = memory_try(&changed.resource);
    return rc == CUDA_SUCCESS ? reference_end(reference, &changed) : front_reference_leave(rc);
}

/* Ignored for arrays, which have their own format, and for two-dimensional memory, whose format
 * is given with it. */
CUresult CUDAAPI cuTexRefSetFormat(CUtexref hTexRef, CUarray_format fmt, int NumPackedComponents)
{
    struct front_reference *reference, changed;
    bool good =
        NumPackedComponents > 0 && front_element_bytes(fmt, (unsigned)NumPackedComponents) != 0;
    CUresult rc = reference_begin(hTexRef, good, &reference, &changed);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    if (changed.bound && changed.resource.resType != CU_RESOURCE_TYPE_LINEAR) {
        return front_reference_leave(CUDA_ERROR_INVALID_VALUE);
    }
    changed.format = fmt;
    changed.channels = (unsigned)NumPackedComponents;
    changed.resource.res.linear.format = fmt;
    changed.resource.res.linear.numChannels = changed.channels;
    return reference_end(reference, &changed);
}

CUresult CUDAAPI cuTexRefSetAddressMode(CUtexref hTexRef, int dim, CUaddress_mode am)
{
    struct front_reference *reference, changed;
    bool good = dim >= 0 && dim < 3 && (unsigned)am <= CU_TR_ADDRESS_MODE_BORDER;
    CUresult rc = reference_begin(hTexRef, good, &reference, &changed);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    changed.texture.addressMode[dim] = am;
    return reference_end(reference, &changed);
}

CUresult CUDAAPI cuTexRefSetFilterMode(CUtexref hTexRef, CUfilter_mode fm)
{
    struct front_reference *reference, changed;
    CUresult rc =
        reference_begin(hTexRef, (unsigned)fm <= CU_TR_FILTER_MODE_LINEAR, &reference, &changed);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    changed.texture.filterMode = fm;
    return reference_end(reference, &changed);
}

CUresult CUDAAPI cuTexRefSetMipmapFilterMode(CUtexref hTexRef, CUfilter_mode fm)
{
    struct front_reference *reference, changed;
    CUresult rc =
        reference_begin(hTexRef, (unsigned)fm <= CU_TR_FILTER_MODE_LINEAR, &reference, &changed);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    changed.texture.mipmapFilterMode = fm;
    return reference_end(reference, &changed);
}

CUresult CUDAAPI cuTexRefSetMipmapLevelBias(CUtexref hTexRef, float bias)
{
    struct front_reference *reference, changed;
    CUresult rc = reference_begin(hTexRef, true, &reference, &changed);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    changed.texture.mipmapLevelBias = bias;
    return reference_end(reference, &changed);
}

CUresult CUDAAPI cuTexRefSetMipmapLevelClamp(CUtexref hTexRef, float minMipmapLevelClamp,
                                             float maxMipmapLevelClamp)
{
    struct front_reference *reference, changed;
    CUresult rc = reference_begin(hTexRef, true, &reference, &changed);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    changed.texture.minMipmapLevelClamp = minMipmapLevelClamp;
    changed.texture.maxMipmapLevelClamp = maxMipmapLevelClamp;
    return reference_end(reference, &changed);
}

CUresult CUDAAPI cuTexRefSetMaxAnisotropy(CUtexref hTexRef, unsigned int maxAniso)
{
    struct front_reference *reference, changed;
    CUresult rc = reference_begin(hTexRef, true, &reference, &changed);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    changed.texture.maxAnisotropy = maxAniso;
    return reference_end(reference, &changed);
}

CUresult CUDAAPI cuTexRefSetBorderColor(CUtexref hTexRef, float *pBorderColor)
{
    struct front_reference *reference, changed;
    CUresult rc = reference_begin(hTexRef, pBorderColor != NULL, &reference, &changed);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    memcpy(changed.texture.borderColor, pBorderColor, sizeof changed.texture.borderColor);
    return reference_end(reference, &changed);
}

CUresult CUDAAPI cuTexRefSetFlags(CUtexref hTexRef, unsigned int Flags)
{
    struct front_reference *reference, changed;
    CUresult rc = reference_begin(hTexRef, (Flags & ~(unsigned)FLAGS) == 0, &reference, &changed);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    changed.texture.flags = Flags;
    return reference_end(reference, &changed);
}

/* A module's reference belongs to the module: there is nothing to do. */
CUresult CUDAAPI cuParamSetTexRef(CUfunction hfunc, int texunit, CUtexref hTexRef)
{
    CUmodule module;
    struct front_reference *reference, state;
    CUresult rc = cuFuncGetModule(&module, hfunc);
    if (rc == CUDA_SUCCESS) {
        rc = reference_begin(hTexRef, texunit == CU_PARAM_TR_DEFAULT, &reference, &state);
    }
    return rc == CUDA_SUCCESS ? front_reference_leave(CUDA_SUCCESS) : rc;
}

/* ---- queries ---- */

/* The lock is not held; `state` is a copy. */
static CUresult reference_ask(CUtexref handle, bool good, struct front_reference *state)
{
    struct front_reference *reference;
    CUresult rc = reference_begin(handle, good, &reference, state);
    return rc == CUDA_SUCCESS ? front_reference_leave(CUDA_SUCCESS) : rc;
}

static bool is_bound(const struct front_reference *state, CUresourcetype type)
{
    return state->bound && state->resource.resType == type;
}

CUresult CUDAAPI cuTexRefGetAddress_v2(CUdeviceptr *pdptr, CUtexref hTexRef)
{
    struct front_reference state;
    CUresult rc = reference_ask(hTexRef, pdptr != NULL, &state);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    if (is_bound(&state, CU_RESOURCE_TYPE_LINEAR)) {
        *pdptr = state.resource.res.linear.devPtr;
    } else if (is_bound(&state, CU_RESOURCE_TYPE_PITCH2D)) {
        *pdptr = state.resource.res.pitch2D.devPtr;
    } else {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    return rc;
}

CUresult CUDAAPI cuTexRefGetArray(CUarray *phArray, CUtexref hTexRef)
{
    struct front_reference state;
    CUresult rc = reference_ask(hTexRef, phArray != NULL, &state);
    if (rc == CUDA_SUCCESS && !is_bound(&state, CU_RESOURCE_TYPE_ARRAY)) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        *phArray = state.resource.res.array.hArray;
    }
    return rc;
}

CUresult CUDAAPI cuTexRefGetMipmappedArray(CUmipmappedArray *phMipmappedArray, CUtexref hTexRef)
{
    struct front_reference state;
    CUresult rc = reference_ask(hTexRef, phMipmappedArray != NULL, &state);
    if (rc == CUDA_SUCCESS && !is_bound(&state, CU_RESOURCE_TYPE_MIPMAPPED_ARRAY)) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        *phMipmappedArray = state.resource.res.mipmap.hMipmappedArray;
    }
    return rc;
}

CUresult CUDAAPI cuTexRefGetAddressMode(CUaddress_mode *pam, CUtexref hTexRef, int dim)
{
    struct front_reference state;
    CUresult rc = reference_ask(hTexRef, pam != NULL && dim >= 0 && dim < 3, &state);
    if (rc == CUDA_SUCCESS) {
        *pam = state.texture.addressMode[dim];
    }
    return rc;
}

CUresult CUDAAPI cuTexRefGetFormat(CUarray_format *pFormat, int *pNumChannels, CUtexref hTexRef)
{
    struct front_reference state;
    CUresult rc = reference_ask(hTexRef, pFormat != NULL && pNumChannels != NULL, &state);
    if (rc == CUDA_SUCCESS && state.channels == 0) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        *pFormat = state.format;
        *pNumChannels = (int)state.channels;
    }
    return rc;
}

CUresult CUDAAPI cuTexRefGetMipmapLevelClamp(float *pminMipmapLevelClamp,
                                             float *pmaxMipmapLevelClamp, CUtexref hTexRef)
{
    struct front_reference state;
    CUresult rc = reference_ask(
        hTexRef, pminMipmapLevelClamp != NULL && pmaxMipmapLevelClamp != NULL, &state);
    if (rc == CUDA_SUCCESS) {
        *pminMipmapLevelClamp = state.texture.minMipmapLevelClamp;
        *pmaxMipmapLevelClamp = state.texture.maxMipmapLevelClamp;
    }
    return rc;
}

CUresult CUDAAPI cuTexRefGetBorderColor(float *pBorderColor, CUtexref hTexRef)
{
    struct front_reference state;
    CUresult rc = reference_ask(hTexRef, pBorderColor != NULL, &state);
    if (rc == CUDA_SUCCESS) {
        memcpy(pBorderColor, state.texture.borderColor, sizeof state.texture.borderColor);
    }
    return rc;
}

/* The queries with one value. */
#define ASK(call, type, value)                                                                     \
    CUresult CUDAAPI call(type *out, CUtexref hTexRef)                                             \
    {                                                                                              \
        struct front_reference state;                                                              \
        CUresult rc = reference_ask(hTexRef, out != NULL, &state);                                 \
        if (rc == CUDA_SUCCESS) {                                                                  \
            *out = (type)state.texture.value;                                                      \
        }                                                                                          \
        return rc;                                                                                 \
    }
ASK(cuTexRefGetFilterMode, CUfilter_mode, filterMode)
ASK(cuTexRefGetMipmapFilterMode, CUfilter_mode, mipmapFilterMode)
ASK(cuTexRefGetMipmapLevelBias, float, mipmapLevelBias)
ASK(cuTexRefGetMaxAnisotropy, int, maxAnisotropy)
ASK(cuTexRefGetFlags, unsigned int, flags)

/* ---- surfaces ---- */

CUresult CUDAAPI cuSurfRefSetArray(CUsurfref hSurfRef, CUarray hArray, unsigned int Flags)
{
    struct front_reference *reference, changed;
    struct front_array shape;
    CUresult rc = front_reference_enter(hSurfRef, true, &reference);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    if (Flags != 0 ||
        front_host.array((uint64_t)(uintptr_t)hArray, false, &shape) != CUDA_SUCCESS ||
        (shape.shape.Flags & CUDA_ARRAY3D_SURFACE_LDST) == 0) {
        return front_reference_leave(CUDA_ERROR_INVALID_VALUE);
    }
    changed = *reference;
    changed.bound = true;
    changed.resource = (CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_ARRAY};
    changed.resource.res.array.hArray = hArray;
    return reference_end(reference, &changed);
}

CUresult CUDAAPI cuSurfRefGetArray(CUarray *phArray, CUsurfref hSurfRef)
{
    struct front_reference *reference;
    CUresult rc = front_reference_enter(hSurfRef, true, &reference);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    if (phArray == NULL || !reference->bound) {
        return front_reference_leave(CUDA_ERROR_INVALID_VALUE);
    }
    *phArray = reference->resource.res.array.hArray;
    return front_reference_leave(CUDA_SUCCESS);
}
