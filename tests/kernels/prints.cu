// SPDX-License-Identifier: Apache-2.0
// prints TAG KERNELS LINES [fault|copy]: each of KERNELS kernels prints LINES lines with the TAG,
// and the host a line in front of each; with "fault" the last kernel leaves its memory then; with
// "copy" nothing but a copy to the device comes behind a kernel, in every other turn when questions
// have told that the kernel is done. A helper of the end-to-end tests, which look at the program's
// stdout from outside.
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
        fail("usage: prints TAG KERNELS LINES [fault|copy]");
    const int kernels = atoi(argv[2]), count = atoi(argv[3]);
    const bool faults = argc > 4 && strcmp(argv[4], "fault") == 0;
    const bool copies = argc > 4 && strcmp(argv[4], "copy") == 0;
    char *tag;
    CHECK(cudaMalloc(&tag, strlen(argv[1]) + 1));
    CHECK(cudaMemcpy(tag, argv[1], strlen(argv[1]) + 1, cudaMemcpyHostToDevice));
    for (int k = 0; k < kernels; k++) {
        int *wrong = faults && k == kernels - 1 ? (int *)64 : nullptr;
        printf("%s: kernel %d is next\n", argv[1], k);
        lines<<<1, 1>>>(tag, k, count, wrong);
        CHECK(cudaGetLastError());
        while (copies && k % 2 == 1 && cudaStreamQuery(0) == cudaErrorNotReady)
            ;
        cudaError_t error =
            copies ? cudaMemcpy(tag, argv[1], strlen(argv[1]), cudaMemcpyHostToDevice)
                   : cudaDeviceSynchronize();
        if (wrong == nullptr)
            CHECK(error);
        else
            printf("error %d\n", (int)error);
    }
    return passed();
}
