// SPDX-License-Identifier: Apache-2.0
// Kernels that read textures: linear memory, pitched memory, arrays of every shape, mipmaps; by
// point and filtered, with every way to treat what lies outside.
#include <cuda_fp16.h>
#include <vector>

#include "check.h"

template <typename T> struct Device { // a result buffer
    T *data;
    size_t count;
    explicit Device(size_t n) : count(n)
    {
        CHECK(cudaMalloc(&data, n * sizeof(T)));
        CHECK(cudaMemset(data, 0xee, n * sizeof(T)));
    }
    ~Device()
    {
        CHECK(cudaFree(data));
    }
    std::vector<T> get() const
    {
        std::vector<T> host(count);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpy(host.data(), data, count * sizeof(T), cudaMemcpyDeviceToHost));
        return host;
    }
};

static cudaTextureDesc sampler(cudaTextureAddressMode mode, bool linear, bool normalised)
{
    cudaTextureDesc desc = {};
    for (auto &axis : desc.addressMode)
        axis = mode;
    desc.filterMode = linear ? cudaFilterModeLinear : cudaFilterModePoint;
    desc.mipmapFilterMode = cudaFilterModeLinear;
    desc.maxMipmapLevelClamp = 100;
    desc.normalizedCoords = normalised;
    desc.borderColor[0] = 42;
    return desc;
}

static cudaTextureObject_t texture(cudaResourceDesc resource, const cudaTextureDesc &desc)
{
    cudaTextureObject_t made;
    CHECK(cudaCreateTextureObject(&made, &resource, &desc, nullptr));
    return made;
}

static cudaTextureObject_t texture(cudaArray_t array, const cudaTextureDesc &desc)
{
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    return texture(resource, desc);
}

static void near(double got, double due, const char *what, int i)
{
    if (!(std::fabs(got - due) <= 2e-3 * (1 + std::fabs(due))))
        fail("%s: number %d is %g, not %g", what, i, got, due);
}

// ---- linear memory

__global__ void fetch(cudaTextureObject_t numbers, cudaTextureObject_t bytes,
                      cudaTextureObject_t fractions, float4 *out, int from)
{
    int i = threadIdx.x;
    uchar4 b = tex1Dfetch<uchar4>(bytes, i + from);
    float2 f = tex1Dfetch<float2>(fractions, i + from);
    out[i] = make_float4(tex1Dfetch<float>(numbers, i + from),
                         (float)(b.x + 256 * b.y + 65536 * b.w), f.x, f.y);
}

template <typename T> static cudaTextureObject_t linear(const T *data, size_t count, bool fractions)
{
    cudaResourceDesc resource = {};
    cudaTextureDesc desc = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = const_cast<T *>(data);
    resource.res.linear.desc = cudaCreateChannelDesc<T>();
    resource.res.linear.sizeInBytes = count * sizeof(T);
    desc.readMode = fractions ? cudaReadModeNormalizedFloat : cudaReadModeElementType;
    return texture(resource, desc);
}

