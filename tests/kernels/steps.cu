// SPDX-License-Identifier: Apache-2.0
// steps [ROUNDS [PAUSE_MS]]: each kind of call once and again, and every byte checked. A helper of
// the fault tests, which kill things meanwhile. It never hangs on purpose and never guesses: it
// ends with PASSED, or with "error CODE NAME: CALL" (exit status 3) for the first call that failed,
// or with FAILED and status 1 when a result is wrong. ROUNDS 0: until SIGTERM. PAUSE_MS: behind
// each round, for programs that only have to be there.
#include <csignal>
#include <string>
#include <unistd.h>
#include <vector>

#include "check_driver.h"

#define STEP(call) step((call), #call)

static const char image[] = R"(
.version 8.0
.target sm_70
.address_size 64
.visible .entry advance(.param .u64 data, .param .u32 count)
{
    .reg .pred %p<2>;
    .reg .b32 %r<8>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [data];
    ld.param.u32 %r1, [count];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 bra DONE;
    cvta.to.global.u64 %rd2, %rd1;
    mul.wide.u32 %rd3, %r5, 4;
    add.s64 %rd4, %rd2, %rd3;
    ld.global.u32 %r6, [%rd4];
    mad.lo.u32 %r7, %r6, 3, %r5;
    st.global.u32 [%rd4], %r7;
DONE:
    ret;
}
)";

static const uint32_t advanced = 4096, count = 300000; // elements: the kernel's, and the copies'
static const size_t bytes = count * sizeof(uint32_t);  // five pieces of a copy
static volatile sig_atomic_t ending;

struct Steps {
    CUcontext context;
    CUmodule module;
    CUfunction advance;
    CUdeviceptr a, b;
    CUstream stream, other;
    CUevent event;
    uint32_t *pinned;
};

// The next call after an error must get an answer as well, the same one if the error is sticky.
static void step(CUresult result, const char *call)
{
    if (result == CUDA_SUCCESS)
        return;
    printf("error %d %s: %s\n", (int)result, driver_error_name(result), call);
    fflush(stdout);
    CUdeviceptr data = 0;
    CUresult later[] = {cuCtxSynchronize(), cuMemAlloc(&data, 4096), cuMemFree(data)};
    printf("then %d %d %d\n", (int)later[0], (int)later[1], (int)later[2]);
    bool none = strstr(call, "cuCtxCreate") || strstr(call, "cuCtxDestroy");
    CUresult due = none ? CUDA_ERROR_INVALID_CONTEXT : result; // none is current
    if (result == CUDA_ERROR_LAUNCH_FAILED && (later[0] != due || later[1] != due))
        fail("719 is not sticky");
    exit(3);
}

static void begin(Steps &s)
{
    CUdevice device;
    STEP(cuInit(0));
    STEP(cuDeviceGet(&device, 0));
#if CUDA_VERSION >= 13000
    STEP(cuCtxCreate(&s.context, nullptr, 0, device));
#else
    STEP(cuCtxCreate(&s.context, 0, device));
#endif
    // Large enough to have a name; the second time its bytes need not be sent.
    std::string large = std::string(image) + "//" + std::string(100000, 'x') + "\n";
    STEP(cuModuleLoadData(&s.module, large.c_str()));
    STEP(cuModuleUnload(s.module));
    STEP(cuModuleLoadData(&s.module, large.c_str()));
    STEP(cuModuleGetFunction(&s.advance, s.module, "advance"));
    STEP(cuMemAlloc(&s.a, bytes));
    STEP(cuMemAlloc(&s.b, bytes));
    STEP(cuStreamCreate(&s.stream, CU_STREAM_NON_BLOCKING));
    STEP(cuStreamCreate(&s.other, CU_STREAM_NON_BLOCKING));
    STEP(cuEventCreate(&s.event, CU_EVENT_DEFAULT));
    STEP(cuMemHostAlloc((void **)&s.pinned, bytes, 0));
}

static void expect_round(const uint32_t *got, const std::vector<uint32_t> &given, const char *what)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t due = i < advanced ? (given[i] * 3 + i) * 3 + i : given[i];
        if (got[i] != due)
            fail("%s: element %u is %u where %u is due", what, i, got[i], due);
    }
}

static void round_of(Steps &s, Random &random)
{
    std::vector<uint32_t> given(count), got(count);
    for (uint32_t &value : given)
        value = random.next();
    uint32_t length = advanced;
    void *parameters[] = {&s.a, &length};
    STEP(cuMemcpyHtoDAsync(s.a, given.data(), bytes, s.stream));
    STEP(cuLaunchKernel(s.advance, advanced / 128, 1, 1, 128, 1, 1, 0, s.stream, parameters,
                        nullptr));
    STEP(cuEventRecord(s.event, s.stream));
    STEP(cuStreamWaitEvent(s.other, s.event, 0));
    STEP(cuLaunchKernel(s.advance, advanced / 128, 1, 1, 128, 1, 1, 0, s.other, parameters,
                        nullptr));
    STEP(cuMemcpyDtoDAsync(s.b, s.a, bytes, s.other));
    STEP(cuMemcpyDtoHAsync(s.pinned, s.b, bytes, s.other));
    STEP(cuEventRecord(s.event, s.other));
    STEP(cuEventSynchronize(s.event));
    expect_round(s.pinned, given, "the pinned copy");
    CUdeviceptr extra;
    STEP(cuMemAlloc(&extra, 8 << 20));
    STEP(cuMemsetD32Async(extra, 7, 1000, s.stream));
    STEP(cuStreamSynchronize(s.stream));
    STEP(cuMemFree(extra));
    STEP(cuMemcpyDtoH(got.data(), s.a, bytes));
    expect_round(got.data(), given, "the copy");
}

static void end(Steps &s)
{
    STEP(cuCtxSynchronize());
    STEP(cuMemFreeHost(s.pinned));
    STEP(cuEventDestroy(s.event));
    STEP(cuStreamDestroy(s.other));
    STEP(cuStreamDestroy(s.stream));
    STEP(cuMemFree(s.b));
    STEP(cuMemFree(s.a));
    STEP(cuModuleUnload(s.module));
    STEP(cuCtxDestroy(s.context));
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1;
    int pause_ms = argc > 2 ? atoi(argv[2]) : 0;
    struct sigaction action = {};
    action.sa_handler = [](int) { ending = 1; };
    sigaction(SIGTERM, &action, nullptr);
    Steps s = {};
    Random random(1);
    begin(s);
    for (int i = 0; rounds == 0 ? !ending : i < rounds; i++) {
        round_of(s, random);
        if (i == 0) {
            printf("started\n");
            fflush(stdout);
        }
        if (pause_ms != 0 && !ending)
            usleep(pause_ms * 1000);
    }
    end(s);
    return passed();
}
