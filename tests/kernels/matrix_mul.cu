// SPDX-License-Identifier: Apache-2.0
// C = A * B with tiles in shared memory; sizes are multiples of the tile.
#include <vector>

#include "check.h"

static const int tile = 16;

__global__ void matrix_mul(const float *a, const float *b, float *c, int width_a, int width_b)
{
    __shared__ float tile_a[tile][tile];
    __shared__ float tile_b[tile][tile];
    int row = blockIdx.y * tile + threadIdx.y;
    int column = blockIdx.x * tile + threadIdx.x;
    float sum = 0;
    for (int start = 0; start < width_a; start += tile) {
        tile_a[threadIdx.y][threadIdx.x] = a[row * width_a + start + threadIdx.x];
        tile_b[threadIdx.y][threadIdx.x] = b[(start + threadIdx.y) * width_b + column];
        __syncthreads();
        for (int k = 0; k < tile; k++)
            sum += tile_a[threadIdx.y][k] * tile_b[k][threadIdx.x];
        __syncthreads();
    }
    c[row * width_b + column] = sum;
}

int main()
{
    const int height = 96, inner = 160, width = 128;
    std::vector<float> a(height * inner), b(inner * width), c(height * width);
    Random random(2);
    for (float &value : a)
        value = (float)random.unit() - 0.5f;
    for (float &value : b)
        value = (float)random.unit() - 0.5f;
    float *device_a, *device_b, *device_c;
    CHECK(cudaMalloc(&device_a, a.size() * sizeof(float)));
    CHECK(cudaMalloc(&device_b, b.size() * sizeof(float)));
    CHECK(cudaMalloc(&device_c, c.size() * sizeof(float)));
    CHECK(cudaMemcpy(device_a, a.data(), a.size() * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(device_b, b.data(), b.size() * sizeof(float), cudaMemcpyHostToDevice));
    matrix_mul<<<dim3(width / tile, height / tile), dim3(tile, tile)>>>(device_a, device_b,
                                                                       device_c, inner, width);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(c.data(), device_c, c.size() * sizeof(float), cudaMemcpyDeviceToHost));
    double worst = 0;
    for (int row = 0; row < height; row++) {
        for (int column = 0; column < width; column++) {
            double sum = 0;
            for (int k = 0; k < inner; k++)
                sum += (double)a[row * inner + k] * b[k * width + column];
            worst = fmax(worst, fabs(sum - c[row * width + column]));
        }
    }
    // Each of the 160 products is below 1/4, so a sum rounds by less than 160 * 40 * 2^-24.
    if (!(worst < 4e-4))
        fail("an element is off by %g", worst);
    CHECK(cudaFree(device_a));
    CHECK(cudaFree(device_b));
    CHECK(cudaFree(device_c));
    printf("%d x %d product, largest error below 4e-4\n", height, width);
    return passed();
}
