/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays; see array.h. */
#include "softgpu/texture/array.h"

#include <stdlib.h>

#include "softgpu/memory/heap.h"
#include "softgpu/process/context.h"
#include "softgpu/process/process.h"

struct sg_array *sg_array_find(CUarray handle)
{
    return ga_handle_table_find(&sg_process.arrays, (uint64_t)(uintptr_t)handle);
}

struct sg_array *sg_array_find_mipmap(CUmipmappedArray handle)
{
    return ga_handle_table_find(&sg_process.mipmaps, (uint64_t)(uintptr_t)handle);
}

/* ---- texels */

static enum sg_shape array_shape(const CUDA_ARRAY3D_DESCRIPTOR *said)
{
    bool layered = (said->Flags & CUDA_ARRAY3D_LAYERED) != 0;
    if ((said->Flags & CUDA_ARRAY3D_CUBEMAP) != 0) {
        return layered ? SG_SHAPE_CUBE_LAYERED : SG_SHAPE_CUBE;
    }
    if (layered) {
        return said->Height != 0 ? SG_SHAPE_2D_LAYERED : SG_SHAPE_1D_LAYERED;
    }
    return said->Depth != 0 ? SG_SHAPE_3D : said->Height != 0 ? SG_SHAPE_2D : SG_SHAPE_1D;
}

bool sg_texels_format(CUarray_format format, unsigned channels, struct sg_texels *texels)
{
    static const struct {
        CUarray_format format;
        enum sg_channel channel;
    } plain[] = {{CU_AD_FORMAT_UNSIGNED_INT8, SG_CHANNEL_U8},
                 {CU_AD_FORMAT_UNSIGNED_INT16, SG_CHANNEL_U16},
                 {CU_AD_FORMAT_UNSIGNED_INT32, SG_CHANNEL_U32},
                 {CU_AD_FORMAT_SIGNED_INT8, SG_CHANNEL_S8},
                 {CU_AD_FORMAT_SIGNED_INT16, SG_CHANNEL_S16},
                 {CU_AD_FORMAT_SIGNED_INT32, SG_CHANNEL_S32},
                 {CU_AD_FORMAT_HALF, SG_CHANNEL_HALF},
                 {CU_AD_FORMAT_FLOAT, SG_CHANNEL_FLOAT}};
    static const enum sg_channel normalised[] = {SG_CHANNEL_U8, SG_CHANNEL_U16, SG_CHANNEL_S8,
                                                 SG_CHANNEL_S16};
    texels->channels = channels;
    texels->normalised = false;
    if (format >= CU_AD_FORMAT_UNORM_INT8X1 && format <= CU_AD_FORMAT_SNORM_INT16X4) {
        texels->channel = normalised[((unsigned)format - CU_AD_FORMAT_UNORM_INT8X1) / 3];
        texels->normalised = true;
        return true;
    }
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        if (plain[i].format == format) {
            texels->channel = plain[i].channel;
            return true;
        }
    }
    return false;
}

/* Fills in everything but the address; returns the bytes. */
static uint64_t texels_lay(struct sg_array *array)
{
    const CUDA_ARRAY3D_DESCRIPTOR *said = &array->front.shape;
    struct sg_texels *texels = &array->texels;
    texels->shape = array_shape(said);
    (void)sg_texels_format(said->Format, said->NumChannels, texels); /* front/ has checked it */
    texels->layers = front_array_layers(&array->front);
    texels->level_count = array->front.levels != 0 ? array->front.levels : 1;
    uint32_t depth = texels->shape == SG_SHAPE_3D ? (uint32_t)said->Depth : 1;
    return sg_texels_layout(texels, (uint32_t)said->Width,
                            said->Height != 0 ? (uint32_t)said->Height : 1, depth);
}

/* ---- life */

static struct sg_array *array_new(struct sg_context *context, const struct front_array *front)
{
    struct sg_array *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return NULL;
    }
    made->context = context;
    made->front = *front;
    ga_list_init(&made->in_context);
    struct ga_handle_table *table = front->levels != 0 ? &sg_process.mipmaps : &sg_process.arrays;
    if (ga_handle_table_make(table, made, &made->handle) != GA_OK) {
        free(made);
        return NULL;
    }
    return made;
}

static void array_free(struct sg_array *array)
{
    struct ga_handle_table *table =
        array->front.levels != 0 ? &sg_process.mipmaps : &sg_process.arrays;
    ga_handle_table_remove(table, array->handle);
    free(array);
}

CUresult sg_array_make(struct sg_context *context, const struct front_array *front,
                       struct sg_array **array)
{
    struct sg_array *made = array_new(context, front);
    if (made == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUresult rc = sg_heap_alloc(context->device, context, texels_lay(made), &made->range);
    if (rc != CUDA_SUCCESS) {
        array_free(made);
        return rc;
    }
    made->range->variable = true; /* cuMemFree refuses it */
    sg_texels_place(&made->texels, made->range->span.base);
    ga_list_append(&context->arrays, &made->in_context);
    *array = made;
    return CUDA_SUCCESS;
}

void sg_array_destroy(struct sg_array *array)
{
    for (unsigned i = 0; i < FRONT_LEVELS_MAX; i++) {
        if (array->level[i] != NULL) {
            array_free(array->level[i]);
        }
    }
    ga_list_remove(&array->in_context);
    sg_heap_free(array->range);
    array_free(array);
}

CUresult sg_array_level(struct sg_array *whole, unsigned level, struct sg_array **array)
{
    if (whole->level[level] == NULL) {
        const struct front_array front = front_array_level(&whole->front, level);
        struct sg_array *made = array_new(whole->context, &front);
        if (made == NULL) {
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        made->texels = sg_texels_level(&whole->texels, level);
        whole->level[level] = made;
    }
    *array = whole->level[level];
    return CUDA_SUCCESS;
}

/* ---- copies */

static CUresult side_resolve(const struct front_box *box, struct front_side *side)
{
    if (side->place != FRONT_ARRAY) {
        return CUDA_SUCCESS;
    }
    const struct sg_array *array = sg_array_find(side->array);
    CUresult rc =
        array != NULL ? front_array_holds(&array->front, box, side) : CUDA_ERROR_INVALID_VALUE;
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    const struct sg_level *level = &array->texels.levels[0];
    *side = (struct front_side){.place = FRONT_DEVICE,
                                .start = level->base + side->z * level->slice_bytes +
                                         side->y * level->row_bytes + side->x,
                                .pitch = level->row_bytes,
                                .slice = level->slice_bytes};
    return CUDA_SUCCESS;
}

CUresult sg_array_resolve(struct front_box *box)
{
    if (box->width == 0) {
        return CUDA_SUCCESS;
    }
    CUresult rc = side_resolve(box, &box->from);
    return rc == CUDA_SUCCESS ? side_resolve(box, &box->to) : rc;
}
