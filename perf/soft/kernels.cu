// SPDX-License-Identifier: Apache-2.0
// What softgpu's speed is measured on. Parameters are inputs, outputs, then the size.
extern "C" __global__ void vector_add(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        c[i] = a[i] + b[i];
    }
}

extern "C" __global__ void reduction(const unsigned *in, unsigned *out, int n)
{
    __shared__ unsigned parts[32];
    unsigned sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        sum += in[i];
    }
    for (int step = 16; step > 0; step /= 2) {
        sum += __shfl_down_sync(0xffffffff, sum, step);
    }
    if (threadIdx.x % 32 == 0) {
        parts[threadIdx.x / 32] = sum;
    }
    __syncthreads();
    if (threadIdx.x < blockDim.x / 32) {
        atomicAdd(out, parts[threadIdx.x]);
    }
}

// One element per thread and a barrier per step: what a first version of a reduction looks like.
extern "C" __global__ void reduction_tree(const unsigned *in, unsigned *out, int n)
{
    __shared__ unsigned parts[512];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    parts[threadIdx.x] = i < n ? in[i] : 0;
    __syncthreads();
    for (unsigned step = blockDim.x / 2; step > 0; step >>= 1) {
        if (threadIdx.x < step) {
            parts[threadIdx.x] += parts[threadIdx.x + step];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        atomicAdd(out, parts[0]);
    }
}

template <int TILE>
static __device__ void matmul(const float *a, const float *b, float *c, int n)
{
    __shared__ float as[TILE][TILE], bs[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < n / TILE; t++) {
        as[threadIdx.y][threadIdx.x] = a[row * n + t * TILE + threadIdx.x];
        bs[threadIdx.y][threadIdx.x] = b[(t * TILE + threadIdx.y) * n + column];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TILE; k++) {
            sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
        }
        __syncthreads();
    }
    c[row * n + column] = sum;
}

extern "C" __global__ void matmul16(const float *a, const float *b, float *c, int n)
{
    matmul<16>(a, b, c, n);
}

extern "C" __global__ void matmul32(const float *a, const float *b, float *c, int n)
{
    matmul<32>(a, b, c, n);
}

// The cumulative normal distribution, by Abramowitz and Stegun 26.2.17
static __device__ float normal(float d)
{
    float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    float tail = 0.39894228f * __expf(-0.5f * d * d) *
                 (k * (0.31938153f +
                       k * (-0.356563782f +
                            k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
    return d > 0 ? 1.0f - tail : tail;
}

extern "C" __global__ void black_scholes(const float *price, const float *strike,
                                         const float *years, float *call, float *put, int n)
{
    const float rate = 0.02f, volatility = 0.3f;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    float s = price[i], x = strike[i], t = years[i];
    float root = sqrtf(t);
    float d1 = (__logf(s / x) + (rate + 0.5f * volatility * volatility) * t) / (volatility * root);
    float d2 = d1 - volatility * root;
    float n1 = normal(d1), n2 = normal(d2), discount = __expf(-rate * t);
    call[i] = s * n1 - x * discount * n2;
    put[i] = x * discount * (1.0f - n2) - s * (1.0f - n1);
}

template <typename T> static __device__ void mandelbrot(int *out, int n)
{
    int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= n || py >= n) {
        return;
    }
    T cx = (T)-2 + (T)3 * px / n, cy = (T)-1.5 + (T)3 * py / n, x = 0, y = 0;
    int count = 0;
    while (count < 256 && x * x + y * y < (T)4) {
        T next = x * x - y * y + cx;
        y = 2 * x * y + cy;
        x = next;
        count++;
    }
    out[py * n + px] = count;
}

extern "C" __global__ void mandelbrot32(int *out, int n)
{
    mandelbrot<float>(out, n);
}

extern "C" __global__ void mandelbrot64(int *out, int n)
{
    mandelbrot<double>(out, n);
}

// One option per block: mean pay-off over n samples of the normal distribution.
extern "C" __global__ void monte_carlo(const float *samples, float *out, int n)
{
    __shared__ float parts[256];
    float strike = 20.0f + blockIdx.x, sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        float end = 30.0f * __expf(0.01f + 0.25f * samples[i]);
        sum += fmaxf(end - strike, 0.0f);
    }
    parts[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned step = blockDim.x / 2; step > 0; step /= 2) {
        if (threadIdx.x < step) {
            parts[threadIdx.x] += parts[threadIdx.x + step];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        out[blockIdx.x] = parts[0] / n;
    }
}

extern "C" __global__ void histogram(const unsigned char *in, unsigned *bins, int n)
{
    __shared__ unsigned local[256];
    local[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        atomicAdd(&local[in[i]], 1u);
    }
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

extern "C" __global__ void nbody(const float4 *bodies, float4 *force, int n)
{
    __shared__ float4 tile[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 me = bodies[i];
    float x = 0, y = 0, z = 0;
    for (int t = 0; t < n; t += 256) {
        tile[threadIdx.x] = bodies[t + threadIdx.x];
        __syncthreads();
#pragma unroll 8
        for (int k = 0; k < 256; k++) {
            float4 other = tile[k];
            float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
            float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-3f);
            float scale = other.w * inverse * inverse * inverse;
            x += scale * dx;
            y += scale * dy;
            z += scale * dz;
        }
        __syncthreads();
    }
    force[i] = make_float4(x, y, z, 0);
}
