// SPDX-License-Identifier: Apache-2.0
// Pi by the midpoint rule, its interval divided over all devices, wherever they are.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

static void check(cudaError_t error)
{
    if (error != cudaSuccess) {
        printf("CUDA: %s\n", cudaGetErrorString(error));
        exit(1);
    }
}

__global__ void midpoints(double *sums, long first, long count, double width)
{
    long thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    double sum = 0;
    for (long i = thread; i < count; i += threads) {
        double x = (first + i + 0.5) * width;
        sum += 4 / (1 + x * x);
    }
    sums[thread] = sum * width;
}

int main()
{
    const int threads = 1024;
    const long points = 1000000;
    int devices = 0;
    check(cudaGetDeviceCount(&devices));
    std::vector<double *> sums(devices);
    for (int d = 0; d < devices; d++) {
        long first = points * d / devices, end = points * (d + 1) / devices;
        check(cudaSetDevice(d));
        check(cudaMalloc(&sums[d], threads * sizeof(double)));
        midpoints<<<threads / 128, 128>>>(sums[d], first, end - first, 1.0 / points);
        check(cudaGetLastError());
    }
    double pi = 0;
    for (int d = 0; d < devices; d++) {
        std::vector<double> part(threads);
        double sum = 0;
        cudaDeviceProp properties;
        check(cudaSetDevice(d));
        check(cudaGetDeviceProperties(&properties, d));
        check(cudaMemcpy(part.data(), sums[d], threads * sizeof(double), cudaMemcpyDeviceToHost));
        for (double value : part)
            sum += value;
        printf("device %d (%s): %.12f\n", d, properties.name, sum);
        pi += sum;
        check(cudaFree(sums[d]));
    }
    printf("pi is %.12f, off by %.1e\n", pi, fabs(pi - M_PI));
    return fabs(pi - M_PI) < 1e-10 ? 0 : 1;
}
