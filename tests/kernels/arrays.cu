// SPDX-License-Identifier: Apache-2.0
// Arrays as the CUDA runtime offers them: one, two and three dimensions, layers, cubes, mipmaps;
// and texture and surface objects as far as no kernel is needed.
#include <vector>

#include "check.h"

static std::vector<float> numbers(size_t count, float first)
{
    std::vector<float> made(count);
    for (size_t i = 0; i < count; i++)
        made[i] = first + (float)i;
    return made;
}

static void expect(const std::vector<float> &got, const std::vector<float> &due, const char *what)
{
    for (size_t i = 0; i < due.size(); i++)
        if (got[i] != due[i])
            fail("%s: number %zu is %g, not %g", what, i, got[i], due[i]);
}

static void plane()
{
    const size_t width = 37, height = 11;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>(), got_format;
    cudaArray_t array, other;
    CHECK(cudaMallocArray(&array, &format, width, height));
    CHECK(cudaMallocArray(&other, &format, width, height));
    cudaExtent extent;
    unsigned flags;
    CHECK(cudaArrayGetInfo(&got_format, &extent, &flags, array));
    if (extent.width != width || extent.height != height || extent.depth != 0 || flags != 0 ||
        got_format.x != 32 || got_format.y != 0 || got_format.f != cudaChannelFormatKindFloat)
        fail("the array is told as another");
    CHECK(cudaGetChannelDesc(&got_format, other));
    if (got_format.x != 32 || got_format.f != cudaChannelFormatKindFloat)
        fail("the format is told as another");
    auto from = numbers(width * height, 1);
    std::vector<float> to(width * height);
    CHECK(cudaMemcpy2DToArray(array, 0, 0, from.data(), width * 4, width * 4, height,
                              cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy2DFromArray(to.data(), width * 4, array, 0, 0, width * 4, height,
                                cudaMemcpyDeviceToHost));
    expect(to, from, "a plane");
    CHECK(cudaMemcpy2DArrayToArray(other, 0, 0, array, 0, 0, width * 4, height,
                                   cudaMemcpyDeviceToDevice));
    float *device;
    size_t pitch;
    CHECK(cudaMallocPitch((void **)&device, &pitch, width * 4, height));
    CHECK(cudaMemcpy2DFromArray(device, pitch, other, 4, 1, (width - 1) * 4, height - 1,
                                cudaMemcpyDeviceToDevice));
    CHECK(cudaMemcpy2D(to.data(), width * 4, device, pitch, (width - 1) * 4, height - 1,
                       cudaMemcpyDeviceToHost));
    for (size_t y = 0; y + 1 < height; y++)
        for (size_t x = 0; x + 1 < width; x++)
            if (to[y * width + x] != from[(y + 1) * width + x + 1])
                fail("row %zu, column %zu is %g", y, x, to[y * width + x]);
    CHECK(cudaMemcpy2DToArray(array, 8, 2, device, pitch, 40, 3, cudaMemcpyDeviceToDevice));
    CHECK(cudaMemcpy2DFromArray(to.data(), width * 4, array, 0, 0, width * 4, height,
                                cudaMemcpyDefault));
    for (size_t y = 0; y < 3; y++)
        for (size_t x = 0; x < 10; x++)
            from[(y + 2) * width + x + 2] = numbers(1, 1)[0] + (float)((y + 1) * width + x + 1);
    expect(to, from, "after a copy into the middle");
    EXPECT_ERROR(cudaMemcpy2DToArray(array, 8, 2, from.data(), width * 4, width * 4, 3,
                                     cudaMemcpyHostToDevice),
                 cudaErrorInvalidValue);
    CHECK(cudaFree(device));
    CHECK(cudaFreeArray(array));
    CHECK(cudaFreeArray(other));
    CHECK(cudaFreeArray(nullptr));
}

// The runtime's copies of bytes that go on from row to row.
static void bytes_of_a_plane()
{
    const size_t width = 20, height = 6;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array, other;
    CHECK(cudaMallocArray(&array, &format, width, height));
    CHECK(cudaMallocArray(&other, &format, width, height));
    auto from = numbers(width * height, 5);
    std::vector<float> to(width * height);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    CHECK(cudaMemcpyToArray(array, 0, 0, from.data(), width * height * 4, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpyArrayToArray(other, 0, 0, array, 0, 0, width * height * 4,
                                 cudaMemcpyDeviceToDevice));
    CHECK(cudaMemcpyFromArray(to.data(), other, 0, 0, width * height * 4, cudaMemcpyDeviceToHost));
    expect(to, from, "bytes of a plane");
    CHECK(cudaMemcpyFromArray(to.data(), other, 12, 1, 50 * 4, cudaMemcpyDeviceToHost));
    expect(to, numbers(50, 5 + width + 3), "bytes from the middle of a row");
#pragma GCC diagnostic pop
    CHECK(cudaFreeArray(array));
    CHECK(cudaFreeArray(other));
}

static void asynchronous()
{
    const size_t width = 256, height = 64, bytes = width * height * 4;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaStream_t stream;
    cudaArray_t array;
    float *pinned, *back;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMallocArray(&array, &format, width, height));
    CHECK(cudaMallocHost((void **)&pinned, bytes));
    CHECK(cudaMallocHost((void **)&back, bytes));
    auto due = numbers(width * height, 9);
    memcpy(pinned, due.data(), bytes);
    CHECK(cudaMemcpy2DToArrayAsync(array, 0, 0, pinned, width * 4, width * 4, height,
                                   cudaMemcpyHostToDevice, stream));
    CHECK(cudaMemcpy2DFromArrayAsync(back, width * 4, array, 0, 0, width * 4, height,
                                     cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    expect(std::vector<float>(back, back + width * height), due, "asynchronous copies");
    CHECK(cudaFreeArray(array));
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaFreeHost(back));
    CHECK(cudaStreamDestroy(stream));
}

static void solid(cudaExtent extent, unsigned flags, const char *what)
{
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    CHECK(cudaMalloc3DArray(&array, &format, extent, flags));
    cudaExtent rows = extent;
    rows.height = rows.height ? rows.height : 1;
    rows.depth = rows.depth ? rows.depth : 1;
    size_t count = rows.width * rows.height * rows.depth;
    auto from = numbers(count, 3);
    std::vector<float> to(count);
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(from.data(), rows.width * 4, rows.width, rows.height);
    copy.dstArray = array;
    copy.extent = rows;
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    cudaMemcpy3DParms out = {};
    out.srcArray = array;
    out.dstPtr = make_cudaPitchedPtr(to.data(), rows.width * 4, rows.width, rows.height);
    out.extent = rows;
    out.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy3DAsync(&out, 0));
    CHECK(cudaDeviceSynchronize());
    expect(to, from, what);
    cudaExtent told;
    unsigned told_flags;
    CHECK(cudaArrayGetInfo(nullptr, &told, &told_flags, array));
    if (told.width != extent.width || told.height != extent.height || told.depth != extent.depth ||
        told_flags != flags)
        fail("%s is told as another", what);
    CHECK(cudaFreeArray(array));
}

static void mipmaps()
{
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaMipmappedArray_t mipmap;
    CHECK(cudaMallocMipmappedArray(&mipmap, &format, make_cudaExtent(32, 8, 0), 20));
    for (unsigned level = 0; level < 6; level++) {
        cudaArray_t array, again;
        cudaExtent extent;
        CHECK(cudaGetMipmappedArrayLevel(&array, mipmap, level));
        CHECK(cudaGetMipmappedArrayLevel(&again, mipmap, level));
        CHECK(cudaArrayGetInfo(nullptr, &extent, nullptr, array));
        size_t width = 32 >> level, height = level < 3 ? 8 >> level : 1;
        if (array != again || extent.width != width || extent.height != height)
            fail("level %u is %zu x %zu", level, extent.width, extent.height);
        auto from = numbers(width * height, (float)level);
        std::vector<float> to(width * height);
        CHECK(cudaMemcpy2DToArray(array, 0, 0, from.data(), width * 4, width * 4, height,
                                  cudaMemcpyHostToDevice));
        CHECK(cudaMemcpy2DFromArray(to.data(), width * 4, array, 0, 0, width * 4, height,
                                    cudaMemcpyDeviceToHost));
        expect(to, from, "a level");
    }
    cudaArray_t none;
    EXPECT_ERROR(cudaGetMipmappedArrayLevel(&none, mipmap, 6), cudaErrorInvalidValue);
    CHECK(cudaFreeMipmappedArray(mipmap));
}

static cudaResourceDesc of(cudaArray_t array)
{
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    return resource;
}

static void objects()
{
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    CHECK(cudaMallocArray(&array, &format, 16, 16, cudaArraySurfaceLoadStore));
    cudaResourceDesc resource = of(array), got;
    cudaTextureDesc texture = {}, got_texture;
    texture.addressMode[0] = texture.addressMode[1] = cudaAddressModeClamp;
    texture.filterMode = cudaFilterModeLinear;
    texture.readMode = cudaReadModeElementType;
    texture.borderColor[2] = 0.5f;
    cudaTextureObject_t one, two;
    CHECK(cudaCreateTextureObject(&one, &resource, &texture, nullptr));
    CHECK(cudaCreateTextureObject(&two, &resource, &texture, nullptr));
    if (one == two || one == 0 || two == 0)
        fail("texture objects %llu and %llu", one, two);
    CHECK(cudaGetTextureObjectResourceDesc(&got, one));
    CHECK(cudaGetTextureObjectTextureDesc(&got_texture, one));
    if (got.resType != cudaResourceTypeArray || got.res.array.array != array ||
        got_texture.filterMode != cudaFilterModeLinear || got_texture.borderColor[2] != 0.5f ||
        got_texture.addressMode[1] != cudaAddressModeClamp)
        fail("a texture object is told as another");
    cudaResourceViewDesc view = {}, got_view;
    EXPECT_ERROR(cudaGetTextureObjectResourceViewDesc(&got_view, one), cudaErrorInvalidValue);
    CHECK(cudaDestroyTextureObject(two));
    view.format = cudaResViewFormatUnsignedInt1;
    view.width = view.height = 16;
    texture.filterMode = cudaFilterModePoint;
    CHECK(cudaCreateTextureObject(&two, &resource, &texture, &view));
    CHECK(cudaGetTextureObjectResourceViewDesc(&got_view, two));
    if (got_view.format != cudaResViewFormatUnsignedInt1 || got_view.width != 16)
        fail("a view is told as another");
    CHECK(cudaDestroyTextureObject(one));
    CHECK(cudaDestroyTextureObject(two));
    EXPECT_ERROR(cudaGetTextureObjectResourceDesc(&got, one), cudaErrorInvalidValue);
    cudaSurfaceObject_t surface;
    CHECK(cudaCreateSurfaceObject(&surface, &resource));
    CHECK(cudaGetSurfaceObjectResourceDesc(&got, surface));
    if (got.res.array.array != array)
        fail("a surface is told as another");
    CHECK(cudaDestroySurfaceObject(surface));
    CHECK(cudaFreeArray(array));
}

static void wrong()
{
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>(),
                          odd = {32, 16, 0, 0, cudaChannelFormatKindFloat};
    cudaArray_t array;
    cudaArrayMemoryRequirements needs;
    EXPECT_ERROR(cudaMallocArray(&array, &format, 0, 16), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaMallocArray(&array, &format, 1 << 20, 16), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaMallocArray(&array, &odd, 16, 16), cudaErrorInvalidChannelDescriptor);
    EXPECT_ERROR(cudaMalloc3DArray(&array, &format, make_cudaExtent(16, 8, 6), cudaArrayCubemap),
                 cudaErrorInvalidValue);
    CHECK(cudaMallocArray(&array, &format, 16, 16));
    EXPECT_ERROR(cudaArrayGetMemoryRequirements(&needs, array, 0), cudaErrorInvalidValue);
    cudaResourceDesc resource = of(array);
    cudaSurfaceObject_t surface;
    EXPECT_ERROR(cudaCreateSurfaceObject(&surface, &resource), cudaErrorInvalidValue);
    CHECK(cudaFreeArray(array));
}

int main()
{
    plane();
    bytes_of_a_plane();
    asynchronous();
    solid(make_cudaExtent(50, 0, 0), cudaArrayDefault, "a line");
    solid(make_cudaExtent(9, 7, 5), cudaArrayDefault, "a solid");
    solid(make_cudaExtent(9, 0, 5), cudaArrayLayered, "layered lines");
    solid(make_cudaExtent(9, 7, 5), cudaArrayLayered, "layered planes");
    solid(make_cudaExtent(8, 8, 6), cudaArrayCubemap, "a cube");
    solid(make_cudaExtent(8, 8, 18), cudaArrayCubemap | cudaArrayLayered, "cubes");
    mipmaps();
    objects();
    wrong();
    return passed();
}
