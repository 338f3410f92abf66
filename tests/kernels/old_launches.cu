// SPDX-License-Identifier: Apache-2.0
// Launches as programs made them before CUDA 4: block shape, shared memory and parameters are said
// of the function, call by call; then the grid is given.
#include <vector>

#include "check_driver.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

// out[i] = add + scale * (the sum of all thread numbers of the block, by way of shared memory) + i
static const char *const text = R"(
.version 7.5
.target sm_75
.address_size 64
.extern .shared .align 4 .b8 room[];
.visible .entry work(.param .u64 out, .param .u32 add, .param .f32 scale)
{
    .reg .b64 %rd<4>;
    .reg .b32 %r<14>;
    .reg .f32 %f<3>;
    .reg .pred %p<3>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [add];
    ld.param.f32 %f1, [scale];
    mov.u32 %r2, %tid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %ctaid.x;
    mov.u32 %r12, %ctaid.y;
    mov.u32 %r13, %nctaid.x;
    mad.lo.u32 %r4, %r12, %r13, %r4;
    mad.lo.u32 %r4, %r4, %r3, %r2;
    mov.u32 %r5, room;
    shl.b32 %r6, %r2, 2;
    add.u32 %r7, %r5, %r6;
    st.shared.u32 [%r7], %r2;
    bar.sync 0;
    mov.u32 %r8, 0;
    mov.u32 %r9, 0;
again:
    ld.shared.u32 %r10, [%r5];
    add.u32 %r8, %r8, %r10;
    add.u32 %r5, %r5, 4;
    add.u32 %r9, %r9, 1;
    setp.lt.u32 %p1, %r9, %r3;
    @%p1 bra again;
    cvt.rn.f32.u32 %f2, %r8;
    mul.f32 %f2, %f2, %f1;
    cvt.rzi.u32.f32 %r11, %f2;
    add.u32 %r11, %r11, %r1;
    add.u32 %r11, %r11, %r4;
    mul.wide.u32 %rd2, %r4, 4;
    add.u64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r11;
    ret;
}
// The shape of block and grid, as kernels see it
.visible .entry shape(.param .u64 out)
{
    .reg .b64 %rd<2>;
    .reg .b32 %r<3>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %ntid.x;
    mov.u32 %r2, %ntid.y;
    st.global.v2.u32 [%rd1], {%r1, %r2};
    mov.u32 %r1, %ntid.z;
    mov.u32 %r2, %nctaid.x;
    st.global.v2.u32 [%rd1+8], {%r1, %r2};
    mov.u32 %r1, %nctaid.y;
    mov.u32 %r2, %nctaid.z;
    st.global.v2.u32 [%rd1+16], {%r1, %r2};
    ret;
}
)";

static const int threads = 48, sum = 47 * 48 / 2;

static void expect_values(CUdeviceptr out, int count, int add, float scale, const char *what)
{
    std::vector<unsigned> host(count);
    CHECK_DRIVER(cuMemcpyDtoH(host.data(), out, count * sizeof(int)));
    for (int i = 0; i < count; i++) {
        unsigned due = (unsigned)(sum * scale) + (unsigned)add + (unsigned)i;
        if (host[i] != due)
            fail("%s: element %d is %u instead of %u", what, i, host[i], due);
    }
}

static void shape(CUfunction work)
{
    CHECK_DRIVER(cuFuncSetBlockShape(work, threads, 1, 1));
    CHECK_DRIVER(cuFuncSetSharedSize(work, threads * sizeof(int)));
    CHECK_DRIVER(cuParamSetSize(work, 16));
}

