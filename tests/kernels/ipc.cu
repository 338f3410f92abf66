// SPDX-License-Identifier: Apache-2.0
// ipc: memory and events of one process used by another, which is the child: it exports, is used,
// and is killed. Both are this program; it forks before its first CUDA call.
// semantics S66
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

#include <cuda.h>

#include "other_process.h"

static const int count = 3 << 19; // 6 MiB of int
static const int rounds = 20;     // of waiting for the other process

struct handles {
    cudaIpcMemHandle_t large, small;
    cudaIpcEventHandle_t event;
};

__global__ void fill(int *data, int n, int first)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        data[i] = first + i;
}

__global__ void wait_for(volatile int *flag, int value)
{
    while (*flag != value)
        ;
}

__global__ void set(volatile int *flag, int value)
{
    *flag = value;
}

static void expect(cudaError_t got, cudaError_t right, const char *what)
{
    if (got != right)
        fail("%s: %s, not %s", what, cudaGetErrorName(got), cudaGetErrorName(right));
    (void)cudaGetLastError();
}

static void check_data(const int *device, int first, const char *what)
{
    static int host[count];
    CHECK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < count; i++)
        if (host[i] != first + i)
            fail("%s: element %d is %d, not %d", what, i, host[i], first + i);
}

// The step that both have reached
static void meet(int from, int to, char step)
{
    char other;
    send(to, &step, 1);
    receive(from, &other, 1);
    if (other != step)
        fail("the other process is at step %c, this one at %c", other, step);
}

// A copy that waits is over when it returns, for the other process, too.
static void copy_in(int *device, int first)
{
    static int host[count];
    for (int i = 0; i < count; i++)
        host[i] = first + i;
    fill<<<(count + 255) / 256, 256>>>(device, count, -first);
    CHECK(cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice));
}

static void export_all(int from, int to)
{
    int *data, *flag, *unused;
    handles sent, again;
    cudaEvent_t event, local;
    CHECK(cudaMalloc(&unused, 64)); // so that the flag does not begin its block of memory
    CHECK(cudaMalloc(&flag, sizeof *flag));
    CHECK(cudaMalloc(&data, count * sizeof *data));
    CHECK(cudaMemset(flag, 0, sizeof *flag));
    CHECK(cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming));
    CHECK(cudaEventCreate(&local));
    expect(cudaIpcGetEventHandle(&sent.event, local), cudaErrorInvalidResourceHandle,
           "the handle of an event of this process alone");
    CHECK(cudaIpcGetMemHandle(&sent.large, data));
    CHECK(cudaIpcGetMemHandle(&again.large, data));
    if (memcmp(&sent.large, &again.large, sizeof sent.large) != 0)
        fail("the same memory has two handles");
    CHECK(cudaIpcGetMemHandle(&sent.small, flag));
    CHECK(cudaIpcGetEventHandle(&sent.event, event));
    int capable = 0, events = 0;
    CHECK(cudaDeviceGetAttribute(&events, cudaDevAttrIpcEventSupport, 0));
    if (cuPointerGetAttribute(&capable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
                              (CUdeviceptr)data) != CUDA_SUCCESS ||
        capable != 1 || events != 1)
        fail("memory says %d, the device says %d of what they can", capable, events);
    void *own;
    CHECK(cudaMallocAsync(&own, 1 << 20, 0));
    expect(cudaIpcGetMemHandle(&again.large, own), cudaErrorInvalidValue, "memory of a pool");
    CHECK(cudaFreeAsync(own, 0));
    expect(cudaIpcOpenMemHandle(&own, sent.large, cudaIpcMemLazyEnablePeerAccess),
           cudaErrorDeviceUninitialized, "opening a handle in the process that made it");
    fill<<<(count + 255) / 256, 256>>>(data, count, 5);
    CHECK(cudaEventRecord(event));
    send(to, &sent, sizeof sent);
    meet(from, to, 'a'); // the other one has written
    CHECK(cudaStreamWaitEvent(0, event, 0));
    check_data(data, 1000, "what the importer has written");
    for (int i = 0; i < rounds; i++) {
        copy_in(data, 10 * i);
        meet(from, to, 'e');
        meet(from, to, 'i');
        check_data(data, 10 * i + 5, "what the importer has copied");
    }
    wait_for<<<1, 1>>>(flag, 7); // the other one will set it
    CHECK(cudaEventRecord(event));
    meet(from, to, 'b');
    CHECK(cudaEventSynchronize(event));
    meet(from, to, 'c');
    for (int i = 0; i < rounds; i++) {
        fill<<<(count + 255) / 256, 256>>>(data, count, i);
        CHECK(cudaEventRecord(event));
        meet(from, to, 'r');
        meet(from, to, 's');
    }
    wait_for<<<1, 1>>>(flag, 8); // nobody ever will
    CHECK(cudaEventRecord(event));
    meet(from, to, 'd');
    pause();
}

