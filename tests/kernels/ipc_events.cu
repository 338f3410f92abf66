// SPDX-License-Identifier: Apache-2.0
// ipc_events: two processes take turns on the same memory, and nothing but events that they share
// puts their work into order: the exporter's stream waits for what the importer has recorded, and
// the other way round. An event that looks done too early makes wrong numbers.
// semantics S66
#include <sys/wait.h>
#include <unistd.h>

#include "other_process.h"

static const int count = 512;
static const int rounds = 24;
static const int looks = 6; // every so many rounds the importer waits, and looks
static const int spins = 20000;

struct handles {
    cudaIpcMemHandle_t data;
    cudaIpcEventHandle_t mine, yours; // recorded by the exporter, by the importer
};

// The numbers change at the end, when others that did not wait have come and gone.
__global__ void turn(unsigned *data, unsigned round, unsigned factor, int spin)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, value = data[i];
    for (int k = 0; k < spin; k++)
        value = value * 1664525u + 1013904223u;
    data[i] = value * factor + round + i;
}

static unsigned expected(unsigned value, unsigned i, unsigned round, unsigned factor)
{
    for (int k = 0; k < spins; k++)
        value = value * 1664525u + 1013904223u;
    return value * factor + round + i;
}

static void take_turn(unsigned *data, unsigned round, unsigned factor)
{
    turn<<<count / 128, 128>>>(data, round, factor, spins);
    CHECK(cudaGetLastError());
}

static void tell(int to)
{
    send(to, "t", 1);
}

static void hear(int from)
{
    char byte;
    receive(from, &byte, 1);
}

static void export_all(int from, int to)
{
    handles sent;
    unsigned *data;
    cudaEvent_t mine, yours;
    const unsigned flags = cudaEventInterprocess | cudaEventDisableTiming;
    CHECK(cudaMalloc(&data, count * sizeof *data));
    CHECK(cudaMemset(data, 0, count * sizeof *data));
    CHECK(cudaEventCreateWithFlags(&mine, flags));
    CHECK(cudaEventCreateWithFlags(&yours, flags));
    take_turn(data, 0, 3);
    CHECK(cudaEventRecord(mine)); // before anybody else can have it
    CHECK(cudaIpcGetMemHandle(&sent.data, data));
    CHECK(cudaIpcGetEventHandle(&sent.mine, mine));
    CHECK(cudaIpcGetEventHandle(&sent.yours, yours));
    send(to, &sent, sizeof sent);
    for (int i = 1; i < rounds; i++) {
        hear(from); // it has recorded
        CHECK(cudaStreamWaitEvent(0, yours, 0));
        take_turn(data, i, 3);
        CHECK(cudaEventRecord(mine));
        tell(to);
    }
    hear(from);
    CHECK(cudaEventSynchronize(yours));
    CHECK(cudaEventDestroy(mine));
    CHECK(cudaEventDestroy(yours));
    CHECK(cudaFree(data));
}

static void look(const unsigned *data, int round, unsigned *right)
{
    static unsigned host[count];
    CHECK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < count; i++)
        if (host[i] != right[i])
            fail("round %d: element %d is %u, not %u", round, i, host[i], right[i]);
}

static void import_all(int from, int to)
{
    static unsigned right[count];
    handles got;
    unsigned *data;
    cudaEvent_t mine, yours;
    CHECK(cudaFree(0));
    receive(from, &got, sizeof got);
    CHECK(cudaIpcOpenMemHandle((void **)&data, got.data, cudaIpcMemLazyEnablePeerAccess));
    CHECK(cudaIpcOpenEventHandle(&mine, got.mine));
    CHECK(cudaIpcOpenEventHandle(&yours, got.yours));
    for (int i = 0; i < rounds; i++) {
        CHECK(cudaStreamWaitEvent(0, mine, 0));
        for (int k = 0; k < count; k++)
            right[k] = expected(right[k], k, i, 3);
        if (i % looks == looks - 1) {
            CHECK(cudaEventSynchronize(mine));
            look(data, i, right);
        }
        take_turn(data, i, 5);
        CHECK(cudaEventRecord(yours));
        for (int k = 0; k < count; k++)
            right[k] = expected(right[k], k, i, 5);
        if (i == rounds - 1)
            look(data, i, right);
        tell(to);
        if (i < rounds - 1)
            hear(from); // it has recorded
    }
    CHECK(cudaEventDestroy(mine));
    CHECK(cudaEventDestroy(yours));
    CHECK(cudaIpcCloseMemHandle(data));
}

int main()
{
    int from, to, status;
    pid_t exporter = fork_other(&from, &to); // before the first CUDA call
    if (exporter == 0) {
        export_all(from, to);
        return 0;
    }
    import_all(from, to);
    if (waitpid(exporter, &status, 0) != exporter || status != 0)
        fail("the exporter ended with status %d", status);
    return passed();
}