static void check_launches(CUfunction work, CUdeviceptr out)
{
    CUstream stream;
    CHECK_DRIVER(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    shape(work);
    CHECK_DRIVER(cuParamSetv(work, 0, &out, sizeof out));
    CHECK_DRIVER(cuParamSeti(work, 8, 1000));
    CHECK_DRIVER(cuParamSetf(work, 12, 0.5f));
    CHECK_DRIVER(cuLaunch(work));
    expect_values(out, threads, 1000, 0.5f, "cuLaunch");
    // Earlier parameters stay; only one is new.
    CHECK_DRIVER(cuParamSeti(work, 8, 7));
    CHECK_DRIVER(cuLaunchGrid(work, 3, 2));
    expect_values(out, 6 * threads, 7, 0.5f, "cuLaunchGrid");
    CHECK_DRIVER(cuParamSetf(work, 12, 2));
    CHECK_DRIVER(cuLaunchGridAsync(work, 2, 2, stream));
    CHECK_DRIVER(cuParamSetf(work, 12, 9)); // the launch has its parameters already
    CHECK_DRIVER(cuStreamSynchronize(stream));
    expect_values(out, 4 * threads, 7, 2, "cuLaunchGridAsync");
    CHECK_DRIVER(cuStreamDestroy(stream));
}

static void check_shapes(CUmodule module, CUdeviceptr out)
{
    CUfunction tells;
    unsigned found[6];
    const unsigned due[6] = {5, 3, 2, 4, 7, 1}, alone[6] = {5, 3, 2, 1, 1, 1};
    CHECK_DRIVER(cuModuleGetFunction(&tells, module, "shape"));
    CHECK_DRIVER(cuFuncSetBlockShape(tells, 5, 3, 2));
    CHECK_DRIVER(cuParamSetSize(tells, sizeof out));
    CHECK_DRIVER(cuParamSetv(tells, 0, &out, sizeof out));
    CHECK_DRIVER(cuLaunchGrid(tells, 4, 7));
    CHECK_DRIVER(cuMemcpyDtoH(found, out, sizeof found));
    if (memcmp(found, due, sizeof due) != 0)
        fail("a block of %u %u %u, a grid of %u %u %u", found[0], found[1], found[2], found[3],
             found[4], found[5]);
    CHECK_DRIVER(cuLaunch(tells));
    CHECK_DRIVER(cuMemcpyDtoH(found, out, sizeof found));
    if (memcmp(found, alone, sizeof alone) != 0)
        fail("alone: a block of %u %u %u, a grid of %u %u %u", found[0], found[1], found[2],
             found[3], found[4], found[5]);
}

static void check_captured(CUfunction work, CUdeviceptr out)
{
    CUstream stream;
    CUgraph graph;
    CUgraphExec exec;
    CHECK_DRIVER(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK_DRIVER(cuMemsetD32(out, 0, threads));
    CHECK_DRIVER(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CHECK_DRIVER(cuParamSeti(work, 8, 50));
    CHECK_DRIVER(cuParamSetf(work, 12, 3));
    CHECK_DRIVER(cuLaunchGridAsync(work, 1, 1, stream));
    CHECK_DRIVER(cuStreamEndCapture(stream, &graph));
    std::vector<unsigned> host(threads);
    CHECK_DRIVER(cuMemcpyDtoH(host.data(), out, threads * sizeof(int)));
    if (host[1] != 0)
        fail("a launch that is captured has run");
    CHECK_DRIVER(cuParamSeti(work, 8, 60)); // too late for the graph
    CHECK_DRIVER(cuGraphInstantiate(&exec, graph, 0));
    CHECK_DRIVER(cuGraphLaunch(exec, stream));
    CHECK_DRIVER(cuStreamSynchronize(stream));
    expect_values(out, threads, 50, 3, "the graph");
    CHECK_DRIVER(cuGraphExecDestroy(exec));
    CHECK_DRIVER(cuGraphDestroy(graph));
    CHECK_DRIVER(cuStreamDestroy(stream));
}

static void check_wrong(CUmodule module, CUfunction work)
{
    CUmodule other;
    CUfunction fresh;
    CHECK_DRIVER(cuModuleLoadData(&other, text));
    CHECK_DRIVER(cuModuleGetFunction(&fresh, other, "work"));
    EXPECT_DRIVER(cuLaunch(fresh), CUDA_ERROR_INVALID_VALUE); // no shape
    shape(fresh);
    CHECK_DRIVER(cuParamSetSize(fresh, 12));
    EXPECT_DRIVER(cuLaunch(fresh), CUDA_ERROR_INVALID_VALUE); // too few parameters
    EXPECT_DRIVER(cuLaunchGrid(work, 0, 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_DRIVER(cuFuncSetBlockShape(work, 1, 0, 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_DRIVER(cuParamSeti(work, -4, 1), CUDA_ERROR_INVALID_VALUE);
    CHECK_DRIVER(cuModuleUnload(other));
    // A function of another module may have the handle's place, never its state.
    for (int i = 0; i < 200; i++) {
        CHECK_DRIVER(cuModuleLoadData(&other, text));
        CHECK_DRIVER(cuModuleGetFunction(&fresh, other, "work"));
        if (cuLaunch(fresh) != CUDA_ERROR_INVALID_VALUE)
            fail("a function that nothing has been said of was launched");
        CHECK_DRIVER(cuFuncSetBlockShape(fresh, threads, 1, 1));
        CHECK_DRIVER(cuModuleUnload(other));
    }
    (void)module;
}

int main()
{
    CUdevice device;
    CUmodule module;
    CUfunction work;
    CUdeviceptr out;
    CHECK_DRIVER(cuInit(0));
    CHECK_DRIVER(cuDeviceGet(&device, 0));
    CUcontext context = create_context(device);
    CHECK_DRIVER(cuModuleLoadData(&module, text));
    CHECK_DRIVER(cuModuleGetFunction(&work, module, "work"));
    CHECK_DRIVER(cuMemAlloc(&out, 6 * threads * sizeof(int)));
    check_launches(work, out);
    check_shapes(module, out);
    check_captured(work, out);
    check_wrong(module, work);
    CHECK_DRIVER(cuMemFree(out));
    CHECK_DRIVER(cuModuleUnload(module));
    CHECK_DRIVER(cuCtxDestroy(context));
    return passed();
}