static void linear_memory()
{
    enum { N = 100 };
    std::vector<float> floats(N);
    std::vector<uchar4> bytes(N);
    std::vector<short2> shorts(N);
    for (int i = 0; i < N; i++) {
        floats[i] = 0.5f * i;
        bytes[i] = make_uchar4(i, 2 * i, 3, 200 - i);
        shorts[i] = make_short2(300 * i, -32768 + i);
    }
    Device<float> f(N);
    Device<uchar4> b(N);
    Device<short2> s(N);
    CHECK(cudaMemcpy(f.data, floats.data(), 4 * N, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(b.data, bytes.data(), 4 * N, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(s.data, shorts.data(), 4 * N, cudaMemcpyHostToDevice));
    auto numbers = linear(f.data, N, false), quads = linear(b.data, N, false);
    auto fractions = linear(s.data, N, true);
    Device<float4> out(N + 20);
    fetch<<<1, N + 20>>>(numbers, quads, fractions, out.data, -10);
    auto got = out.get();
    for (int t = 0; t < N + 20; t++) { // nothing outside: zeros
        int i = t - 10;
        bool in = i >= 0 && i < N;
        near(got[t].x, in ? floats[i] : 0, "a float of linear memory", i);
        near(got[t].y, in ? bytes[i].x + 256 * bytes[i].y + 65536 * bytes[i].w : 0,
             "bytes of linear memory", i);
        near(got[t].z, in ? shorts[i].x / 32767.0 : 0, "a fraction", i);
        near(got[t].w, in ? fmax(shorts[i].y / 32767.0, -1) : 0, "a negative fraction", i);
    }
    CHECK(cudaDestroyTextureObject(numbers));
    CHECK(cudaDestroyTextureObject(quads));
    CHECK(cudaDestroyTextureObject(fractions));
}

// ---- two dimensions

__global__ void sample_2d(cudaTextureObject_t t, float *out, float left, float step, int side)
{
    int x = threadIdx.x, y = threadIdx.y;
    out[y * side + x] = tex2D<float>(t, left + x * step, left + y * step);
}

__global__ void gather_2d(cudaTextureObject_t t, float4 *out)
{
    out[threadIdx.x] = tex2Dgather<float4>(t, threadIdx.x + 1, 2, 0);
}

enum { WIDTH = 8, HEIGHT = 4 };

static double texel(int x, int y, cudaTextureAddressMode mode)
{
    int at[2] = {x, y}, size[2] = {WIDTH, HEIGHT};
    for (int a = 0; a < 2; a++) {
        int n = size[a], period = ((at[a] % (2 * n)) + 2 * n) % (2 * n);
        if (mode == cudaAddressModeBorder && (at[a] < 0 || at[a] >= n))
            return 42;
        at[a] = mode == cudaAddressModeWrap     ? period % n
                : mode == cudaAddressModeMirror ? (period < n ? period : 2 * n - 1 - period)
                : at[a] < 0                     ? 0
                : at[a] >= n                    ? n - 1
                                                : at[a];
    }
    return at[0] * at[0] + 10.0 * at[1];
}

static double sampled(double x, double y, cudaTextureAddressMode mode, bool linear)
{
    if (!linear)
        return texel((int)floor(x), (int)floor(y), mode);
    double xb = x - 0.5, yb = y - 0.5, a = xb - floor(xb), b = yb - floor(yb);
    int i = (int)floor(xb), j = (int)floor(yb);
    return (1 - a) * (1 - b) * texel(i, j, mode) + a * (1 - b) * texel(i + 1, j, mode) +
           (1 - a) * b * texel(i, j + 1, mode) + a * b * texel(i + 1, j + 1, mode);
}

// Steps are such that the weights have few bits: no hardware rounds them.
static void modes(const char *what, cudaTextureObject_t (*make)(void *, const cudaTextureDesc &),
                  void *memory, bool pitched)
{
    enum { SIDE = 30 };
    for (int kind = 0; kind < 16; kind++) {
        auto mode = (cudaTextureAddressMode)(kind & 3);
        bool linear = kind & 4, normalised = kind & 8;
        if (!normalised && (mode == cudaAddressModeWrap || mode == cudaAddressModeMirror))
            continue;
        auto t = make(memory, sampler(mode, linear, normalised));
        Device<float> out(SIDE * SIDE);
        float left = normalised ? -1.375f : -5.375f, step = normalised ? 0.125f : 0.625f;
        sample_2d<<<1, dim3(SIDE, SIDE)>>>(t, out.data, left, step, SIDE);
        auto got = out.get();
        for (int i = 0; i < SIDE * SIDE; i++) {
            double x = left + i % SIDE * step, y = left + i / SIDE * step;
            near(got[i],
                 sampled(normalised ? x * WIDTH : x, normalised ? y * HEIGHT : y, mode, linear),
                 what, 1000 * kind + i);
        }
        if (kind == 1 && !pitched) {
            Device<float4> four(4);
            gather_2d<<<1, 4>>>(t, four.data);
            auto quads = four.get();
            for (int i = 0; i < 4; i++) { // counter-clockwise from lower left
                near(quads[i].x, texel(i, 2, mode), "gathered", i);
                near(quads[i].y, texel(i + 1, 2, mode), "gathered", i);
                near(quads[i].z, texel(i + 1, 1, mode), "gathered", i);
                near(quads[i].w, texel(i, 1, mode), "gathered", i);
            }
        }
        CHECK(cudaDestroyTextureObject(t));
    }
}

static std::vector<float> plane()
{
    std::vector<float> values;
    for (int i = 0; i < WIDTH * HEIGHT; i++)
        values.push_back((float)texel(i % WIDTH, i / WIDTH, cudaAddressModeClamp));
    return values;
}

template <typename T>
static cudaArray_t array_of(const std::vector<T> &values, cudaChannelFormatDesc format)
{
    cudaArray_t array;
    CHECK(cudaMallocArray(&array, &format, WIDTH, HEIGHT, cudaArrayTextureGather));
    CHECK(cudaMemcpy2DToArray(array, 0, 0, values.data(), WIDTH * sizeof(T), WIDTH * sizeof(T),
                              HEIGHT, cudaMemcpyHostToDevice));
    return array;
}

static size_t pitch;

static void two_dimensions()
{
    cudaArray_t array = array_of(plane(), cudaCreateChannelDesc<float>());
    modes(
        "an array",
        [](void *memory, const cudaTextureDesc &desc) {
            return texture((cudaArray_t)memory, desc);
        },
        array, false);
    CHECK(cudaFreeArray(array));

    std::vector<__half> halves;
    for (float value : plane())
        halves.push_back(__float2half(value));
    array = array_of(halves, cudaCreateChannelDescHalf());
    modes(
        "an array of halves",
        [](void *memory, const cudaTextureDesc &desc) {
            return texture((cudaArray_t)memory, desc);
        },
        array, false);
    CHECK(cudaFreeArray(array));

    void *memory;
    CHECK(cudaMallocPitch(&memory, &pitch, WIDTH * sizeof(float), HEIGHT));
    CHECK(cudaMemcpy2D(memory, pitch, plane().data(), WIDTH * sizeof(float), WIDTH * sizeof(float),
                       HEIGHT, cudaMemcpyHostToDevice));
    modes(
        "pitched memory",
        [](void *data, const cudaTextureDesc &desc) {
            cudaResourceDesc resource = {};
            resource.resType = cudaResourceTypePitch2D;
            resource.res.pitch2D.devPtr = data;
            resource.res.pitch2D.desc = cudaCreateChannelDesc<float>();
            resource.res.pitch2D.width = WIDTH;
            resource.res.pitch2D.height = HEIGHT;
            resource.res.pitch2D.pitchInBytes = pitch;
            return texture(resource, desc);
        },
        memory, true);
    CHECK(cudaFree(memory));
}

// ---- other shapes: each texel knows where it is

__global__ void sample_3d(cudaTextureObject_t t, float *out)
{
    out[threadIdx.x] = tex3D<float>(t, 1.5f + 0.25f * threadIdx.x, 1.75f, 2);
}

__global__ void sample_layers(cudaTextureObject_t flat, cudaTextureObject_t line, float *out)
{
    int i = threadIdx.x;
    out[2 * i] = tex2DLayered<float>(flat, 1.5f, 2.75f, i);
    out[2 * i + 1] = tex1DLayered<float>(line, 2.25f, i);
}

__global__ void sample_cubes(cudaTextureObject_t cube, cudaTextureObject_t cubes, float *out)
{
    int i = threadIdx.x;
    float d[3] = {0.1f, 0.1f, 0.1f};
    d[i / 2] = i & 1 ? -1 : 1;
    out[2 * i] = texCubemap<float>(cube, d[0], d[1], d[2]);
    out[2 * i + 1] = texCubemapLayered<float>(cubes, d[0], d[1], d[2], 1);
}

static cudaArray_t shaped(cudaExtent extent, unsigned flags)
{
    size_t rows = extent.height ? extent.height : 1, count = extent.width * rows * extent.depth;
    std::vector<float> values(count);
    for (size_t i = 0; i < count; i++) {
        size_t x = i % extent.width, y = i / extent.width % rows, z = i / extent.width / rows;
        values[i] = (float)(x + 10 * y + 100 * z);
    }
    auto format = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    CHECK(cudaMalloc3DArray(&array, &format, extent, flags));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(values.data(), extent.width * 4, extent.width, rows);
    copy.dstArray = array;
    copy.extent = make_cudaExtent(extent.width, rows, extent.depth);
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    return array;
}

static void other_shapes()
{
    auto desc = sampler(cudaAddressModeClamp, true, false);
    cudaArray_t solid = shaped(make_cudaExtent(5, 4, 3), 0);
    cudaArray_t flat = shaped(make_cudaExtent(5, 4, 3), cudaArrayLayered);
    cudaArray_t line = shaped(make_cudaExtent(5, 0, 3), cudaArrayLayered);
    cudaArray_t cube = shaped(make_cudaExtent(4, 4, 6), cudaArrayCubemap);
    cudaArray_t cubes = shaped(make_cudaExtent(4, 4, 12), cudaArrayCubemap | cudaArrayLayered);
    auto t = texture(solid, desc), tf = texture(flat, desc), tl = texture(line, desc);
    auto point = sampler(cudaAddressModeClamp, false, true);
    auto tc = texture(cube, point), tcs = texture(cubes, point);
    Device<float> a(8), b(8), c(12);
    sample_3d<<<1, 8>>>(t, a.data);
    sample_layers<<<1, 4>>>(tf, tl, b.data);
    sample_cubes<<<1, 6>>>(tc, tcs, c.data);
    auto ga = a.get(), gb = b.get(), gc = c.get();
    for (int i = 0; i < 8; i++)
        near(ga[i], 1 + 0.25 * i + 12.5 + 150, "three dimensions", i);
    for (int i = 0; i < 4; i++) { // layers are not filtered; beyond the last is the last
        int layer = i < 3 ? i : 2;
        near(gb[2 * i], 1 + 22.5 + 100 * layer, "a layer", i);
        near(gb[2 * i + 1], 1.75 + 100 * layer, "a line", i);
    }
    static const int x[6] = {1, 2, 2, 2, 2, 1}, y[6] = {1, 1, 2, 1, 1, 1};
    for (int i = 0; i < 6; i++) {
        near(gc[2 * i], x[i] + 10 * y[i] + 100 * i, "a face", i);
        near(gc[2 * i + 1], x[i] + 10 * y[i] + 100 * (i + 6), "a face of the second cube", i);
    }
    for (auto object : {t, tf, tl, tc, tcs})
        CHECK(cudaDestroyTextureObject(object));
    for (auto array : {solid, flat, line, cube, cubes})
        CHECK(cudaFreeArray(array));
}

// ---- mipmaps

__global__ void sample_levels(cudaTextureObject_t t, float *out)
{
    out[threadIdx.x] = tex2DLod<float>(t, 0.5f, 0.5f, 0.25f * threadIdx.x);
}

__global__ void sample_gradients(cudaTextureObject_t t, float *out)
{
    float step = exp2f(0.5f * threadIdx.x) / 16;
    out[threadIdx.x] = tex2DGrad<float>(t, 0.5f, 0.5f, make_float2(step, 0), make_float2(0, 0));
}

static void mipmaps()
{
    enum { SIDE = 16, LEVELS = 4 };
    auto format = cudaCreateChannelDesc<float>();
    cudaMipmappedArray_t whole;
    CHECK(cudaMallocMipmappedArray(&whole, &format, make_cudaExtent(SIDE, SIDE, 0), LEVELS));
    for (unsigned level = 0; level < LEVELS; level++) {
        size_t side = SIDE >> level;
        std::vector<float> values(side * side, 10.0f * (float)level);
        cudaArray_t array;
        CHECK(cudaGetMipmappedArrayLevel(&array, whole, level));
        CHECK(cudaMemcpy2DToArray(array, 0, 0, values.data(), side * 4, side * 4, side,
                                  cudaMemcpyHostToDevice));
    }
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeMipmappedArray;
    resource.res.mipmap.mipmap = whole;
    auto t = texture(resource, sampler(cudaAddressModeWrap, true, true));
    Device<float> levels(20), gradients(6);
    sample_levels<<<1, 20>>>(t, levels.data);
    sample_gradients<<<1, 6>>>(t, gradients.data);
    auto got = levels.get(), rates = gradients.get();
    for (int i = 0; i < 20; i++)
        near(got[i], std::fmin(2.5 * i, 30), "a level", i);
    for (int i = 0; i < 6; i++)
        near(rates[i], 5.0 * i, "a gradient", i);
    CHECK(cudaDestroyTextureObject(t));
    CHECK(cudaFreeMipmappedArray(whole));
}

int main()
{
    linear_memory();
    two_dimensions();
    other_shapes();
    mipmaps();
    CHECK(cudaDeviceSynchronize());
    return passed();
}
