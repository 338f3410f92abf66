/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/load/client.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/clock.h"
#include "perf/cuda.h"

#define LATES_MAX 100000u

/* gpuaas_timed of docs/softgpu-timing.md, as PTX, which software GPUs and GPUs both run. */
static const char timed[] =
    ".version 6.3\n.target sm_70\n.address_size 64\n"
    ".visible .entry gpuaas_timed(.param .u64 ns, .param .f32 places, .param .f32 issue,\n"
    "                             .param .f32 bandwidth)\n"
    "{\n"
    ".reg .u64 %begin, %now, %ns;\n.reg .pred %p;\n"
    "ld.param.u64 %ns, [ns];\n"
    "mov.u64 %begin, %globaltimer;\n"
    "AGAIN:\n"
    "mov.u64 %now, %globaltimer;\n"
    "sub.u64 %now, %now, %begin;\n"
    "setp.lt.u64 %p, %now, %ns;\n"
    "@%p bra AGAIN;\n"
    "ret;\n"
    "}\n";

struct client {
    struct cuda cuda;
    CUfunction kernel;
    CUdeviceptr device;
    void *host[2]; /* pageable, pinned */
    uint64_t bytes;
    uint64_t *lates;
    uint32_t late_count;
};

#define LOAD_TRY(call)                                                                             \
    do {                                                                                           \
        CUresult rc_ = (call);                                                                     \
        if (rc_ != CUDA_SUCCESS) {                                                                 \
            fprintf(stderr, "gpuaas-load: %s: error %d\n", #call, (int)rc_);                       \
            return false;                                                                          \
        }                                                                                          \
    } while (0)

static bool client_open(struct client *client)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == NULL) {
        fprintf(stderr, "gpuaas-load: %s\n", dlerror());
        return false;
    }
#define X(name)                                                                                    \
    *(void **)&client->cuda.name = dlsym(library, #name);                                          \
    if (client->cuda.name == NULL) {                                                               \
        fprintf(stderr, "gpuaas-load: libcuda.so.1 has no %s\n", #name);                           \
        return false;                                                                              \
    }
    CUDA_FUNCTIONS(X)
#undef X
    return true;
}

/* A copy that has bytes keeps one, so that it stays a copy. */
static uint64_t bytes_of(const struct sim_phase *phase, double scale)
{
    uint64_t bytes = (uint64_t)((double)phase->bytes * scale);
    return bytes != 0 || phase->bytes == 0 ? bytes : 1;
}

/* Bytes of the largest copy; never 0. */
static uint64_t largest(const struct sim_trace *trace, const struct sim_trace_request *request,
                        double scale)
{
    uint64_t most = 1;
    for (uint32_t i = 0; i < request->phase_count; i++) {
        uint64_t bytes = bytes_of(&trace->phases[request->phase_first + i], scale);
        most = bytes > most ? bytes : most;
    }
    return most;
}

static bool client_begin(struct client *client, int ordinal)
{
    const struct cuda *cuda = &client->cuda;
    CUdevice device;
    CUcontext context;
    CUmodule module;
    LOAD_TRY(cuda->cuInit(0));
    LOAD_TRY(cuda->cuDeviceGet(&device, ordinal));
    LOAD_TRY(cuda->cuDevicePrimaryCtxRetain(&context, device));
    LOAD_TRY(cuda->cuCtxSetCurrent(context));
    LOAD_TRY(cuda->cuModuleLoadData(&module, timed));
    LOAD_TRY(cuda->cuModuleGetFunction(&client->kernel, module, "gpuaas_timed"));
    LOAD_TRY(cuda->cuMemAlloc_v2(&client->device, client->bytes));
    LOAD_TRY(cuda->cuMemHostAlloc(&client->host[1], client->bytes, 0));
    client->host[0] = malloc(client->bytes);
    client->lates = malloc(LATES_MAX * sizeof *client->lates);
    if (client->host[0] == NULL || client->lates == NULL) {
        fprintf(stderr, "gpuaas-load: no memory\n");
        return false;
    }
    memset(client->host[0], 1, client->bytes);
    memset(client->host[1], 1, client->bytes);
    return true;
}

static void cpu_phase(struct client *client, uint64_t ns)
{
    uint64_t due = ga_clock_ns() + ns;
    const struct timespec until = ga_clock_time(due);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0) {
    }
    uint64_t now = ga_clock_ns();
    if (client->late_count < LATES_MAX) {
        client->lates[client->late_count++] = now > due ? now - due : 0;
    }
}

