// SPDX-License-Identifier: Apache-2.0
// Texture and surface references: variables of a module that are bound by their name. nvcc makes
// them no more, PTX that older ones have made is loaded as ever.
#include <vector>

#include "check_driver.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static const char *const text = R"(
.version 7.5
.target sm_75
.address_size 64
.global .texref plane;
.visible .global .texref line;
.global .surfref sheet;

// out[i] = plane(x + i * step, y), or line(x + i) if `from_line`
.visible .entry fetch(.param .u64 out, .param .f32 x, .param .f32 y, .param .f32 step)
{
    .reg .b64 %rd<5>;
    .reg .b32 %r<3>;
    .reg .f32 %f<12>;
    ld.param.u64 %rd1, [out];
    ld.param.f32 %f1, [x];
    ld.param.f32 %f2, [y];
    ld.param.f32 %f3, [step];
    mov.u32 %r1, %tid.x;
    cvt.rn.f32.u32 %f4, %r1;
    fma.rn.f32 %f5, %f4, %f3, %f1;
    tex.2d.v4.f32.f32 {%f6, %f7, %f8, %f9}, [plane, {%f5, %f2}];
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd3, %rd1, %rd2;
    st.global.f32 [%rd3], %f6;
    ret;
}

.visible .entry fetch_line(.param .u64 out, .param .u32 first)
{
    .reg .b64 %rd<5>;
    .reg .b32 %r<8>;
    .reg .pred %p<2>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [first];
    mov.u32 %r2, %tid.x;
    add.u32 %r3, %r1, %r2;
    mov.u32 %r4, 0;
    setp.lt.u32 %p1, %r2, 20;
    @%p1 tex.1d.v4.s32.s32 {%r4, %r5, %r6, %r7}, [line, {%r3}];
    mov.u64 %rd4, line;
    @!%p1 tex.1d.v4.s32.s32 {%r4, %r5, %r6, %r7}, [%rd4, {%r3}];
    mul.wide.u32 %rd2, %r2, 4;
    add.u64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r4;
    ret;
}

.visible .entry size(.param .u64 out)
{
    .reg .b64 %rd<2>;
    .reg .b32 %r<2>;
    ld.param.u64 %rd1, [out];
    txq.width.b32 %r1, [plane];
    st.global.u32 [%rd1], %r1;
    ret;
}

.visible .entry draw(.param .u32 value)
{
    .reg .b32 %r<5>;
    ld.param.u32 %r1, [value];
    mov.u32 %r2, %tid.x;
    mov.u32 %r3, %tid.y;
    mad.lo.u32 %r1, %r3, 100, %r1;
    add.u32 %r1, %r1, %r2;
    shl.b32 %r4, %r2, 2;
    sust.b.2d.b32.trap [sheet, {%r4, %r3}], %r1;
    ret;
}
)";

static const int width = 16, height = 4, threads = 32;
static CUmodule module;
static CUdeviceptr out;

static CUfunction kernel(const char *name)
{
    CUfunction function;
    CHECK_DRIVER(cuModuleGetFunction(&function, module, name));
    return function;
}

static CUarray make_array(float first, unsigned flags)
{
    CUarray array;
    CUDA_ARRAY3D_DESCRIPTOR shape = {};
    shape.Width = width;
    shape.Height = height;
    shape.Format = flags ? CU_AD_FORMAT_SIGNED_INT32 : CU_AD_FORMAT_FLOAT;
    shape.NumChannels = 1;
    shape.Flags = flags;
    CHECK_DRIVER(cuArray3DCreate(&array, &shape));
    if (flags)
        return array;
    std::vector<float> host(width * height);
    for (int i = 0; i < width * height; i++)
        host[i] = first + (i % width) + 100.0f * (i / width);
    CUDA_MEMCPY2D copy = {};
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = host.data();
    copy.srcPitch = width * sizeof(float);
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = array;
    copy.WidthInBytes = width * sizeof(float);
    copy.Height = height;
    CHECK_DRIVER(cuMemcpy2D(&copy));
    return array;
}

static std::vector<float> fetch(float x, float y, float step, CUstream stream = nullptr)
{
    std::vector<float> host(threads);
    void *parameters[] = {&out, &x, &y, &step};
    CHECK_DRIVER(cuLaunchKernel(kernel("fetch"), 1, 1, 1, threads, 1, 1, 0, stream, parameters,
                                nullptr));
    CHECK_DRIVER(cuStreamSynchronize(stream));
    CHECK_DRIVER(cuMemcpyDtoH(host.data(), out, threads * sizeof(float)));
    return host;
}

static void expect(float got, float due, const char *what)
{
    if (got != due)
        fail("%s: %g instead of %g", what, got, due);
}

