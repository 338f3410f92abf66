// SPDX-License-Identifier: Apache-2.0
// Kernels that read textures and read and write surfaces, made of every kind of memory: what they
// fetch is what the host has copied there. semantics S51
#include <ctime>
#include <vector>

#include "check.h"

static const int side = 24;

__global__ void read_plane(cudaTextureObject_t texture, float *out, int width, int height, float dx)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x < width && y < height)
        out[y * width + x] = tex2D<float>(texture, (float)x + dx, (float)y + 0.5f);
}

__global__ void read_bytes(cudaTextureObject_t texture, float *out, int width)
{
    int x = threadIdx.x;
    if (x < width)
        out[x] = tex2D<float>(texture, ((float)x + 0.5f) / (float)width, 0.5f);
}

__global__ void read_line(cudaTextureObject_t texture, float4 *out, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = tex1Dfetch<float4>(texture, i);
}

__global__ void read_solid(cudaTextureObject_t texture, float *out)
{
    int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
    out[(z * blockDim.y + y) * blockDim.x + x] =
        tex3D<float>(texture, (float)x + 0.5f, (float)y + 0.5f, (float)z + 0.5f);
}

__global__ void read_layers(cudaTextureObject_t texture, float *out)
{
    int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
    out[(z * blockDim.y + y) * blockDim.x + x] =
        tex2DLayered<float>(texture, (float)x + 0.5f, (float)y + 0.5f, z);
}

// The middle of each face: x is the face.
__global__ void read_faces(cudaTextureObject_t texture, float *out)
{
    const float at[6][3] = {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}};
    int face = threadIdx.x;
    out[face] = texCubemap<float>(texture, at[face][0], at[face][1], at[face][2]);
}

__global__ void read_levels(cudaTextureObject_t texture, float *out)
{
    out[threadIdx.x] = tex2DLod<float>(texture, 0.5f, 0.5f, (float)threadIdx.x * 0.5f);
}

__global__ void double_surface(cudaSurfaceObject_t from, cudaSurfaceObject_t to, int width,
                               int height)
{
    int x = threadIdx.x, y = blockIdx.x;
    if (x < width && y < height)
        surf2Dwrite(2 * surf2Dread<float>(from, x * 4, y), to, x * 4, y);
}

static std::vector<float> numbers(size_t count, float first)
{
    std::vector<float> made(count);
    for (size_t i = 0; i < count; i++)
        made[i] = first + (float)i;
    return made;
}

struct Out {
    float *device;
    size_t count;
    explicit Out(size_t count) : count(count)
    {
        CHECK(cudaMalloc((void **)&device, count * 4));
        CHECK(cudaMemset(device, 0xff, count * 4));
    }
    ~Out()
    {
        cudaFree(device);
    }
    void expect(const std::vector<float> &due, const char *what) const
    {
        std::vector<float> got(count);
        CHECK(cudaMemcpy(got.data(), device, count * 4, cudaMemcpyDeviceToHost));
        for (size_t i = 0; i < due.size(); i++)
            if (!(std::fabs(got[i] - due[i]) <= 1e-3f))
                fail("%s: number %zu is %g, not %g", what, i, got[i], due[i]);
    }
};

static cudaTextureDesc sampler(cudaTextureFilterMode filter, bool normalised)
{
    cudaTextureDesc made = {};
    for (auto &mode : made.addressMode)
        mode = cudaAddressModeClamp;
    made.filterMode = filter;
    made.readMode = cudaReadModeElementType;
    made.normalizedCoords = normalised;
    made.maxMipmapLevelClamp = 100;
    return made;
}

static cudaResourceDesc of(cudaArray_t array)
{
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    return resource;
}

