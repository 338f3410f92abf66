// SPDX-License-Identifier: Apache-2.0
// European options by the closed formula, in float on the GPU and in double on the host.
#include <vector>

#include "check.h"

static const float rate = 0.02f, volatility = 0.30f;

// Abramowitz and Stegun 26.2.17
__device__ float normal_cdf(float d)
{
    float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    float polynomial =
        k * (0.319381530f +
             k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
    float tail = 0.39894228f * expf(-0.5f * d * d) * polynomial;
    return d > 0 ? 1.0f - tail : tail;
}

__global__ void price(const float *spot, const float *strike, const float *years, float *call,
                      float *put, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float root = sqrtf(years[i]);
        float drift = (rate + 0.5f * volatility * volatility) * years[i];
        float d1 = (logf(spot[i] / strike[i]) + drift) / (volatility * root);
        float d2 = d1 - volatility * root;
        float discounted = strike[i] * __expf(-rate * years[i]);
        call[i] = spot[i] * normal_cdf(d1) - discounted * normal_cdf(d2);
        put[i] = discounted * (1.0f - normal_cdf(d2)) - spot[i] * (1.0f - normal_cdf(d1));
    }
}

static double exact_cdf(double d) { return 0.5 * erfc(-d / sqrt(2.0)); }

int main()
{
    const int n = 40000;
    std::vector<float> in[3], out[2];
    float *device[5];
    const size_t bytes = n * sizeof(float);
    Random random(7);
    for (int array = 0; array < 3; array++) {
        const double low[] = {5, 1, 0.25}, high[] = {30, 100, 10};
        for (int i = 0; i < n; i++)
            in[array].push_back((float)(low[array] + (high[array] - low[array]) * random.unit()));
    }
    for (float *&pointer : device)
        CHECK(cudaMalloc(&pointer, bytes));
    for (int array = 0; array < 3; array++)
        CHECK(cudaMemcpy(device[array], in[array].data(), bytes, cudaMemcpyHostToDevice));
    price<<<60, 128>>>(device[0], device[1], device[2], device[3], device[4], n);
    CHECK(cudaGetLastError());
    for (int array = 0; array < 2; array++) {
        out[array].resize(n);
        CHECK(cudaMemcpy(out[array].data(), device[3 + array], bytes, cudaMemcpyDeviceToHost));
    }
    double difference = 0, sum = 0;
    for (int i = 0; i < n; i++) {
        double s = in[0][i], x = in[1][i], t = in[2][i], v = volatility;
        double d1 = (log(s / x) + (rate + 0.5 * v * v) * t) / (v * sqrt(t)), d2 = d1 - v * sqrt(t);
        double call = s * exact_cdf(d1) - x * exp(-rate * t) * exact_cdf(d2);
        double put = x * exp(-rate * t) * exact_cdf(-d2) - s * exact_cdf(-d1);
        difference += fabs(call - out[0][i]) + fabs(put - out[1][i]);
        sum += fabs(call) + fabs(put);
    }
    for (float *pointer : device)
        CHECK(cudaFree(pointer));
    printf("%d options, relative L1 error below 1e-6: %s\n", n,
           difference / sum < 1e-6 ? "yes" : "no");
    if (!(difference / sum < 1e-6))
        fail("relative L1 error %g", difference / sum);
    return passed();
}
