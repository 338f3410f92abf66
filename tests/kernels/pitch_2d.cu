// SPDX-License-Identifier: Apache-2.0
// Pitched memory and rectangles: cudaMallocPitch, cudaMemcpy2D in all directions, cudaMemset2D.
#include <vector>

#include "check.h"

static const int width = 117, height = 45;

__global__ void negate(short *image, size_t pitch)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x < width) {
        short *row = (short *)((char *)image + y * pitch);
        row[x] = (short)-row[x];
    }
}

int main()
{
    const size_t row = width * sizeof(short);
    short *image, *copy;
    size_t pitch, copy_pitch;
    CHECK(cudaMallocPitch(&image, &pitch, row, height));
    CHECK(cudaMallocPitch(&copy, &copy_pitch, row + 100, height));
    if (pitch < row || pitch % 32 != 0 || copy_pitch < row + 100)
        fail("pitches of %zu and %zu bytes for rows of %zu", pitch, copy_pitch, row);
    // Rows on the host stand wider apart than they are long.
    const int stride = width + 6;
    std::vector<short> host(stride * height), back(stride * height, 99);
    for (int i = 0; i < stride * height; i++)
        host[i] = (short)i;
    CHECK(cudaMemcpy2D(image, pitch, host.data(), stride * sizeof(short), row, height,
                       cudaMemcpyHostToDevice));
    negate<<<dim3((width + 63) / 64, height), 64>>>(image, pitch);
    CHECK(cudaGetLastError());
    CHECK(cudaMemset2D(copy, copy_pitch, 0x11, row, height));
    // An inner rectangle, one row and one column in.
    CHECK(cudaMemcpy2D((char *)copy + copy_pitch + 2, copy_pitch, (char *)image + pitch + 2, pitch,
                       row - 4, height - 2, cudaMemcpyDeviceToDevice));
    CHECK(cudaMemcpy2D(back.data(), stride * sizeof(short), copy, copy_pitch, row, height,
                       cudaMemcpyDeviceToHost));
    for (int y = 0; y < height; y++) {
        for (int x = 0; x < stride; x++) {
            bool inner = y > 0 && y < height - 1 && x > 0 && x < width - 1;
            short right = x >= width ? (short)99
                          : inner    ? (short)-host[y * stride + x]
                                     : (short)0x1111;
            if (back[y * stride + x] != right)
                fail("row %d column %d is %d, %d is right", y, x, back[y * stride + x], right);
        }
    }
    CHECK(cudaFree(image));
    CHECK(cudaFree(copy));
    printf("%d x %d image copied, changed and compared\n", width, height);
    return passed();
}
