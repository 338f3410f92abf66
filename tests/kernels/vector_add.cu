// SPDX-License-Identifier: Apache-2.0
// c = a + b over a length that is no multiple of the block.
#include <vector>

#include "check.h"

__global__ void vector_add(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

int main()
{
    const int n = 1 << 20 | 77;
    std::vector<float> a(n), b(n), c(n);
    Random random(1);
    for (int i = 0; i < n; i++) {
        a[i] = (float)random.unit();
        b[i] = (float)random.unit();
    }
    float *device[3];
    for (float *&pointer : device)
        CHECK(cudaMalloc(&pointer, n * sizeof(float)));
    CHECK(cudaMemcpy(device[0], a.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(device[1], b.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    vector_add<<<(n + 255) / 256, 256>>>(device[0], device[1], device[2], n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(c.data(), device[2], n * sizeof(float), cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) {
        if (c[i] != a[i] + b[i])
            fail("element %d is %g, %g is right", i, c[i], a[i] + b[i]);
    }
    for (float *pointer : device)
        CHECK(cudaFree(pointer));
    printf("%d sums are right\n", n);
    return passed();
}
