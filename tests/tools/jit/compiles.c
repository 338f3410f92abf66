/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles device code for sm_75 at run time and runs it: one unit alone; two units linked by
 * nvJitLink, as PTX and as LTO-IR; code with a mistake, whose log must say so. Its last line is
 * PASSED. */
#include <cuda.h>
#include <nvJitLink.h>
#include <nvrtc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call, good)                                                                          \
    do {                                                                                           \
        int code_ = (int)(call);                                                                   \
        if (code_ != (int)(good)) {                                                                \
            printf("%s: %d, not %d\n", #call, code_, (int)(good));                                 \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

#define N 64

static const char whole[] = "template <typename T> __global__ void fill(T *out, T value)\n"
                            "{ out[threadIdx.x] = value * (T)threadIdx.x; }\n";
static const char caller[] = "extern __device__ int square(int x);\n"
                             "extern \"C\" __global__ void squares(int *out)\n"
                             "{ out[threadIdx.x] = square(threadIdx.x); }\n";
static const char callee[] = "__device__ int square(int x) { return x * x; }\n";

struct code {
    void *bytes;
    size_t size;
};

enum kind { CUBIN, PTX, LTO };

static struct code compile(const char *source, const char *name, enum kind kind,
                           const char *const *options, int count, char *lowered)
{
    nvrtcProgram program;
    struct code made;
    CHECK(nvrtcCreateProgram(&program, source, "unit.cu", 0, NULL, NULL), NVRTC_SUCCESS);
    if (name != NULL) {
        CHECK(nvrtcAddNameExpression(program, name), NVRTC_SUCCESS);
    }
    CHECK(nvrtcCompileProgram(program, count, options), NVRTC_SUCCESS);
    if (name != NULL) {
        const char *text;
        CHECK(nvrtcGetLoweredName(program, name, &text), NVRTC_SUCCESS);
        strcpy(lowered, text);
    }
    CHECK(kind == CUBIN ? nvrtcGetCUBINSize(program, &made.size)
          : kind == PTX ? nvrtcGetPTXSize(program, &made.size)
                        : nvrtcGetLTOIRSize(program, &made.size),
          NVRTC_SUCCESS);
    made.bytes = malloc(made.size);
    CHECK(kind == CUBIN ? nvrtcGetCUBIN(program, made.bytes)
          : kind == PTX ? nvrtcGetPTX(program, made.bytes)
                        : nvrtcGetLTOIR(program, made.bytes),
          NVRTC_SUCCESS);
    CHECK(nvrtcDestroyProgram(&program), NVRTC_SUCCESS);
    return made;
}

static void run(const void *image, const char *kernel, void **parameters, CUdeviceptr out)
{
    CUmodule module;
    CUfunction function;
    CHECK(cuModuleLoadData(&module, image), CUDA_SUCCESS);
    CHECK(cuModuleGetFunction(&function, module, kernel), CUDA_SUCCESS);
    CHECK(cuMemsetD32(out, 0xffffffff, N), CUDA_SUCCESS);
    CHECK(cuLaunchKernel(function, 1, 1, 1, N, 1, 1, 0, NULL, parameters, NULL), CUDA_SUCCESS);
    CHECK(cuCtxSynchronize(), CUDA_SUCCESS);
    CHECK(cuModuleUnload(module), CUDA_SUCCESS);
}

static void alone(CUdeviceptr out)
{
    static const char *const together[] = {"--gpu-architecture=sm_75", "-std=c++17"};
    static const char *const apart[] = {"-arch", "sm_75"};
    float got[N], value = 2.5f;
    char name[256];
    void *parameters[] = {&out, &value};
    for (int form = 0; form < 2; form++) {
        struct code code = compile(whole, "fill<float>", CUBIN, form ? apart : together, 2, name);
        run(code.bytes, name, parameters, out);
        CHECK(cuMemcpyDtoH(got, out, sizeof got), CUDA_SUCCESS);
        for (int i = 0; i < N; i++) {
            CHECK(got[i] == value * (float)i, 1);
        }
        free(code.bytes);
    }
}

static void linked(CUdeviceptr out, int lto)
{
    static const char *const compiling[] = {"-arch=sm_75", "-rdc=true", "-dlto"};
    const char *linking[] = {"-arch=sm_75", "-lto"};
    nvJitLinkInputType type = lto ? NVJITLINK_INPUT_LTOIR : NVJITLINK_INPUT_PTX;
    struct code one = compile(caller, NULL, lto ? LTO : PTX, compiling, 2 + lto, NULL);
    struct code two = compile(callee, NULL, lto ? LTO : PTX, compiling, 2 + lto, NULL);
    nvJitLinkHandle link;
    size_t size;
    int got[N];
    void *parameters[] = {&out};
    CHECK(nvJitLinkCreate(&link, 1 + (uint32_t)lto, linking), NVJITLINK_SUCCESS);
    CHECK(nvJitLinkAddData(link, type, one.bytes, one.size, "caller"), NVJITLINK_SUCCESS);
    CHECK(nvJitLinkAddData(link, type, two.bytes, two.size, "callee"), NVJITLINK_SUCCESS);
    CHECK(nvJitLinkComplete(link), NVJITLINK_SUCCESS);
    CHECK(nvJitLinkGetLinkedCubinSize(link, &size), NVJITLINK_SUCCESS);
    void *image = malloc(size);
    CHECK(nvJitLinkGetLinkedCubin(link, image), NVJITLINK_SUCCESS);
    CHECK(nvJitLinkDestroy(&link), NVJITLINK_SUCCESS);
    run(image, "squares", parameters, out);
    CHECK(cuMemcpyDtoH(got, out, sizeof got), CUDA_SUCCESS);
    for (int i = 0; i < N; i++) {
        CHECK(got[i], i * i);
    }
    free(image);
    free(one.bytes);
    free(two.bytes);
}

static void mistakes(void)
{
    static const char *const options[] = {"-arch=sm_75"};
    static const char *const missing[] = {"-lto"};
    const char *arch[] = {"-arch=sm_75"};
    char log[4096];
    size_t size;
    nvrtcProgram program;
    CHECK(nvrtcCreateProgram(&program, "__global__ void k() { wrong }", "bad.cu", 0, NULL, NULL),
          NVRTC_SUCCESS);
    CHECK(nvrtcCompileProgram(program, 1, options), NVRTC_ERROR_COMPILATION);
    CHECK(nvrtcGetProgramLogSize(program, &size), NVRTC_SUCCESS);
    CHECK(size < sizeof log, 1);
    CHECK(nvrtcGetProgramLog(program, log), NVRTC_SUCCESS);
    CHECK(strstr(log, "wrong") != NULL, 1);
    CHECK(nvrtcDestroyProgram(&program), NVRTC_SUCCESS);

    nvJitLinkHandle link;
    CHECK(nvJitLinkCreate(&link, 1, (const char **)missing), NVJITLINK_ERROR_MISSING_ARCH);
    static const char *const relocatable[] = {"-arch=sm_75", "-rdc=true"};
    struct code other = compile(caller, NULL, PTX, relocatable, 2, NULL);
    CHECK(nvJitLinkCreate(&link, 1, arch), NVJITLINK_SUCCESS);
    CHECK(nvJitLinkAddData(link, NVJITLINK_INPUT_PTX, other.bytes, other.size, "a"),
          NVJITLINK_SUCCESS);
    CHECK(nvJitLinkAddData(link, NVJITLINK_INPUT_PTX, other.bytes, other.size, "b"),
          NVJITLINK_SUCCESS);
    CHECK(nvJitLinkComplete(link) != NVJITLINK_SUCCESS, 1);
    CHECK(nvJitLinkGetErrorLogSize(link, &size), NVJITLINK_SUCCESS);
    CHECK(size > 1 && size < sizeof log, 1);
    CHECK(nvJitLinkGetErrorLog(link, log), NVJITLINK_SUCCESS);
    CHECK(strstr(log, "squares") != NULL, 1);
    CHECK(nvJitLinkDestroy(&link), NVJITLINK_SUCCESS);
    free(other.bytes);
}

int main(void)
{
    CUdevice device;
    CUcontext context;
    CUdeviceptr out;
    CHECK(cuInit(0), CUDA_SUCCESS);
    CHECK(cuDeviceGet(&device, 0), CUDA_SUCCESS);
    CHECK(cuDevicePrimaryCtxRetain(&context, device), CUDA_SUCCESS);
    CHECK(cuCtxSetCurrent(context), CUDA_SUCCESS);
    CHECK(cuMemAlloc(&out, N * sizeof(int)), CUDA_SUCCESS);
    alone(out);
    linked(out, 0);
    linked(out, 1);
    mistakes();
    CHECK(cuMemFree(out), CUDA_SUCCESS);
    CHECK(cuDevicePrimaryCtxRelease(device), CUDA_SUCCESS);
    puts("PASSED");
    return 0;
}
