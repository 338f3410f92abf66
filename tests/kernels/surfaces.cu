// SPDX-License-Identifier: Apache-2.0
// Kernels that write and read surfaces: every element size, every shape, what happens beyond the
// edges; and textures that see afterwards what surfaces have written.
#include <vector>

#include "check.h"

enum { WIDTH = 13, HEIGHT = 7, DEPTH = 3 };

static cudaArray_t make_array(const cudaChannelFormatDesc &format, cudaExtent extent,
                              unsigned flags)
{
    cudaArray_t array;
    CHECK(cudaMalloc3DArray(&array, &format, extent, flags | cudaArraySurfaceLoadStore));
    return array;
}

static cudaSurfaceObject_t surface(cudaArray_t array)
{
    cudaResourceDesc resource = {};
    cudaSurfaceObject_t made;
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    CHECK(cudaCreateSurfaceObject(&made, &resource));
    return made;
}

static cudaTextureObject_t texture(cudaArray_t array)
{
    cudaResourceDesc resource = {};
    cudaTextureDesc desc = {};
    cudaTextureObject_t made;
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    CHECK(cudaCreateTextureObject(&made, &resource, &desc, nullptr));
    return made;
}

// ---- sizes of elements

template <typename T> __device__ T element(int x, int y)
{
    T value;
    for (unsigned i = 0; i < sizeof(T); i++)
        ((unsigned char *)&value)[i] = (unsigned char)(16 * x + y + 31 * i);
    return value;
}

template <typename T> __global__ void write_2d(cudaSurfaceObject_t s)
{
    int x = threadIdx.x, y = threadIdx.y;
    surf2Dwrite(element<T>(x, y), s, x * (int)sizeof(T), y, cudaBoundaryModeZero);
}

// How many elements are wrong when read back, by surface
template <typename T> __global__ void check_2d(cudaSurfaceObject_t s, int *wrong)
{
    int x = threadIdx.x, y = threadIdx.y;
    T got = surf2Dread<T>(s, x * (int)sizeof(T), y, cudaBoundaryModeZero), due = element<T>(x, y);
    if (x >= WIDTH || y >= HEIGHT)
        due = T();
    for (unsigned i = 0; i < sizeof(T); i++)
        if (((unsigned char *)&got)[i] != ((unsigned char *)&due)[i])
            atomicAdd(wrong, 1);
}

template <typename T> static void sizes(const char *what, cudaChannelFormatDesc format)
{
    cudaArray_t array = make_array(format, make_cudaExtent(WIDTH, HEIGHT, 0), 0);
    cudaSurfaceObject_t s = surface(array);
    int *wrong, count;
    CHECK(cudaMalloc(&wrong, sizeof *wrong));
    CHECK(cudaMemset(wrong, 0, sizeof *wrong));
    write_2d<T><<<1, dim3(16, 8)>>>(s);
    check_2d<T><<<1, dim3(16, 8)>>>(s, wrong);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&count, wrong, sizeof count, cudaMemcpyDeviceToHost));
    if (count != 0)
        fail("%s: %d bytes are wrong", what, count);
    std::vector<unsigned char> host(WIDTH * HEIGHT * sizeof(T));
    CHECK(cudaMemcpy2DFromArray(host.data(), WIDTH * sizeof(T), array, 0, 0, WIDTH * sizeof(T),
                                HEIGHT, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < host.size(); i++) {
        size_t x = i / sizeof(T) % WIDTH, y = i / sizeof(T) / WIDTH, byte = i % sizeof(T);
        if (host[i] != (unsigned char)(16 * x + y + 31 * byte))
            fail("%s: byte %zu in memory is %d", what, i, host[i]);
    }
    CHECK(cudaFree(wrong));
    CHECK(cudaDestroySurfaceObject(s));
    CHECK(cudaFreeArray(array));
}

// ---- shapes

struct Shapes {
    cudaSurfaceObject_t line, solid, lines, planes, cube, cubes;
};

