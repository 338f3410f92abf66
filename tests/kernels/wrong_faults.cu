// SPDX-License-Identifier: Apache-2.0
// Each way in which a kernel can fail, in a process of its own: the error is the documented one,
// stays for every later call, and a failing assertion says on stderr where it stands.
#include <cassert>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

__global__ void store(int *to, long long at) { to[at] = 1; }
__global__ void store_bytes(char *to) { *(volatile int *)(to + 2) = 1; }
__global__ void trapping() { __trap(); }
__device__ __noinline__ int endless(volatile int *p, int n)
{
    return *p == -1 ? n : endless(p, n + 1) + *p;
}
__global__ void recursing(int *p) { *p = endless(p, 0); }
__global__ void calling(void (*function)(int *), int *p) { function(p); }
__global__ void freeing(int *p)
{
    void *mine = malloc(40);
    free(mine);
    free(mine);
    *p = 1;
}
static const int assert_line = __LINE__ + 3;
__global__ void asserting(int limit)
{
    assert((int)(blockIdx.x * blockDim.x + threadIdx.x) != limit);
}

struct Way {
    const char *name;
    cudaError_t error;
    void (*run)(int *memory);
};

static const Way ways[] = {
    {"beyond", cudaErrorIllegalAddress, [](int *p) { store<<<1, 1>>>(p, 1ll << 40); }},
    {"null", cudaErrorIllegalAddress, [](int *) { store<<<1, 1>>>(nullptr, 0); }},
    {"misaligned", cudaErrorMisalignedAddress, [](int *p) { store_bytes<<<1, 1>>>((char *)p); }},
    {"trap", cudaErrorLaunchFailure, [](int *) { trapping<<<3, 40>>>(); }},
    {"stack", cudaErrorHardwareStackError, [](int *p) { recursing<<<1, 1>>>(p); }},
    {"pointer", cudaErrorInvalidPc, [](int *p) { calling<<<1, 1>>>((void (*)(int *))p, p); }},
    {"free", cudaErrorLaunchFailure, [](int *p) { freeing<<<1, 1>>>(p); }},
    {"assert", cudaErrorAssert, [](int *) { asserting<<<4, 32>>>(35); }},
};

static int fail_in(const Way &way)
{
    int *memory;
    CHECK(cudaMalloc(&memory, 256));
    CHECK(cudaMemset(memory, 0, 256));
    way.run(memory);
    EXPECT_ERROR(cudaDeviceSynchronize(), way.error);
    EXPECT_ERROR(cudaMemset(memory, 0, 4), way.error);
    return passed();
}

// The child's stdout and stderr together.
static std::string child(const char *way, int *status)
{
    int ends[2];
    if (pipe(ends))
        fail("pipe");
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], 1);
        dup2(ends[1], 2);
        close(ends[0]);
        close(ends[1]);
        execl("/proc/self/exe", "wrong_faults", way, (char *)nullptr);
        _exit(127);
    }
    close(ends[1]);
    std::string text;
    char buffer[4096];
    for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
        text.append(buffer, (size_t)n);
    close(ends[0]);
    if (pid < 0 || waitpid(pid, status, 0) != pid)
        fail("no child");
    return text;
}

int main(int count, char **arguments)
{
    for (const Way &way : ways) {
        if (count > 1 && !strcmp(arguments[1], way.name))
            return fail_in(way);
    }
    if (count > 1)
        fail("no way called %s", arguments[1]);
    for (const Way &way : ways) {
        int status = 0;
        std::string text = child(way.name, &status);
        if (status != 0 || text.find("PASSED") == std::string::npos)
            fail("%s: status %d:\n%s", way.name, status, text.c_str());
        if (way.error == cudaErrorAssert) {
            std::string line = std::string(__FILE__) + ":" + std::to_string(assert_line) +
                               ": void asserting(int): block: [1,0,0], thread: [3,0,0] Assertion "
                               "`(int)(blockIdx.x * blockDim.x + threadIdx.x) != limit` failed.\n";
            if (text.find(line) == std::string::npos)
                fail("not said: %s\nbut:\n%s", line.c_str(), text.c_str());
        }
        printf("%s -> %s\n", way.name, cudaGetErrorName(way.error));
    }
    return passed();
}
