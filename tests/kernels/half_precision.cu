// SPDX-License-Identifier: Apache-2.0
// cuda_fp16.h, cuda_bf16.h and cuda_fp8.h on the device against the same headers on the host, which
// compute in float there: every result must have the same bits, but where the last bit of a float
// function may differ.
#include <vector>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "check.h"

enum { count = 4096, results = 16 };

__host__ __device__ static unsigned bits(__half x)
{
    return __half_as_ushort(x);
}
__host__ __device__ static unsigned bits(__nv_bfloat16 x)
{
    return __bfloat16_as_ushort(x);
}
__host__ __device__ static unsigned bits(__half2 x)
{
    return bits(__low2half(x)) | bits(__high2half(x)) << 16;
}
__host__ __device__ static unsigned bits(__nv_bfloat162 x)
{
    return bits(__low2bfloat16(x)) | bits(__high2bfloat16(x)) << 16;
}

template <typename Half> __host__ __device__ static Half make(float x);
template <> __host__ __device__ __half make(float x) { return __float2half(x); }
template <> __host__ __device__ __nv_bfloat16 make(float x) { return __float2bfloat16(x); }
__host__ __device__ static float wide(__half x) { return __half2float(x); }
__host__ __device__ static float wide(__nv_bfloat16 x) { return __bfloat162float(x); }
__host__ __device__ static __half2 two(__half x, __half y) { return __halves2half2(x, y); }
__host__ __device__ static __nv_bfloat162 two(__nv_bfloat16 x, __nv_bfloat16 y)
{
    return __halves2bfloat162(x, y);
}

// The headers have fma on the device only; the host's doubles hold what it rounds.
__host__ __device__ static __half fused(__half a, __half b, __half c)
{
#ifdef __CUDA_ARCH__
    return __hfma(a, b, c);
#else
    return __double2half((double)wide(a) * wide(b) + wide(c));
#endif
}
__host__ __device__ static __half2 fused(__half2 a, __half2 b, __half2 c)
{
#ifdef __CUDA_ARCH__
    return __hfma2(a, b, c);
#else
    return two(fused(__low2half(a), __low2half(b), __low2half(c)),
               fused(__high2half(a), __high2half(b), __high2half(c)));
#endif
}
// For bfloat16: from sm_80 on only
__host__ __device__ static __nv_bfloat16 fused(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c)
{
    return __hadd(__hmul(a, b), c);
}
__host__ __device__ static __nv_bfloat162 fused(__nv_bfloat162 a, __nv_bfloat162 b,
                                                __nv_bfloat162 c)
{
    return __hadd2(__hmul2(a, b), c);
}

// For both types; on the host a plain loop calls it
template <typename Half> __host__ __device__ static void evaluate(float x, float y, unsigned *out)
{
    Half a = make<Half>(x), b = make<Half>(y), c = make<Half>(0.75f);
    auto p = two(a, b), q = two(b, c);
    out[0] = bits(__hadd(a, b));
    out[1] = bits(__hsub(a, b));
    out[2] = bits(__hmul(a, b));
    out[3] = bits(fused(a, b, c));
    out[4] = bits(__hadd2(p, q));
    out[5] = bits(fused(p, q, p));
    out[6] = bits(__hneg2(p));
    out[7] = bits(__habs(a));
    out[8] = bits(__hmax(a, b));
    out[9] = bits(__hmin2(p, q));
    out[10] = (unsigned)__hlt(a, b) | (unsigned)__hge(a, b) << 1 | (unsigned)__hne(a, b) << 2 |
              (unsigned)__hbgt2(p, q) << 3 | (unsigned)__heq(a, a) << 4;
    out[11] = bits(__hge2(p, q));
    out[12] = (unsigned)(int)wide(a) ^ bits(make<Half>(wide(b) * 3));
    out[13] = bits(__hmul_sat(a, b));
    out[14] = bits(__hadd_sat(a, b));
    out[15] = bits(__hmax_nan(a, b));
}

// e4m3 and e5m2 through float, double and pairs
__host__ __device__ static void evaluate_fp8(float x, float y, unsigned *out)
{
    __nv_fp8_e4m3 a(x);
    __nv_fp8_e5m2 b(y);
    __nv_fp8x2_e4m3 p(make_float2(x, y));
    __nv_fp8x4_e5m2 q(make_float4(x, y, -x, y * 16));
    float2 back = (float2)p;
    out[0] = a.__x;
    out[1] = b.__x;
    out[2] = p.__x;
    out[3] = q.__x;
    out[4] = bits((__half)a);
    out[5] = bits(__float2half((float)b));
    out[6] = bits(__floats2half2_rn(back.x, back.y));
    out[7] = __nv_fp8_e4m3((double)x).__x;
}

template <typename Half>
static __global__ void run(const float *x, const float *y, unsigned *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    evaluate<Half>(x[i], y[i], out + i * results);
}

