// SPDX-License-Identifier: Apache-2.0
// guest fork|exit: what a library that lives in other people's processes must bear. A helper of the
// end-to-end tests.
#include <dirent.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

__global__ void spin(volatile int *flag)
{
    while (*flag == 0)
        ;
}

static int sockets_open()
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (dirent *entry = readdir(folder)) {
        struct stat facts;
        int fd = atoi(entry->d_name);
        if (entry->d_name[0] != '.' && fstat(fd, &facts) == 0 && S_ISSOCK(facts.st_mode))
            count++;
    }
    closedir(folder);
    return count;
}

// The child has no CUDA, as with a GPU; it ends, and the parent goes on.
static int run_fork()
{
    int value = 42, got = 0, *device;
    CHECK(cudaMalloc(&device, sizeof value));
    if (sockets_open() == 0)
        fail("the parent has no connection");
    pid_t child = fork();
    if (child == 0) {
        void *more;
        cudaError_t error = cudaMalloc(&more, 16);
        printf("child: cudaMalloc: error %d, %d sockets\n", (int)error, sockets_open());
        fflush(stdout);
        exit(error == cudaErrorInitializationError && sockets_open() == 0 ? 0 : 1);
    }
    int status;
    if (waitpid(child, &status, 0) != child || status != 0)
        fail("the child ended with status 0x%x", status);
    CHECK(cudaMemcpy(device, &value, sizeof value, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(&got, device, sizeof got, cudaMemcpyDeviceToHost));
    if (got != value)
        fail("%d came back, %d is right", got, value);
    CHECK(cudaFree(device));
    return passed();
}

struct Late {
    void *memory = nullptr;
    cudaStream_t stream = nullptr;
    ~Late()
    {
        cudaFree(memory);
        cudaStreamDestroy(stream);
    }
};

static Late late;

// The program ends while a kernel runs that never does, and gives things back in destructors.
static int run_exit()
{
    int *flag;
    CHECK(cudaMalloc(&flag, sizeof *flag));
    CHECK(cudaMemset(flag, 0, sizeof *flag));
    CHECK(cudaMalloc(&late.memory, 16 << 20));
    CHECK(cudaStreamCreate(&late.stream));
    CHECK(cudaDeviceSynchronize());
    spin<<<1, 32>>>(flag);
    CHECK(cudaGetLastError());
    if (cudaStreamQuery(0) != cudaErrorNotReady)
        fail("the endless kernel has ended");
    return passed();
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "fork"))
        return run_fork();
    if (!strcmp(what, "exit"))
        return run_exit();
    fail("usage: %s fork|exit", argv[0]);
}
