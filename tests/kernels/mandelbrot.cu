// SPDX-License-Identifier: Apache-2.0
// The Mandelbrot set: neighbouring threads leave their loop at different times. Every rounding is
// written out, so the host computes the very same numbers.
#include <vector>

#include "check.h"

__global__ void mandelbrot(unsigned short *counts, int width, int height, int limit)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= width || row >= height)
        return;
    float real = __fmaf_rn((float)column, 3.0f / 256, -2.25f);
    float imaginary = __fmaf_rn((float)row, 2.5f / 192, -1.25f);
    float x = 0, y = 0;
    int count = 0;
    for (; count < limit; count++) {
        float xx = __fmul_rn(x, x), yy = __fmul_rn(y, y);
        if (__fadd_rn(xx, yy) > 4.0f)
            break;
        y = __fmaf_rn(__fadd_rn(x, x), y, imaginary);
        x = __fadd_rn(__fsub_rn(xx, yy), real);
    }
    counts[row * width + column] = (unsigned short)count;
}

// volatile keeps the compiler from contracting a product and a sum
static int on_host(int column, int row, int limit)
{
    float real = fmaf((float)column, 3.0f / 256, -2.25f);
    float imaginary = fmaf((float)row, 2.5f / 192, -1.25f);
    volatile float x = 0, y = 0;
    int count = 0;
    for (; count < limit; count++) {
        volatile float xx = x * x, yy = y * y, size = xx + yy, twice = x + x, difference = xx - yy;
        if (size > 4.0f)
            break;
        y = fmaf(twice, y, imaginary);
        x = difference + real;
    }
    return count;
}

int main()
{
    const int width = 256, height = 192, limit = 200;
    std::vector<unsigned short> counts(width * height);
    unsigned short *device;
    CHECK(cudaMalloc(&device, counts.size() * sizeof counts[0]));
    mandelbrot<<<dim3(width / 16, height / 8), dim3(16, 8)>>>(device, width, height, limit);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(counts.data(), device, counts.size() * sizeof counts[0],
                     cudaMemcpyDeviceToHost));
    CHECK(cudaFree(device));
    long sum = 0;
    for (int row = 0; row < height; row++) {
        for (int column = 0; column < width; column++) {
            int got = counts[row * width + column], right = on_host(column, row, limit);
            if (got != right)
                fail("row %d column %d is %d, %d is right", row, column, got, right);
            sum += got;
        }
    }
    printf("%d x %d points, %ld steps\n", width, height, sum);
    return passed();
}
