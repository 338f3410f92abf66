// SPDX-License-Identifier: Apache-2.0
// Grids that synchronise by the functions of the device run time (cudaCG*), without the headers of
// cooperative groups: from CUDA C++, and from PTX that is linked at run time with libcudadevrt, as
// numba does it.
#include <unistd.h>

#include "check_driver.h"

static const int BLOCKS = 3, ROUNDS = 50;

// Each round every thread adds to what a thread of another block has left.
__global__ void pass_on(unsigned *words, unsigned *ranks, unsigned *errors)
{
    const unsigned long long grid = cudaCGGetIntrinsicHandle(cudaCGScopeGrid);
    unsigned threads = 0, grids = 7, rank = 0, which = 7, wrong = 0;
    wrong |= cudaCGGetSize(&threads, &grids, grid) != cudaSuccess || grids != 1;
    wrong |= cudaCGGetRank(&rank, &which, grid) != cudaSuccess || which != 0;
    unsigned *from = words, *to = words + threads;
    for (int round = 0; round < ROUNDS; round++) {
        to[rank] = from[(rank + blockDim.x * blockDim.y) % threads] + 1;
        wrong |= (round % 2 ? cudaCGSynchronize(grid, 0) : cudaCGSynchronizeGrid(grid, 0)) !=
                 cudaSuccess;
        unsigned *other = from;
        from = to;
        to = other;
    }
    ranks[rank] = threads;
    if (wrong)
        atomicAdd(errors, 1u);
}

// Not launched as one grid that may wait for itself.
__global__ void no_grid(unsigned *out)
{
    const unsigned long long grid = cudaCGGetIntrinsicHandle(cudaCGScopeGrid);
    out[0] = grid == 0;
    out[1] = cudaCGSynchronize(grid, 0) != cudaSuccess;
    out[2] = cudaCGGetIntrinsicHandle(cudaCGScopeInvalid) == 0;
}

static void run_compiled()
{
    const dim3 block(8, 3, 2);
    const unsigned threads = BLOCKS * 48;
    unsigned *words, *ranks, *errors;
    CHECK(cudaMallocManaged(&words, 2 * threads * sizeof *words));
    CHECK(cudaMallocManaged(&ranks, threads * sizeof *ranks));
    CHECK(cudaMallocManaged(&errors, 3 * sizeof *errors));
    memset(words, 0, 2 * threads * sizeof *words);
    memset(ranks, 0, threads * sizeof *ranks);
    *errors = 0;
    void *arguments[] = {&words, &ranks, &errors};
    CHECK(cudaLaunchCooperativeKernel((void *)pass_on, dim3(BLOCKS), block, arguments, 0, NULL));
    CHECK(cudaDeviceSynchronize());
    for (unsigned i = 0; i < threads; i++)
        if (words[i] != (unsigned)ROUNDS || ranks[i] != threads || *errors != 0)
            fail("thread %u: %u rounds, %u threads, %u errors", i, words[i], ranks[i], *errors);
    no_grid<<<1, 1>>>(errors);
    CHECK(cudaDeviceSynchronize());
    if (!errors[0] || !errors[1] || !errors[2])
        fail("without a cooperative launch: %u %u %u", errors[0], errors[1], errors[2]);
}

// Every thread counts, the grid waits, and every block reads the same count.
static char counter[] =
    ".version 8.0\n.target sm_75\n.address_size 64\n"
    ".extern .func (.param .b64 r) cudaCGGetIntrinsicHandle(.param .b32 s);\n"
    ".extern .func (.param .b32 r) cudaCGSynchronize(.param .b64 h, .param .b32 f);\n"
    ".visible .entry count(.param .u64 a)\n{\n.reg .b64 %rd<8>; .reg .b32 %r<8>;\n"
    "ld.param.u64 %rd1, [a];\n"
    "{ .param .b32 x; .param .b64 y; st.param.b32 [x], 1;\n"
    "call (y), cudaCGGetIntrinsicHandle, (x); ld.param.b64 %rd2, [y]; }\n"
    "atom.global.add.u32 %r3, [%rd1], 1;\n"
    "{ .param .b64 x; .param .b32 f; .param .b32 y; st.param.b64 [x], %rd2; st.param.b32 [f], 0;\n"
    "call (y), cudaCGSynchronize, (x, f); ld.param.b32 %r4, [y]; }\n"
    "ld.global.u32 %r5, [%rd1]; add.u32 %r5, %r5, %r4; mov.u32 %r6, %ctaid.x;\n"
    "mul.wide.u32 %rd3, %r6, 4; add.s64 %rd4, %rd1, %rd3; st.global.u32 [%rd4+4], %r5; ret;\n}\n";

static void run_linked()
{
    static const char devrt[] = "/usr/local/cuda/lib64/libcudadevrt.a";
    CUlinkState link;
    CUmodule module;
    CUfunction function;
    CUdeviceptr out;
    void *image;
    size_t size;
    unsigned words[BLOCKS + 1];
    CHECK_DRIVER(cuLinkCreate(0, NULL, NULL, &link));
    CHECK_DRIVER(cuLinkAddData(link, CU_JIT_INPUT_PTX, counter, sizeof counter, "counter", 0, NULL,
                               NULL));
    if (access(devrt, R_OK) == 0)
        CHECK_DRIVER(cuLinkAddFile(link, CU_JIT_INPUT_LIBRARY, devrt, 0, NULL, NULL));
    CHECK_DRIVER(cuLinkComplete(link, &image, &size));
    CHECK_DRIVER(cuModuleLoadData(&module, image));
    CHECK_DRIVER(cuLinkDestroy(link));
    CHECK_DRIVER(cuModuleGetFunction(&function, module, "count"));
    CHECK_DRIVER(cuMemAlloc(&out, sizeof words));
    CHECK_DRIVER(cuMemsetD8(out, 0, sizeof words));
    void *arguments[] = {&out};
    CHECK_DRIVER(cuLaunchCooperativeKernel(function, BLOCKS, 1, 1, 40, 1, 1, 0, NULL, arguments));
    CHECK_DRIVER(cuMemcpyDtoH(words, out, sizeof words));
    for (int i = 0; i <= BLOCKS; i++)
        if (words[i] != 40u * BLOCKS)
            fail("word %d is %u", i, words[i]);
    CHECK_DRIVER(cuMemFree(out));
    CHECK_DRIVER(cuModuleUnload(module));
}

int main()
{
    run_compiled();
    run_linked();
    return passed();
}