__global__ void write_shapes(Shapes s)
{
    int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
    float value = x + 10.0f * y + 100.0f * z;
    if (y == 0 && z == 0)
        surf1Dwrite(value, s.line, 4 * x);
    if (z < DEPTH) {
        surf3Dwrite(value, s.solid, 4 * x, y, z);
        surf2DLayeredwrite(value, s.planes, 4 * x, y, z);
        if (y == 0)
            surf1DLayeredwrite(value, s.lines, 4 * x, z);
    }
    if (z < 6)
        surfCubemapwrite(value, s.cube, 4 * x, y, z);
    surfCubemapLayeredwrite(value, s.cubes, 4 * x, y, z);
}

__global__ void sum_shapes(Shapes s, float *sums)
{
    int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
    if (y == 0 && z == 0)
        atomicAdd(&sums[0], surf1Dread<float>(s.line, 4 * x));
    if (z < DEPTH) {
        atomicAdd(&sums[1], surf3Dread<float>(s.solid, 4 * x, y, z));
        atomicAdd(&sums[3], surf2DLayeredread<float>(s.planes, 4 * x, y, z));
        if (y == 0)
            atomicAdd(&sums[2], surf1DLayeredread<float>(s.lines, 4 * x, z));
    }
    if (z < 6)
        atomicAdd(&sums[4], surfCubemapread<float>(s.cube, 4 * x, y, z));
    atomicAdd(&sums[5], surfCubemapLayeredread<float>(s.cubes, 4 * x, y, z));
}

static void shapes()
{
    enum { SIDE = 4 };
    const struct {
        size_t width, height, depth;
        unsigned flags;
    } kinds[6] = {{SIDE, 0, 0, 0},
                  {SIDE, SIDE, DEPTH, 0},
                  {SIDE, 0, DEPTH, cudaArrayLayered},
                  {SIDE, SIDE, DEPTH, cudaArrayLayered},
                  {SIDE, SIDE, 6, cudaArrayCubemap},
                  {SIDE, SIDE, 12, cudaArrayCubemap | cudaArrayLayered}};
    cudaArray_t arrays[6];
    cudaSurfaceObject_t objects[6];
    for (int i = 0; i < 6; i++) {
        arrays[i] = make_array(cudaCreateChannelDesc<float>(),
                               make_cudaExtent(kinds[i].width, kinds[i].height, kinds[i].depth),
                               kinds[i].flags);
        objects[i] = surface(arrays[i]);
    }
    Shapes s = {objects[0], objects[1], objects[2], objects[3], objects[4], objects[5]};
    float *sums, host[6];
    CHECK(cudaMalloc(&sums, sizeof host));
    CHECK(cudaMemset(sums, 0, sizeof host));
    write_shapes<<<1, dim3(SIDE, SIDE, 12)>>>(s);
    sum_shapes<<<1, dim3(SIDE, SIDE, 12)>>>(s, sums);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(host, sums, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 6; i++) {
        float sum = 0; // of x + 10 y + 100 z
        int ys = i == 0 || i == 2 ? 1 : SIDE, zs = i == 0 ? 1 : i < 4 ? DEPTH : i == 4 ? 6 : 12;
        for (int n = 0; n < SIDE * ys * zs; n++)
            sum += n % SIDE + 10.0f * (n / SIDE % ys) + 100.0f * (n / SIDE / ys);
        if (host[i] != sum)
            fail("shape %d: the sum is %g, not %g", i, host[i], sum);
    }
    CHECK(cudaFree(sums));
    for (int i = 0; i < 6; i++) {
        CHECK(cudaDestroySurfaceObject(objects[i]));
        CHECK(cudaFreeArray(arrays[i]));
    }
}

// ---- beyond the edges, and textures of the same array

__global__ void edges(cudaSurfaceObject_t s, float *out)
{
    int x = (int)threadIdx.x - 2;
    out[2 * threadIdx.x] = surf2Dread<float>(s, 4 * x, -1, cudaBoundaryModeClamp);
    out[2 * threadIdx.x + 1] = surf2Dread<float>(s, 4 * x, 1, cudaBoundaryModeZero);
    surf2Dwrite(99.0f, s, 4 * (x < 0 ? x : x + WIDTH), 2, cudaBoundaryModeZero);
}