static cudaTextureObject_t texture_of(const cudaResourceDesc &resource,
                                      const cudaTextureDesc &description)
{
    cudaTextureObject_t texture;
    CHECK(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
    return texture;
}

static cudaArray_t plane_of(const std::vector<float> &from, unsigned flags)
{
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    CHECK(cudaMallocArray(&array, &format, side, side, flags));
    CHECK(cudaMemcpy2DToArray(array, 0, 0, from.data(), side * 4, side * 4, side,
                              cudaMemcpyHostToDevice));
    return array;
}

static void CUDART_CB slow(void *)
{
    struct timespec time = {0, 30 * 1000 * 1000};
    nanosleep(&time, nullptr);
}

static void planes()
{
    auto from = numbers(side * side, 2), between = from;
    cudaArray_t array = plane_of(from, 0);
    cudaTextureObject_t point = texture_of(of(array), sampler(cudaFilterModePoint, false));
    cudaTextureObject_t linear = texture_of(of(array), sampler(cudaFilterModeLinear, false));
    Out out(side * side);
    read_plane<<<dim3(1, side), 32>>>(point, out.device, side, side, 0.5f);
    out.expect(from, "a plane");
    // Halfway to the right neighbour, which the last one of a row lacks.
    for (int i = 0; i < side * side; i++)
        between[i] += i % side == side - 1 ? 0 : 0.5f;
    read_plane<<<dim3(1, side), 32>>>(linear, out.device, side, side, 1.0f);
    out.expect(between, "between the elements of a plane");

    // Destroyed and copied over while the launch waits: it reads what was there before.
    Out early(side * side);
    CHECK(cudaLaunchHostFunc(0, slow, nullptr));
    read_plane<<<dim3(1, side), 32>>>(point, early.device, side, side, 0.5f);
    CHECK(cudaDestroyTextureObject(point));
    auto other = numbers(side * side, 1000);
    CHECK(cudaMemcpy2DToArray(array, 0, 0, other.data(), side * 4, side * 4, side,
                              cudaMemcpyHostToDevice));
    CHECK(cudaLaunchHostFunc(0, slow, nullptr));
    read_plane<<<dim3(1, side), 32>>>(linear, out.device, side, side, 0.5f);
    CHECK(cudaFreeArray(array));
    early.expect(from, "a plane whose texture is destroyed");
    out.expect(other, "a plane that was written again, and is freed");
    CHECK(cudaDestroyTextureObject(linear));
}

static void memory()
{
    const int count = 1000, width = 100, height = 7;
    auto from = numbers(count * 4, 5);
    float *device;
    CHECK(cudaMalloc((void **)&device, count * 16));
    CHECK(cudaMemcpy(device, from.data(), count * 16, cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = device;
    resource.res.linear.desc = cudaCreateChannelDesc<float4>();
    resource.res.linear.sizeInBytes = count * 16;
    cudaTextureObject_t texture = texture_of(resource, sampler(cudaFilterModePoint, false));
    Out out(count * 4);
    read_line<<<4, 256>>>(texture, (float4 *)out.device, count);
    out.expect(from, "linear memory");
    CHECK(cudaDestroyTextureObject(texture));
    resource.res.linear.sizeInBytes = 256 << 20; // more than there is, and none of that is read
    texture = texture_of(resource, sampler(cudaFilterModePoint, false));
    Out some(count * 4);
    read_line<<<4, 256>>>(texture, (float4 *)some.device, count);
    some.expect(from, "linear memory, said to be more");
    CHECK(cudaDestroyTextureObject(texture));
    CHECK(cudaDestroyTextureObject(0)); // there is none: no mistake
    CHECK(cudaFree(device));

    size_t pitch;
    CHECK(cudaMallocPitch((void **)&device, &pitch, width * 4, height));
    CHECK(cudaMemcpy2D(device, pitch, from.data(), width * 4, width * 4, height,
                       cudaMemcpyHostToDevice));
    resource = {};
    resource.resType = cudaResourceTypePitch2D;
    resource.res.pitch2D.devPtr = device;
    resource.res.pitch2D.desc = cudaCreateChannelDesc<float>();
    resource.res.pitch2D.width = width;
    resource.res.pitch2D.height = height;
    resource.res.pitch2D.pitchInBytes = pitch;
    texture = texture_of(resource, sampler(cudaFilterModePoint, false));
    read_plane<<<dim3(4, height), 32>>>(texture, out.device, width, height, 0.5f);
    out.expect(std::vector<float>(from.begin(), from.begin() + width * height), "pitched memory");
    CHECK(cudaDestroyTextureObject(texture));
    CHECK(cudaFree(device));
}

// The last element of the last row is the last byte of a variable.
__device__ __align__(512) unsigned char pair[33];

__global__ void read_pair(cudaTextureObject_t texture, float *out)
{
    out[threadIdx.x] = (float)tex2D<unsigned char>(texture, 0.5f, (float)threadIdx.x + 0.5f);
}

static void to_the_last_byte()
{
    unsigned char bytes[sizeof pair] = {};
    void *device;
    bytes[0] = 7;
    bytes[32] = 9;
    CHECK(cudaMemcpyToSymbol(pair, bytes, sizeof bytes));
    CHECK(cudaGetSymbolAddress(&device, pair));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypePitch2D;
    resource.res.pitch2D.devPtr = device;
    resource.res.pitch2D.desc = cudaCreateChannelDesc<unsigned char>();
    resource.res.pitch2D.width = 1;
    resource.res.pitch2D.height = 2;
    resource.res.pitch2D.pitchInBytes = 32;
    cudaTextureObject_t texture = texture_of(resource, sampler(cudaFilterModePoint, false));
    Out out(2);
    read_pair<<<1, 2>>>(texture, out.device);
    out.expect({7, 9}, "a plane that ends with its variable");
    CHECK(cudaDestroyTextureObject(texture));
}

static void normalised_bytes()
{
    const int width = 16;
    unsigned char bytes[width];
    std::vector<float> due(width);
    for (int i = 0; i < width; i++) {
        bytes[i] = (unsigned char)(i * 17);
        due[i] = (float)(i * 17) / 255.0f;
    }
    cudaChannelFormatDesc format = cudaCreateChannelDesc<unsigned char>();
    cudaArray_t array;
    CHECK(cudaMallocArray(&array, &format, width, 1));
    CHECK(cudaMemcpy2DToArray(array, 0, 0, bytes, width, width, 1, cudaMemcpyHostToDevice));
    cudaTextureDesc description = sampler(cudaFilterModePoint, true);
    description.readMode = cudaReadModeNormalizedFloat;
    cudaTextureObject_t texture = texture_of(of(array), description);
    Out out(width);
    read_bytes<<<1, 32>>>(texture, out.device, width);
    out.expect(due, "bytes as numbers from 0 to 1");
    CHECK(cudaDestroyTextureObject(texture));
    CHECK(cudaFreeArray(array));
}

static void solids(unsigned flags)
{
    const int width = 8, height = flags == cudaArrayCubemap ? 8 : 5, depth = 6;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaExtent extent = make_cudaExtent(width, height, depth);
    cudaArray_t array;
    auto from = numbers((size_t)width * height * depth, 1);
    CHECK(cudaMalloc3DArray(&array, &format, extent, flags));
    if (flags == cudaArrayCubemap) // every face is one number
        for (size_t i = 0; i < from.size(); i++)
            from[i] = (float)(i / (width * height) + 10);
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(from.data(), width * 4, width, height);
    copy.dstArray = array;
    copy.extent = extent;
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    cudaTextureObject_t texture =
        texture_of(of(array), sampler(cudaFilterModePoint, flags == cudaArrayCubemap));
    Out out(from.size());
    if (flags == cudaArrayCubemap)
        read_faces<<<1, 6>>>(texture, out.device);
    else if (flags == cudaArrayLayered)
        read_layers<<<1, dim3(width, height, depth)>>>(texture, out.device);
    else
        read_solid<<<1, dim3(width, height, depth)>>>(texture, out.device);
    if (flags == cudaArrayCubemap)
        out.expect(numbers(6, 10), "faces of a cube");
    else
        out.expect(from, flags == cudaArrayLayered ? "layers" : "a solid");
    CHECK(cudaDestroyTextureObject(texture));
    CHECK(cudaFreeArray(array));
}

static void mipmaps()
{
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaMipmappedArray_t mipmap;
    CHECK(cudaMallocMipmappedArray(&mipmap, &format, make_cudaExtent(16, 16, 0), 3));
    for (unsigned level = 0; level < 3; level++) {
        const size_t width = 16 >> level;
        std::vector<float> same(width * width, (float)(level * 100));
        cudaArray_t array;
        CHECK(cudaGetMipmappedArrayLevel(&array, mipmap, level));
        CHECK(cudaMemcpy2DToArray(array, 0, 0, same.data(), width * 4, width * 4, width,
                                  cudaMemcpyHostToDevice));
    }
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeMipmappedArray;
    resource.res.mipmap.mipmap = mipmap;
    cudaTextureDesc description = sampler(cudaFilterModeLinear, true);
    description.mipmapFilterMode = cudaFilterModeLinear;
    cudaTextureObject_t texture = texture_of(resource, description);
    Out out(5);
    read_levels<<<1, 5>>>(texture, out.device);
    out.expect({0, 50, 100, 150, 200}, "levels");
    CHECK(cudaDestroyTextureObject(texture));
    // The last two levels alone.
    cudaResourceViewDesc view = {};
    view.width = view.height = 16;
    view.firstMipmapLevel = 1;
    view.lastMipmapLevel = 2;
    CHECK(cudaCreateTextureObject(&texture, &resource, &description, &view));
    read_levels<<<1, 5>>>(texture, out.device);
    out.expect({100, 150, 200, 200, 200}, "some levels");
    CHECK(cudaDestroyTextureObject(texture));
    CHECK(cudaFreeMipmappedArray(mipmap));
}

// Which layers a view may have: of an array with layers any that are there, of cubes six each.
static void views()
{
    const struct {
        unsigned depth, flags, first, last;
        bool good;
    } cases[] = {
        {12, cudaArrayLayered, 0, 11, true},
        {12, cudaArrayLayered, 3, 4, true},
        {12, cudaArrayLayered, 3, 12, false},
        {12, cudaArrayLayered, 5, 4, false},
        {6, cudaArrayCubemap, 0, 5, true},
        {6, cudaArrayCubemap, 0, 4, false},
        {12, cudaArrayCubemap | cudaArrayLayered, 0, 11, true},
        {12, cudaArrayCubemap | cudaArrayLayered, 6, 11, true},
        {12, cudaArrayCubemap | cudaArrayLayered, 0, 1, false},
        {12, cudaArrayCubemap | cudaArrayLayered, 6, 7, false},
        {12, cudaArrayCubemap | cudaArrayLayered, 3, 8, false},
    };
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaTextureDesc description = sampler(cudaFilterModePoint, true);
    for (const auto &each : cases) {
        cudaArray_t array;
        cudaTextureObject_t texture;
        CHECK(cudaMalloc3DArray(&array, &format, make_cudaExtent(8, 8, each.depth), each.flags));
        cudaResourceDesc resource = of(array);
        cudaResourceViewDesc view = {};
        view.format = cudaResViewFormatFloat1;
        view.width = view.height = 8;
        view.depth = each.depth;
        view.firstLayer = each.first;
        view.lastLayer = each.last;
        cudaError_t made = cudaCreateTextureObject(&texture, &resource, &description, &view);
        if (made != (each.good ? cudaSuccess : cudaErrorInvalidValue))
            fail("layers %u to %u of %u, flags %u: %s", each.first, each.last, each.depth,
                 each.flags, cudaGetErrorName(made));
        (void)cudaGetLastError();
        if (each.good)
            CHECK(cudaDestroyTextureObject(texture));
        CHECK(cudaFreeArray(array));
    }
}

static void surfaces()
{
    auto from = numbers(side * side, 7);
    cudaArray_t one = plane_of(from, cudaArraySurfaceLoadStore);
    cudaArray_t two = plane_of(from, cudaArraySurfaceLoadStore);
    cudaResourceDesc resource = of(one);
    cudaSurfaceObject_t read, write;
    CHECK(cudaCreateSurfaceObject(&read, &resource));
    resource = of(two);
    CHECK(cudaCreateSurfaceObject(&write, &resource));
    double_surface<<<side, 32>>>(read, write, side, side);
    std::vector<float> got(side * side);
    CHECK(cudaMemcpy2DFromArray(got.data(), side * 4, two, 0, 0, side * 4, side,
                                cudaMemcpyDeviceToHost));
    for (int i = 0; i < side * side; i++)
        if (got[i] != 2 * from[i])
            fail("number %d of the surface is %g, not %g", i, got[i], 2 * from[i]);
    CHECK(cudaDestroySurfaceObject(read));
    CHECK(cudaDestroySurfaceObject(write));
    CHECK(cudaFreeArray(one));
    CHECK(cudaFreeArray(two));
}

// The places of a program that makes and destroys many are used again.
static void many()
{
    cudaArray_t array = plane_of(numbers(side * side, 1), 0);
    Out out(side * side);
    for (int i = 0; i < 500; i++) {
        cudaTextureObject_t texture = texture_of(of(array), sampler(cudaFilterModePoint, false));
        read_plane<<<dim3(1, 1), 32>>>(texture, out.device, side, 1, 0.5f);
        CHECK(cudaDestroyTextureObject(texture));
    }
    out.expect(numbers(side, 1), "the last of many");
    CHECK(cudaFreeArray(array));
}

// Last: an object that is gone is a fault of the kernel that uses it.
static void gone()
{
    cudaArray_t array = plane_of(numbers(side * side, 1), 0);
    cudaTextureObject_t texture = texture_of(of(array), sampler(cudaFilterModePoint, false));
    Out out(side * side);
    CHECK(cudaDeviceSynchronize()); // nothing is left that might still use it
    CHECK(cudaDestroyTextureObject(texture));
    read_plane<<<dim3(1, side), 32>>>(texture, out.device, side, side, 0.5f);
    cudaError_t error = cudaDeviceSynchronize();
    if (error == cudaSuccess)
        fail("a kernel has read a texture that was destroyed");
    printf("a texture that was destroyed: %s\n", cudaGetErrorName(error));
}

int main()
{
    planes();
    memory();
    to_the_last_byte();
    normalised_bytes();
    solids(cudaArrayDefault);
    solids(cudaArrayLayered);
    solids(cudaArrayCubemap);
    mipmaps();
    views();
    surfaces();
    many();
    gone();
    return passed();
}
