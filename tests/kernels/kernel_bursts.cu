// SPDX-License-Identifier: Apache-2.0
// kernel_bursts many|graph|last|asked|copied: kernels one behind the other, without a wait, on a
// GPU that takes the times of timed kernels at their word. None of `many`, and of `graph`, which
// is one graph of them, takes long, and all together do: it passes. The last one of the others
// never ends; `last` waits for it, `asked` asks the server for other things all the time, and
// `copied` copies to the host behind it. They say the error that they get.
#include <string>
#include <unistd.h>
#include <vector>

#include "check.h"
#include "timed.h"

static const unsigned long long us = 1000, ms = 1000 * us, hour = 3600 * 1000 * ms;

static void launch(cudaStream_t stream, unsigned long long ns, int count = 1)
{
    for (int i = 0; i < count; i++)
        gpuaas_timed<<<1, 32, 0, stream>>>(ns, 0.0f, 0.0f, 0.0f);
    CHECK(cudaGetLastError());
}

// From now on nobody is surprised by a burst of short ones.
static void launch_short(cudaStream_t stream)
{
    for (int round = 0; round < 8; round++) {
        launch(stream, 10 * us, 64);
        CHECK(cudaStreamSynchronize(stream));
    }
}

static int run_many(cudaStream_t stream)
{
    launch(stream, 20 * ms, 40);
    launch(stream, 500 * us, 2000);
    CHECK(cudaStreamSynchronize(stream));
    return passed();
}

static int run_graph(cudaStream_t stream)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    launch(stream, 20 * ms, 40);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    return passed();
}

static cudaError_t copy_away(cudaStream_t stream)
{
    const size_t bytes = 256 << 10;
    char *device, *host;
    CHECK(cudaMalloc(&device, bytes));
    CHECK(cudaMallocHost(&host, bytes));
    launch(stream, hour);
    for (int i = 0; i < 1000; i++)
        if (cudaError_t error =
                cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream))
            return error;
    return cudaStreamSynchronize(stream);
}

static int run_endless(cudaStream_t stream, const std::string &way)
{
    cudaError_t error;
    launch(stream, 10 * us, 20);
    if (way == "copied")
        error = copy_away(stream);
    else {
        launch(stream, hour);
        size_t left, total;
        if (way == "asked")
            while ((error = cudaMemGetInfo(&left, &total)) == cudaSuccess)
                usleep(1000);
        else
            error = cudaStreamSynchronize(stream);
    }
    printf("error %d %s\n", (int)error, cudaGetErrorName(error));
    return 1;
}

int main(int argc, char **argv)
{
    const std::string way = argc > 1 ? argv[1] : "";
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    launch_short(stream);
    return way == "many" ? run_many(stream) : way == "graph" ? run_graph(stream)
                                                             : run_endless(stream, way);
}
