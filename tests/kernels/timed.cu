// SPDX-License-Identifier: Apache-2.0
// Timed kernels. Without an argument: a GPU that executes them is busy for their time, at least.
// The other ways are for a GPU that does not.
// `timed model` says what pairs of them and a graph took, by events. The work is submitted behind a
// function of the host that waits until all of it has been: then it does not matter how slowly that
// went. `timed minute` fills the GPU for a minute. `timed refused`: parameters that are wrong.
#include <atomic>
#include <unistd.h>

#include "check.h"
#include "timed.h"

static const unsigned long long ms = 1000000;

struct Timed {
    unsigned long long ns;
    float places, issue, bandwidth;
};

static cudaStream_t stream[2];
static cudaEvent_t gate, begin, end[2];
static std::atomic<bool> opened;

static void launch(int i, Timed timed)
{
    gpuaas_timed<<<1, 32, 0, stream[i]>>>(timed.ns, timed.places, timed.issue, timed.bandwidth);
    CHECK(cudaGetLastError());
}

static void wait_until_opened(void *)
{
    while (!opened)
        usleep(100);
}

static void close_gate()
{
    opened = false;
    CHECK(cudaLaunchHostFunc(stream[0], wait_until_opened, nullptr));
    CHECK(cudaEventRecord(gate, stream[0]));
    CHECK(cudaStreamWaitEvent(stream[1], gate, 0));
    CHECK(cudaEventRecord(begin, stream[0]));
}

// Milliseconds from the gate on until all of it is done.
static float open_gate()
{
    for (int i = 0; i < 2; i++)
        CHECK(cudaEventRecord(end[i], stream[i]));
    size_t left, total;
    CHECK(cudaMemGetInfo(&left, &total)); // a server answers, so it has read the calls before
    opened = true;
    CHECK(cudaDeviceSynchronize());
    float took[2];
    for (int i = 0; i < 2; i++)
        CHECK(cudaEventElapsedTime(&took[i], begin, end[i]));
    return took[0] > took[1] ? took[0] : took[1];
}

// Either of them may be the first one: they are alike.
static void pair(const char *name, Timed one, Timed other)
{
    close_gate();
    launch(0, one);
    launch(1, other);
    printf("%s %.4f\n", name, open_gate());
}

// A graph's kernel has the parameters of its node, and those that it is given later.
static void graph()
{
    cudaGraph_t made;
    cudaGraphExec_t exec;
    cudaGraphNode_t node;
    Timed timed = {30 * ms, 1, 1, 0};
    void *arguments[] = {&timed.ns, &timed.places, &timed.issue, &timed.bandwidth};
    cudaKernelNodeParams params = {};
    params.func = (void *)gpuaas_timed;
    params.gridDim = params.blockDim = dim3(1);
    params.kernelParams = arguments;
    CHECK(cudaGraphCreate(&made, 0));
    CHECK(cudaGraphAddKernelNode(&node, made, nullptr, 0, &params));
    CHECK(cudaGraphInstantiate(&exec, made, 0));
    close_gate();
    CHECK(cudaGraphLaunch(exec, stream[0]));
    timed.ns = 70 * ms;
    CHECK(cudaGraphExecKernelNodeSetParams(exec, node, &params));
    CHECK(cudaGraphLaunch(exec, stream[0]));
    printf("graph %.4f\n", open_gate());
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(made));
}

// The launch says so, or through a server the next call that waits.
static void wrong(Timed timed)
{
    gpuaas_timed<<<1, 32>>>(timed.ns, timed.places, timed.issue, timed.bandwidth);
    cudaError_t error = cudaGetLastError(), later = cudaDeviceSynchronize();
    cudaGetLastError();
    error = error == cudaSuccess ? later : error;
    if (error != cudaErrorInvalidValue)
        fail("%llu ns, %f %f %f: %s", timed.ns, timed.places, timed.issue, timed.bandwidth,
             cudaGetErrorName(error));
}

static int by_model()
{
    const Timed whole = {50 * ms, 1, 1, 0}, half = {50 * ms, 0.5, 0.5, 0};
    const Timed streaming = {50 * ms, 0.25, 0.1, 1}, most = {50 * ms, 0.75, 0.2, 0};
    const Timed busy = {50 * ms, 0.2, 0.75, 0};
    pair("nothing_beside", whole, {0, 0, 0, 0});
    pair("whole_whole", whole, whole);
    pair("half_half", half, half);
    pair("bandwidth", streaming, streaming);
    pair("most_most", most, most);
    pair("busy_busy", busy, busy);
    graph();
    return passed();
}

static int are_refused()
{
    wrong({50 * ms, 1.5, 1, 0});
    wrong({50 * ms, 1, -0.5, 0});
    wrong({50 * ms, 1, 1, NAN});
    wrong({3600001 * ms, 1, 1, 0});
    launch(0, {1 * ms, 1, 1, 1});
    CHECK(cudaDeviceSynchronize());
    return passed();
}

static int minute()
{
    launch(0, {60000 * ms, 1, 1, 0});
    if (cudaStreamQuery(stream[0]) != cudaErrorNotReady)
        fail("the kernel has ended");
    printf("started\n");
    fflush(stdout);
    CHECK(cudaDeviceSynchronize());
    return passed();
}

static int executed()
{
    CHECK(cudaEventRecord(begin, stream[0]));
    launch(0, {20 * ms, 1, 1, 0});
    CHECK(cudaEventRecord(end[0], stream[0]));
    CHECK(cudaDeviceSynchronize());
    float took;
    CHECK(cudaEventElapsedTime(&took, begin, end[0]));
    if (took < 19)
        fail("it took %f ms of 20", took);
    return passed();
}

int main(int count, char **arguments)
{
    for (int i = 0; i < 2; i++) {
        CHECK(cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking));
        CHECK(cudaEventCreate(&end[i]));
    }
    CHECK(cudaEventCreate(&gate));
    CHECK(cudaEventCreate(&begin));
    cudaFuncAttributes loaded; // now, and not while something is measured
    CHECK(cudaFuncGetAttributes(&loaded, gpuaas_timed));
    const char *way = count > 1 ? arguments[1] : "";
    if (!strcmp(way, "model"))
        return by_model();
    if (!strcmp(way, "refused"))
        return are_refused();
    if (!strcmp(way, "minute"))
        return minute();
    return executed();
}