static __global__ void run_fp8(const float *x, const float *y, unsigned *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    evaluate_fp8(x[i], y[i], out + i * results);
}

// Roundings of conversions, integers, and functions that only the device has
static __global__ void run_device(const float *x, const float *y, unsigned *out, float *functions)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned *o = out + i * results;
    __half a = __float2half(x[i]);
    o[0] = bits(__float2half_rz(x[i])) | bits(__float2half_ru(x[i])) << 16;
    o[1] = bits(__float2half_rd(x[i])) | bits(__int2half_rn((int)(y[i] * 1000))) << 16;
    o[2] = (unsigned)__half2int_rd(a) ^ (unsigned)__half2int_ru(a) << 16;
    o[3] = bits(hfloor(a)) | bits(hrint(a)) << 16;
    functions[4 * i + 0] = __half2float(hexp(make<__half>(y[i])));
    functions[4 * i + 1] = __half2float(hlog2(__habs(a)));
    functions[4 * i + 2] = __half2float(hsqrt(__habs(a)));
    functions[4 * i + 3] = __half2float(hsin(make<__half>(y[i])));
}

static std::vector<float> x(count), y(count);
static float *device_x, *device_y;
static unsigned *device_out;
static std::vector<unsigned> out(count * results);

static void fetch()
{
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(out.data(), device_out, out.size() * 4, cudaMemcpyDeviceToHost));
}

template <typename Evaluate> static void compare(const char *type, int used, Evaluate evaluate_host)
{
    fetch();
    for (int i = 0; i < count; i++) {
        unsigned want[results];
        evaluate_host(x[i], y[i], want);
        for (int k = 0; k < used; k++)
            if (out[i * results + k] != want[k])
                fail("%s, result %d of %g, %g: %x, not %x", type, k, x[i], y[i],
                     out[i * results + k], want[k]);
    }
    printf("%s: %d results as on the host\n", type, count * used);
}

static void compare_device(const std::vector<float> &functions)
{
    fetch();
    for (int i = 0; i < count; i++) {
        __half a = __float2half(x[i]);
        float f = __half2float(a), v = __half2float(__float2half(y[i]));
        unsigned up = bits(__float2half_ru(x[i])), down = bits(__float2half_rd(x[i]));
        unsigned *o = &out[i * results];
        if (o[0] != (bits(__float2half_rz(x[i])) | up << 16) ||
            o[1] != (down | bits(__int2half_rn((int)(y[i] * 1000))) << 16))
            fail("roundings of %g: %x, %x", x[i], o[0], o[1]);
        if (o[2] != ((unsigned)(int)floorf(f) ^ (unsigned)(int)ceilf(f) << 16) ||
            o[3] != (bits(__float2half(floorf(f))) | bits(__float2half(rintf(f))) << 16))
            fail("whole numbers of %g: %x, %x", f, o[2], o[3]);
        const float want[4] = {expf(v), log2f(fabsf(f)), sqrtf(fabsf(f)), sinf(v)};
        for (int k = 0; k < 4; k++) {
            float got = functions[4 * i + k], off = fabsf(got - want[k]);
            if (!(off <= fmaxf(fabsf(want[k]) * 0x1p-10f, 0x1p-11f) || got == want[k]))
                fail("function %d of %g or %g: %g, not %g", k, f, v, got, want[k]);
        }
    }
    printf("conversions and functions of the device: right\n");
}

int main()
{
    Random random(3);
    for (int i = 0; i < count; i++) {
        double scale = i % 4 == 0 ? 1e-6 : i % 4 == 1 ? 500 : 4;
        x[i] = (float)((random.unit() - 0.5) * scale);
        y[i] = (float)((random.unit() - 0.5) * 8);
    }
    CHECK(cudaMalloc(&device_x, count * 4));
    CHECK(cudaMalloc(&device_y, count * 4));
    CHECK(cudaMalloc(&device_out, count * results * 4));
    CHECK(cudaMemcpy(device_x, x.data(), count * 4, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(device_y, y.data(), count * 4, cudaMemcpyHostToDevice));
    run<__half><<<count / 128, 128>>>(device_x, device_y, device_out);
    compare("half", results, evaluate<__half>);
    run<__nv_bfloat16><<<count / 128, 128>>>(device_x, device_y, device_out);
    compare("bfloat16", results, evaluate<__nv_bfloat16>);
    run_fp8<<<count / 128, 128>>>(device_x, device_y, device_out);
    compare("fp8", 8, evaluate_fp8);
    float *device_functions;
    std::vector<float> functions(4 * count);
    CHECK(cudaMalloc(&device_functions, 4 * count * sizeof(float)));
    run_device<<<count / 128, 128>>>(device_x, device_y, device_out, device_functions);
    CHECK(cudaMemcpy(functions.data(), device_functions, 4 * count * sizeof(float),
                     cudaMemcpyDeviceToHost));
    compare_device(functions);
    return passed();
}