__global__ void fill(cudaSurfaceObject_t s)
{
    surf2Dwrite(threadIdx.x + 100.0f * threadIdx.y, s, 4 * threadIdx.x, threadIdx.y);
}

__global__ void read_texture(cudaTextureObject_t t, float *out)
{
    out[threadIdx.y * WIDTH + threadIdx.x] = tex2D<float>(t, threadIdx.x, threadIdx.y);
}

static void beyond_edges()
{
    cudaArray_t array =
        make_array(cudaCreateChannelDesc<float>(), make_cudaExtent(WIDTH, HEIGHT, 0), 0);
    cudaSurfaceObject_t s = surface(array);
    cudaTextureObject_t t = texture(array);
    float *out, host[WIDTH * HEIGHT];
    CHECK(cudaMalloc(&out, sizeof host));
    fill<<<1, dim3(WIDTH, HEIGHT)>>>(s);
    edges<<<1, WIDTH + 4>>>(s, out);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(host, out, 2 * (WIDTH + 4) * sizeof(float), cudaMemcpyDeviceToHost));
    for (int i = 0; i < WIDTH + 4; i++) {
        int x = i - 2, inside = x < 0 ? 0 : x >= WIDTH ? WIDTH - 1 : x;
        float clamped = (float)inside, zero = x == inside ? 100.0f + (float)x : 0.0f;
        if (host[2 * i] != clamped || host[2 * i + 1] != zero)
            fail("at %d: %g and %g, not %g and %g", x, host[2 * i], host[2 * i + 1], clamped, zero);
    }
    read_texture<<<1, dim3(WIDTH, HEIGHT)>>>(t, out);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < WIDTH * HEIGHT; i++)
        if (host[i] != i % WIDTH + 100.0f * (i / WIDTH))
            fail("the texture has %g at %d", host[i], i);
    CHECK(cudaFree(out));
    CHECK(cudaDestroyTextureObject(t));
    CHECK(cudaDestroySurfaceObject(s));
    CHECK(cudaFreeArray(array));
}

// Levels of a mipmapped array are written without the flag that other arrays need.
static void levels()
{
    enum { SIDE = 4 };
    cudaMipmappedArray_t array;
    cudaArray_t level;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    CHECK(cudaMallocMipmappedArray(&array, &format, make_cudaExtent(2 * SIDE, 2 * SIDE, 0), 2));
    CHECK(cudaGetMipmappedArrayLevel(&level, array, 1));
    cudaSurfaceObject_t s = surface(level);
    float host[SIDE * SIDE];
    fill<<<1, dim3(SIDE, SIDE)>>>(s);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy2DFromArray(host, SIDE * sizeof(float), level, 0, 0, SIDE * sizeof(float), SIDE,
                                cudaMemcpyDeviceToHost));
    for (int i = 0; i < SIDE * SIDE; i++)
        if (host[i] != i % SIDE + 100.0f * (i / SIDE))
            fail("the level has %g at %d", host[i], i);
    CHECK(cudaDestroySurfaceObject(s));
    CHECK(cudaFreeMipmappedArray(array));
    CHECK(cudaDestroySurfaceObject(0)); // there is none: no mistake
}

int main()
{
    sizes<unsigned char>("bytes", cudaCreateChannelDesc<unsigned char>());
    sizes<uchar2>("pairs of bytes", cudaCreateChannelDesc<uchar2>());
    sizes<uchar4>("four bytes", cudaCreateChannelDesc<uchar4>());
    sizes<short>("shorts", cudaCreateChannelDesc<short>());
    sizes<ushort4>("four shorts", cudaCreateChannelDesc<ushort4>());
    sizes<int>("ints", cudaCreateChannelDesc<int>());
    sizes<float2>("pairs of floats", cudaCreateChannelDesc<float2>());
    sizes<unsigned long long>("long longs", cudaCreateChannelDesc<uint2>());
    sizes<float4>("four floats", cudaCreateChannelDesc<float4>());
    sizes<longlong2>("pairs of long longs", cudaCreateChannelDesc<int4>());
    shapes();
    beyond_edges();
    levels();
    CHECK(cudaDeviceSynchronize());
    return passed();
}