static void check_plane()
{
    CUtexref plane, again;
    CUarray first = make_array(0, 0), second = make_array(1000, 0), bound;
    CUstream stream;
    CHECK_DRIVER(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK_DRIVER(cuModuleGetTexRef(&plane, module, "plane"));
    CHECK_DRIVER(cuModuleGetTexRef(&again, module, "plane"));
    if (plane != again)
        fail("two handles of one reference");
    CHECK_DRIVER(cuTexRefSetAddressMode(plane, 0, CU_TR_ADDRESS_MODE_CLAMP));
    CHECK_DRIVER(cuTexRefSetAddressMode(plane, 1, CU_TR_ADDRESS_MODE_CLAMP));
    CHECK_DRIVER(cuTexRefSetArray(plane, first, CU_TRSA_OVERRIDE_FORMAT));
    CHECK_DRIVER(cuTexRefGetArray(&bound, plane));
    if (bound != first)
        fail("another array than was bound");
    auto values = fetch(0.5f, 2.5f, 1);
    expect(values[3], 203, "a point");
    expect(values[31], 215, "clamped");
    CHECK_DRIVER(cuTexRefSetFilterMode(plane, CU_TR_FILTER_MODE_LINEAR));
    expect(fetch(1, 0.5f, 1)[2], 2.5f, "filtered");
    CHECK_DRIVER(cuTexRefSetFlags(plane, CU_TRSF_NORMALIZED_COORDINATES));
    CHECK_DRIVER(cuTexRefSetFilterMode(plane, CU_TR_FILTER_MODE_POINT));
    CHECK_DRIVER(cuTexRefSetAddressMode(plane, 0, CU_TR_ADDRESS_MODE_WRAP));
    values = fetch(0.5f / width, 0.1f, 1.0f / width, stream);
    expect(values[17], 1, "wrapped");
    CHECK_DRIVER(cuTexRefSetArray(plane, second, CU_TRSA_OVERRIDE_FORMAT));
    expect(fetch(0.5f / width, 0.1f, 1.0f / width, stream)[5], 1005, "the second array");
    unsigned flags;
    CUaddress_mode mode;
    CUfilter_mode filter;
    CUarray_format format;
    int channels;
    CHECK_DRIVER(cuTexRefGetFlags(&flags, plane));
    CHECK_DRIVER(cuTexRefGetAddressMode(&mode, plane, 1));
    CHECK_DRIVER(cuTexRefGetFilterMode(&filter, plane));
    CHECK_DRIVER(cuTexRefGetFormat(&format, &channels, plane));
    if (flags != CU_TRSF_NORMALIZED_COORDINATES || mode != CU_TR_ADDRESS_MODE_CLAMP ||
        filter != CU_TR_FILTER_MODE_POINT || format != CU_AD_FORMAT_FLOAT || channels != 1)
        fail("the reference is told otherwise than it was set");
    int host_width = 0;
    void *parameters[] = {&out};
    CHECK_DRIVER(cuLaunchKernel(kernel("size"), 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr));
    CHECK_DRIVER(cuMemcpyDtoH(&host_width, out, sizeof host_width));
    if (host_width != width)
        fail("%d texels wide", host_width);
    // Rows in memory
    CUdeviceptr rows;
    size_t pitch;
    CUDA_ARRAY_DESCRIPTOR shape = {width, height, CU_AD_FORMAT_FLOAT, 1};
    CHECK_DRIVER(cuMemAllocPitch(&rows, &pitch, width * sizeof(float), height, 4));
    CHECK_DRIVER(cuMemsetD2D32(rows, pitch, 0x40400000, width, height)); // 3.0f
    CHECK_DRIVER(cuTexRefSetFlags(plane, 0));
    CHECK_DRIVER(cuTexRefSetAddress2D(plane, &shape, rows, pitch));
    expect(fetch(0.5f, 1.5f, 1)[4], 3, "rows in memory");
    EXPECT_DRIVER(cuTexRefGetArray(&bound, plane), CUDA_ERROR_INVALID_VALUE);
    EXPECT_DRIVER(cuTexRefSetArray(plane, nullptr, CU_TRSA_OVERRIDE_FORMAT),
                  CUDA_ERROR_INVALID_VALUE);
    EXPECT_DRIVER(cuTexRefDestroy(plane), CUDA_ERROR_INVALID_VALUE);
    CHECK_DRIVER(cuMemFree(rows));
    CHECK_DRIVER(cuArrayDestroy(first));
    CHECK_DRIVER(cuArrayDestroy(second));
    CHECK_DRIVER(cuStreamDestroy(stream));
}

static void check_line()
{
    CUtexref line;
    CUdeviceptr data, bound;
    size_t offset = 99;
    std::vector<int> host(256), got(threads);
    for (int i = 0; i < 256; i++)
        host[i] = i * i - 1000;
    CHECK_DRIVER(cuMemAlloc(&data, 256 * sizeof(int)));
    CHECK_DRIVER(cuMemcpyHtoD(data, host.data(), 256 * sizeof(int)));
    CHECK_DRIVER(cuModuleGetTexRef(&line, module, "line"));
    EXPECT_DRIVER(cuTexRefSetAddress(&offset, line, data, 256 * sizeof(int)),
                  CUDA_ERROR_INVALID_VALUE); // its format has not been said
    CHECK_DRIVER(cuTexRefSetFormat(line, CU_AD_FORMAT_SIGNED_INT32, 1));
    CHECK_DRIVER(cuTexRefSetFlags(line, CU_TRSF_READ_AS_INTEGER));
    CHECK_DRIVER(cuTexRefSetAddress(&offset, line, data, 256 * sizeof(int)));
    CHECK_DRIVER(cuTexRefGetAddress(&bound, line));
    if (offset != 0 || bound != data)
        fail("bound at another address");
    int first = 100;
    CUfunction fetch_line = kernel("fetch_line");
    CHECK_DRIVER(cuParamSetTexRef(fetch_line, CU_PARAM_TR_DEFAULT, line));
    void *parameters[] = {&out, &first};
    CHECK_DRIVER(cuLaunchKernel(fetch_line, 1, 1, 1, threads, 1, 1, 0, nullptr, parameters,
                                nullptr));
    CHECK_DRIVER(cuMemcpyDtoH(got.data(), out, threads * sizeof(int)));
    for (int i = 0; i < threads; i++) {
        if (got[i] != host[first + i])
            fail("line: element %d is %d", i, got[i]);
    }
    // An address between those that textures can begin at
    CHECK_DRIVER(cuTexRefSetAddress(&offset, line, data + 64, 128));
    if (offset != 64)
        fail("the offset of 64 is %zu", offset);
    CHECK_DRIVER(cuMemFree(data));
}

static void check_surface()
{
    CUsurfref sheet;
    CUarray array = make_array(0, CUDA_ARRAY3D_SURFACE_LDST), bound;
    int value = 7, host[width * height];
    CHECK_DRIVER(cuModuleGetSurfRef(&sheet, module, "sheet"));
    CHECK_DRIVER(cuSurfRefSetArray(sheet, array, 0));
    CHECK_DRIVER(cuSurfRefGetArray(&bound, sheet));
    if (bound != array)
        fail("another array than was bound");
    void *parameters[] = {&value};
    CHECK_DRIVER(cuLaunchKernel(kernel("draw"), 1, 1, 1, width, height, 1, 0, nullptr, parameters,
                                nullptr));
    CUDA_MEMCPY2D copy = {};
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.srcArray = array;
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = host;
    copy.dstPitch = width * sizeof(int);
    copy.WidthInBytes = width * sizeof(int);
    copy.Height = height;
    CHECK_DRIVER(cuMemcpy2D(&copy));
    for (int i = 0; i < width * height; i++) {
        if (host[i] != 7 + i % width + 100 * (i / width))
            fail("sheet: element %d is %d", i, host[i]);
    }
    CHECK_DRIVER(cuArrayDestroy(array));
}

int main()
{
    CUdevice device;
    CUtexref none, own;
    CUdeviceptr address;
    size_t bytes;
    CHECK_DRIVER(cuInit(0));
    CHECK_DRIVER(cuDeviceGet(&device, 0));
    CUcontext context = create_context(device);
    CHECK_DRIVER(cuModuleLoadData(&module, text));
    CHECK_DRIVER(cuMemAlloc(&out, threads * sizeof(int)));
    EXPECT_DRIVER(cuModuleGetTexRef(&none, module, "no_such"), CUDA_ERROR_NOT_FOUND);
    EXPECT_DRIVER(cuModuleGetTexRef(&none, module, "sheet"), CUDA_ERROR_NOT_FOUND);
    EXPECT_DRIVER(cuModuleGetGlobal(&address, &bytes, module, "plane"), CUDA_ERROR_NOT_FOUND);
    check_plane();
    check_line();
    check_surface();
    CHECK_DRIVER(cuTexRefCreate(&own));
    CHECK_DRIVER(cuTexRefSetFormat(own, CU_AD_FORMAT_FLOAT, 2));
    CHECK_DRIVER(cuTexRefDestroy(own));
    EXPECT_DRIVER(cuTexRefSetFlags(own, 0), CUDA_ERROR_INVALID_VALUE);
    // Those of a module go with it.
    CHECK_DRIVER(cuModuleGetTexRef(&none, module, "plane"));
    CHECK_DRIVER(cuModuleUnload(module));
    EXPECT_DRIVER(cuTexRefSetFlags(none, 0), CUDA_ERROR_INVALID_VALUE);
    for (int i = 0; i < 200; i++) {
        CHECK_DRIVER(cuModuleLoadData(&module, text));
        CHECK_DRIVER(cuModuleGetTexRef(&none, module, "line"));
        CHECK_DRIVER(cuModuleUnload(module));
    }
    CHECK_DRIVER(cuMemFree(out));
    CHECK_DRIVER(cuCtxDestroy(context));
    return passed();
}
