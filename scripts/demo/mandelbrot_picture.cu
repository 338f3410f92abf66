// SPDX-License-Identifier: Apache-2.0
// mandelbrot_picture [DEVICE]: computes the Mandelbrot set on a device and draws it in characters.
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

// One thread per sample; each character is drawn from 8 x 16 samples.
__global__ void mandelbrot(int *counts, int width, int height, int limit)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= width || row >= height)
        return;
    float real = -2.2f + 3.2f * column / width, imaginary = -1.2f + 2.4f * row / height;
    float x = 0, y = 0;
    int count = 0;
    while (count < limit && x * x + y * y <= 4) {
        float next = x * x - y * y + real;
        y = 2 * x * y + imaginary;
        x = next;
        count++;
    }
    counts[row * width + column] = count;
}

int main(int argc, char **argv)
{
    const int columns = 76, rows = 22, width = columns * 8, height = rows * 16, limit = 256;
    static const char shades[] = " .,:;+*oO0@#";
    std::vector<int> counts(width * height);
    cudaDeviceProp properties;
    int device = argc > 1 ? atoi(argv[1]) : 0, *memory;

    check(cudaSetDevice(device));
    check(cudaGetDeviceProperties(&properties, device));
    check(cudaMalloc(&memory, counts.size() * sizeof(int)));
    mandelbrot<<<dim3(width / 16, height / 16), dim3(16, 16)>>>(memory, width, height, limit);
    check(cudaGetLastError());
    check(cudaMemcpy(counts.data(), memory, counts.size() * sizeof(int), cudaMemcpyDeviceToHost));
    check(cudaFree(memory));

    for (int row = 0; row < rows; row++) {
        char line[columns + 1] = "";
        for (int column = 0; column < columns; column++) {
            double sum = 0;
            for (int y = 0; y < 16; y++)
                for (int x = 0; x < 8; x++)
                    sum += counts[(row * 16 + y) * width + column * 8 + x];
            double share = sum / (8 * 16) / limit;
            int shade = share > 0.5 ? 11 : (int)(share * 60);
            line[column] = shades[shade < 11 ? shade : 11];
        }
        printf("%s\n", line);
    }
    printf("%d x %d points on device %d (%s)\n", width, height, device, properties.name);
    return 0;
}
