// prints TAG KERNELS LINES [fault]: each of KERNELS kernels prints LINES lines with the TAG, and
// the host a line in front of each; with "fault" the last kernel leaves its memory then. A helper
// of the end-to-end tests, which look at the program's stdout from outside.
#include "check.h"

__global__ void lines(const char *tag, int kernel, int count, int *wrong)
{
    for (int i = 0; i < count; i++)
        printf("%s: kernel %d, line %d of %d\n", tag, kernel, i, count);
    if (wrong)
        *wrong = 1;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        fail("usage: prints TAG KERNELS LINES [fault]");
    const int kernels = atoi(argv[2]), count = atoi(argv[3]);
    char *tag;
    CHECK(cudaMalloc(&tag, strlen(argv[1]) + 1));
    CHECK(cudaMemcpy(tag, argv[1], strlen(argv[1]) + 1, cudaMemcpyHostToDevice));
    for (int k = 0; k < kernels; k++) {
        int *wrong = argc > 4 && k == kernels - 1 ? (int *)64 : nullptr;
        printf("%s: kernel %d is next\n", argv[1], k);
        lines<<<1, 1>>>(tag, k, count, wrong);
        CHECK(cudaGetLastError());
        cudaError_t error = cudaDeviceSynchronize();
        if (wrong == nullptr)
            CHECK(error);
        else
            printf("error %d\n", (int)error);
    }
    return passed();
}
