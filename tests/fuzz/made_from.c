/* SPDX-License-Identifier: Apache-2.0 */
/* See made_from.h. The driver says what an object and its like are. */
#include "tests/fuzz/made_from.h"

#include "tests/fuzz/input.h"

static void stream_check(const struct cuda_driver *driver, const struct server_stream *stream)
{
    CUstream like;
    unsigned flags, like_flags;
    int priority, like_priority;
    if (stream->real == NULL || stream->green != NULL) { /* a green context makes its own */
        return;
    }
    FUZZ_CHECK(driver->cuStreamCreateWithPriority(&like, stream->made_from.flags,
                                                  stream->made_from.priority) == CUDA_SUCCESS);
    FUZZ_CHECK(driver->cuStreamGetFlags(stream->real, &flags) == CUDA_SUCCESS &&
               driver->cuStreamGetFlags(like, &like_flags) == CUDA_SUCCESS);
    FUZZ_CHECK(driver->cuStreamGetPriority(stream->real, &priority) == CUDA_SUCCESS &&
               driver->cuStreamGetPriority(like, &like_priority) == CUDA_SUCCESS);
    FUZZ_CHECK(flags == like_flags && priority == like_priority);
    FUZZ_CHECK(driver->cuStreamDestroy_v2(like) == CUDA_SUCCESS);
}

static CUarray first_level(const struct cuda_driver *driver, CUmipmappedArray mipmap)
{
    CUarray level;
    FUZZ_CHECK(driver->cuMipmappedArrayGetLevel(&level, mipmap, 0) == CUDA_SUCCESS);
    return level;
}

static void array_compare(const struct cuda_driver *driver, CUarray array, CUarray like)
{
    CUDA_ARRAY3D_DESCRIPTOR one, other;
    FUZZ_CHECK(driver->cuArray3DGetDescriptor_v2(&one, array) == CUDA_SUCCESS &&
               driver->cuArray3DGetDescriptor_v2(&other, like) == CUDA_SUCCESS);
    FUZZ_CHECK(one.Width == other.Width && one.Height == other.Height && one.Depth == other.Depth &&
               one.Format == other.Format && one.NumChannels == other.NumChannels &&
               one.Flags == other.Flags);
}

/* There may be no memory for another one. */
static void array_check(const struct cuda_driver *driver, const struct server_array *array)
{
    const struct made_array *made = &array->made_from;
    CUarray like = NULL;
    CUmipmappedArray like_mipmap = NULL;
    if (array->whole != 0) {
        return;
    }
    CUresult rc = array->mipmap == NULL
                      ? driver->cuArray3DCreate_v2(&like, &made->shape)
                      : driver->cuMipmappedArrayCreate(&like_mipmap, &made->shape, made->levels);
    if (rc == CUDA_ERROR_OUT_OF_MEMORY) {
        return;
    }
    FUZZ_CHECK(rc == CUDA_SUCCESS);
    if (array->mipmap == NULL) {
        array_compare(driver, array->array, like);
        FUZZ_CHECK(driver->cuArrayDestroy(like) == CUDA_SUCCESS);
    } else {
        array_compare(driver, first_level(driver, array->mipmap), first_level(driver, like_mipmap));
        FUZZ_CHECK(driver->cuMipmappedArrayDestroy(like_mipmap) == CUDA_SUCCESS);
    }
}

void fuzz_made_from_check(struct server_app *app, const struct cuda_driver *driver)
{
    ga_list_each (at, next, &app->objects.context_list) {
        const struct server_context *context = ga_container(at, struct server_context, link);
        FUZZ_CHECK(driver->cuCtxSetCurrent(context->real) == CUDA_SUCCESS);
        ga_list_each (stream, after, &context->streams) {
            stream_check(driver, ga_container(stream, struct server_stream, link));
        }
        ga_list_each (array, after, &context->arrays) {
            array_check(driver, ga_container(array, struct server_array, link));
        }
    }
    (void)driver->cuCtxSetCurrent(app->current != NULL ? app->current->real : NULL);
}
