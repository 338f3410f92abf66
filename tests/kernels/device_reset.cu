// cudaDeviceReset in the middle of a program: everything is gone, then everything works again, and
// a module's variable has its initial value.
#include "check.h"

__device__ int generation = 100;

__global__ void count_up(int *out)
{
    generation++;
    *out = generation;
}

int main()
{
    for (int cycle = 0; cycle < 3; cycle++) {
        int *device, result = 0;
        cudaStream_t stream;
        CHECK(cudaStreamCreate(&stream));
        CHECK(cudaMalloc(&device, 1 << 20));
        count_up<<<1, 1, 0, stream>>>(device);
        CHECK(cudaGetLastError());
        count_up<<<1, 1, 0, stream>>>(device);
        CHECK(cudaGetLastError());
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaMemcpy(&result, device, sizeof result, cudaMemcpyDeviceToHost));
        if (result != 102)
            fail("cycle %d: the variable is %d, 102 is right", cycle, result);
        printf("cycle %d: %d\n", cycle, result);
        CHECK(cudaDeviceReset());
    }
    return passed();
}