// Each byte that means anything makes another handle of it.
static void forge(const cudaIpcMemHandle_t &right)
{
    for (size_t i = 0; i < sizeof right; i++) {
        cudaIpcMemHandle_t wrong = right;
        void *memory;
        wrong.reserved[i] ^= 1;
        cudaError_t error = cudaIpcOpenMemHandle(&memory, wrong, cudaIpcMemLazyEnablePeerAccess);
        if (error == cudaSuccess && ((i >= 4 && i < 8) || i >= 40)) // these mean nothing
            CHECK(cudaIpcCloseMemHandle(memory));
        else if (error != cudaErrorDeviceUninitialized) // says that it is this process's
            expect(error, cudaErrorInvalidResourceHandle, "a forged handle");
        (void)cudaGetLastError();
    }
}

// The rest of them when the exporter is killed.
static void orphaned(const handles &got, int *data, cudaEvent_t event, pid_t exporter)
{
    kill(exporter, SIGKILL);
    CHECK(cudaEventSynchronize(event)); // whoever recorded it is gone
    if (waitpid(exporter, nullptr, 0) != exporter)
        fail("waitpid");
    check_data(data, rounds - 1, "memory whose exporter is gone");
    CHECK(cudaIpcCloseMemHandle(data));
    expect(cudaIpcCloseMemHandle(data), cudaErrorInvalidValue, "closing it again");
    cudaError_t late = cudaSuccess; // a server may hear of the end of the other one a little later
    for (int i = 0; late == cudaSuccess && i < 1000; i++) {
        late = cudaIpcOpenMemHandle((void **)&data, got.large, cudaIpcMemLazyEnablePeerAccess);
        if (late == cudaSuccess) {
            CHECK(cudaIpcCloseMemHandle(data));
            usleep(10000);
        }
    }
    expect(late, cudaErrorInvalidResourceHandle, "a handle of a process that is gone");
    cudaEvent_t gone;
    expect(cudaIpcOpenEventHandle(&gone, got.event), cudaErrorInvalidResourceHandle,
           "an event of a process that is gone");
    CHECK(cudaEventDestroy(event));
    size_t free_bytes, total;
    CHECK(cudaMemGetInfo(&free_bytes, &total));
    if (total - free_bytes > 64 << 20)
        fail("%zu bytes are in use after all", total - free_bytes);
}

static void import_all(int from, int to, pid_t exporter)
{
    handles got;
    int *data, *again, *flag;
    cudaEvent_t event;
    cudaStream_t first, second;
    CHECK(cudaFree(0));
    receive(from, &got, sizeof got);
    forge(got.large);
    CHECK(cudaIpcOpenMemHandle((void **)&data, got.large, cudaIpcMemLazyEnablePeerAccess));
    CHECK(cudaIpcOpenMemHandle((void **)&again, got.large, cudaIpcMemLazyEnablePeerAccess));
    if (again != data)
        fail("the same handle, opened twice, is at two addresses");
    CHECK(cudaIpcCloseMemHandle(again));
    CHECK(cudaIpcOpenMemHandle((void **)&flag, got.small, cudaIpcMemLazyEnablePeerAccess));
    CHECK(cudaIpcOpenEventHandle(&event, got.event));
    CHECK(cudaEventSynchronize(event));
    check_data(data, 5, "what the exporter has written");
    expect(cudaFree(data), cudaErrorInvalidValue, "cudaFree of imported memory");
    expect(cudaIpcOpenMemHandle((void **)&again, got.large, 0), cudaErrorInvalidValue, "flags 0");
    fill<<<(count + 255) / 256, 256>>>(data, count, 1000);
    CHECK(cudaEventRecord(event));
    meet(from, to, 'a');
    for (int i = 0; i < rounds; i++) {
        meet(from, to, 'e');
        check_data(data, 10 * i, "what the exporter has copied");
        copy_in(data, 10 * i + 5);
        meet(from, to, 'i');
    }
    meet(from, to, 'b'); // its kernel waits for our flag; both need the GPU
    CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    expect(cudaEventQuery(event), cudaErrorNotReady, "an event that the exporter has recorded");
    CHECK(cudaStreamWaitEvent(first, event, 0));
    fill<<<(count + 255) / 256, 256, 0, first>>>(data, count, 3000);
    expect(cudaStreamQuery(first), cudaErrorNotReady, "a stream that waits for it");
    set<<<1, 1, 0, second>>>(flag, 7);
    CHECK(cudaStreamSynchronize(first));
    expect(cudaEventQuery(event), cudaSuccess, "the event, afterwards");
    check_data(data, 3000, "what came after the event");
    meet(from, to, 'c');
    for (int i = 0; i < rounds; i++) {
        meet(from, to, 'r');
        CHECK(cudaEventSynchronize(event));
        meet(from, to, 's');
    }
    check_data(data, rounds - 1, "what came before the last of many recordings");
    meet(from, to, 'd');
    expect(cudaEventQuery(event), cudaErrorNotReady, "an event behind an endless kernel");
    orphaned(got, data, event, exporter);
}

int main()
{
    int from, to;
    pid_t exporter = fork_other(&from, &to);
    if (exporter == 0)
        export_all(from, to);
    import_all(from, to, exporter);
    return passed();
}
