// SPDX-License-Identifier: Apache-2.0
// What the maths library compiles to: approximations, slow paths with local memory, doubles.
extern "C" __global__ void nbody(const double4 *at, double3 *force, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    double4 me = at[i];
    double3 f = make_double3(0, 0, 0);
    for (int j = 0; j < n; j++) {
        double dx = at[j].x - me.x, dy = at[j].y - me.y, dz = at[j].z - me.z;
        double d2 = dx * dx + dy * dy + dz * dz + 1e-9;
        double inv = rsqrt(d2);
        double s = at[j].w * inv * inv * inv;
        f.x += s * dx;
        f.y += s * dy;
        f.z += s * dz;
    }
    force[i] = f;
}

__device__ float normal(float d)
{
    const float a1 = 0.31938153f, a2 = -0.356563782f, a3 = 1.781477937f, a4 = -1.821255978f,
                a5 = 1.330274429f;
    float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    float c = 0.39894228040143267794f * expf(-0.5f * d * d) *
              (k * (a1 + k * (a2 + k * (a3 + k * (a4 + k * a5)))));
    return d > 0 ? 1.0f - c : c;
}

extern "C" __global__ void black_scholes(float *call, float *put, const float *price,
                                         const float *strike, const float *years, float r, float v,
                                         int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    float root = sqrtf(years[i]);
    float d1 = (logf(price[i] / strike[i]) + (r + 0.5f * v * v) * years[i]) / (v * root);
    float d2 = d1 - v * root;
    float n1 = normal(d1), n2 = normal(d2), discount = expf(-r * years[i]);
    call[i] = price[i] * n1 - strike[i] * discount * n2;
    put[i] = strike[i] * discount * (1.0f - n2) - price[i] * (1.0f - n1);
}

// out: 16 functions for each input
extern "C" __global__ void float_functions(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    float x = in[i], *o = out + i * 16;
    o[0] = sinf(x);
    o[1] = cosf(x);
    o[2] = expf(x);
    o[3] = logf(fabsf(x));
    o[4] = powf(fabsf(x), 1.7f);
    o[5] = tanf(x);
    o[6] = sqrtf(fabsf(x));
    o[7] = 1.0f / x;
    o[8] = atan2f(x, 2.0f);
    o[9] = tanhf(x);
    o[10] = cbrtf(x);
    o[11] = erff(x);
    o[12] = floorf(x);
    o[13] = rintf(x);
    o[14] = fmodf(x, 3.0f);
    o[15] = log1pf(fabsf(x));
}

extern "C" __global__ void double_functions(const double *in, double *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    double x = in[i], *o = out + i * 16;
    o[0] = sin(x);
    o[1] = cos(x);
    o[2] = exp(x);
    o[3] = log(fabs(x));
    o[4] = pow(fabs(x), 1.7);
    o[5] = tan(x);
    o[6] = sqrt(fabs(x));
    o[7] = 1.0 / x;
    o[8] = atan2(x, 2.0);
    o[9] = tanh(x);
    o[10] = cbrt(x);
    o[11] = erf(x);
    o[12] = floor(x);
    o[13] = rint(x);
    o[14] = fmod(x, 3.0);
    o[15] = lgamma(fabs(x));
}

// the fast approximations of hardware
extern "C" __global__ void intrinsics(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    float x = in[i], *o = out + i * 8;
    o[0] = __sinf(x);
    o[1] = __cosf(x);
    o[2] = __expf(x);
    o[3] = __logf(fabsf(x));
    o[4] = __fdividef(1.0f, x);
    o[5] = rsqrtf(fabsf(x));
    o[6] = __saturatef(x);
    o[7] = __powf(fabsf(x), 0.5f);
}

// every rounding of the four operations and fma
extern "C" __global__ void roundings(const float *a, const float *b, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    float x = a[i], y = b[i], *o = out + i * 16;
    o[0] = __fadd_rn(x, y);
    o[1] = __fadd_rz(x, y);
    o[2] = __fadd_ru(x, y);
    o[3] = __fadd_rd(x, y);
    o[4] = __fmul_rz(x, y);
    o[5] = __fmul_ru(x, y);
    o[6] = __fmul_rd(x, y);
    o[7] = __fdiv_rz(x, y);
    o[8] = __fdiv_ru(x, y);
    o[9] = __fdiv_rd(x, y);
    o[10] = __fmaf_rz(x, y, x);
    o[11] = __fmaf_ru(x, y, x);
    o[12] = __fmaf_rd(x, y, x);
    o[13] = __fsqrt_ru(fabsf(x));
    o[14] = __frcp_rd(x);
    o[15] = __fsqrt_rz(fabsf(x));
}
