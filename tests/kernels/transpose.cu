// SPDX-License-Identifier: Apache-2.0
// Transposition through a padded tile in shared memory, of a matrix that no tile divides.
#include <vector>

#include "check.h"

static const int tile = 32, rows_per_thread = 4;

__global__ void transpose(const float *in, float *out, int width, int height)
{
    __shared__ float block[tile][tile + 1];
    int x = blockIdx.x * tile + threadIdx.x;
    for (int i = threadIdx.y; i < tile; i += tile / rows_per_thread) {
        int y = blockIdx.y * tile + i;
        if (x < width && y < height)
            block[i][threadIdx.x] = in[y * width + x];
    }
    __syncthreads();
    x = blockIdx.y * tile + threadIdx.x;
    for (int i = threadIdx.y; i < tile; i += tile / rows_per_thread) {
        int y = blockIdx.x * tile + i;
        if (x < height && y < width)
            out[y * height + x] = block[threadIdx.x][i];
    }
}

int main()
{
    const int width = 523, height = 391;
    std::vector<float> in(width * height), out(width * height);
    for (int i = 0; i < width * height; i++)
        in[i] = (float)i;
    float *device_in, *device_out;
    const size_t bytes = in.size() * sizeof(float);
    CHECK(cudaMalloc(&device_in, bytes));
    CHECK(cudaMalloc(&device_out, bytes));
    CHECK(cudaMemcpy(device_in, in.data(), bytes, cudaMemcpyHostToDevice));
    dim3 grid((width + tile - 1) / tile, (height + tile - 1) / tile);
    transpose<<<grid, dim3(tile, tile / rows_per_thread)>>>(device_in, device_out, width, height);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(out.data(), device_out, bytes, cudaMemcpyDeviceToHost));
    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) {
            if (out[x * height + y] != in[y * width + x])
                fail("row %d column %d is %g, %g is right", x, y, out[x * height + y],
                     in[y * width + x]);
        }
    }
    CHECK(cudaFree(device_in));
    CHECK(cudaFree(device_out));
    printf("%d x %d transposed\n", width, height);
    return passed();
}