static bool kernel_launch(struct client *client, const struct model_demand *demand, double scale)
{
    const struct cuda *cuda = &client->cuda;
    uint64_t ns = (uint64_t)((double)demand->ns * scale);
    float places = (float)demand->share[MODEL_RESOURCE_SLOTS];
    float issue = (float)demand->share[MODEL_RESOURCE_ISSUE];
    float bandwidth = (float)demand->share[MODEL_RESOURCE_BANDWIDTH];
    void *parameters[] = {&ns, &places, &issue, &bandwidth};
    LOAD_TRY(cuda->cuLaunchKernel(client->kernel, 1, 1, 1, 32, 1, 1, 0, NULL, parameters, NULL));
    return true;
}

static bool phase_do(struct client *client, const struct sim_phase *phase,
                     const struct model_demand *kernel, const struct load_scale *scale,
                     struct load_result *result)
{
    const struct cuda *cuda = &client->cuda;
    uint64_t ns = (uint64_t)((double)phase->ns * scale->time);
    uint64_t bytes = bytes_of(phase, scale->time * scale->bytes);
    void *host = client->host[phase->pinned];
    switch (phase->kind) {
    case GPU_PHASE_DFL:
        result->cpu_ns += ns;
        cpu_phase(client, ns);
        return true;
    case GPU_PHASE_H2D:
        LOAD_TRY(cuda->cuMemcpyHtoDAsync_v2(client->device, host, bytes, NULL));
        break;
    case GPU_PHASE_D2H:
        LOAD_TRY(cuda->cuMemcpyDtoHAsync_v2(host, client->device, bytes, NULL));
        break;
    case GPU_PHASE_KL:
        if (!kernel_launch(client, kernel, scale->time)) {
            return false;
        }
        break;
    }
    LOAD_TRY(cuda->cuStreamSynchronize(NULL));
    return true;
}

static int late_order(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static bool round_do(struct client *client, const struct sim_app *app,
                     const struct sim_trace_request *request, const struct load_gpu *gpu,
                     const struct load_scale *scale, struct load_result *result)
{
    for (uint32_t i = 0; i < request->phase_count; i++) {
        const struct sim_phase *phase = &app->trace.phases[request->phase_first + i];
        struct model_demand kernel = {.ns = 0};
        if (phase->kind == GPU_PHASE_KL) {
            kernel = sim_app_demand(app, phase, &gpu->model, false);
        }
        if (!phase_do(client, phase, &kernel, scale, result)) {
            return false;
        }
        result->phases++;
    }
    return true;
}

bool load_request(const struct sim_app *app, const struct sim_trace_request *request,
                  const struct load_gpu *gpu, const struct load_scale *scale,
                  struct load_result *result)
{
    static struct client client;
    *result = (struct load_result){.begin_ns = ga_clock_ns()};
    (void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); /* ns; CPU phases end when they are due */
    client.bytes = largest(&app->trace, request, scale->time * scale->bytes);
    if (!client_open(&client) || !client_begin(&client, gpu->ordinal)) {
        return false;
    }
    result->ready_ns = ga_clock_ns();
    for (uint32_t round = 0; round < request->rounds; round++) {
        if (!round_do(&client, app, request, gpu, scale, result)) {
            return false;
        }
    }
    result->end_ns = ga_clock_ns();
    if (client.late_count != 0) {
        qsort(client.lates, client.late_count, sizeof *client.lates, late_order);
        result->late_p99_ns = client.lates[(client.late_count - 1) * 99 / 100];
        result->late_max_ns = client.lates[client.late_count - 1];
    }
    return true;
}
