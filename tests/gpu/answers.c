/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of calls that cuda.h leaves open, as observed on drivers: softgpu and the client give
 * the same. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "assume.h"

static enum verdict verdict_of(bool holds)
{
    return holds ? HOLDS : DIFFERS;
}

static enum verdict host_flags(char *seen, size_t size)
{
    unsigned flags[2] = {0};
    static const unsigned asked[] = {0, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_WRITECOMBINED};
    for (int i = 0; i < 2; i++) {
        void *memory;
        NEED(driver.cuMemHostAlloc(&memory, 4096, asked[i]));
        NEED(driver.cuMemHostGetFlags(&flags[i], memory));
    }
    snprintf(seen, size, "%u of 0, %u of %u", flags[0], flags[1], asked[1]);
    return verdict_of(flags[0] == CU_MEMHOSTALLOC_DEVICEMAP &&
                      flags[1] == (asked[1] | CU_MEMHOSTALLOC_DEVICEMAP));
}

static enum verdict host_empty(char *seen, size_t size)
{
    void *one = &one, *other = &other;
    CUresult first = driver.cuMemHostAlloc(&one, 0, 0);
    CUresult second = driver.cuMemAllocHost_v2(&other, 0);
    CUresult freed = driver.cuMemFreeHost(NULL);
    snprintf(seen, size, "%s at %p, %s at %p; freeing NULL: %s", name_of(first), one,
             name_of(second), other, name_of(freed));
    return verdict_of(first == CUDA_SUCCESS && second == CUDA_SUCCESS && one == NULL &&
                      other == NULL && freed == CUDA_SUCCESS);
}

static enum verdict host_unregister(char *seen, size_t size)
{
    void *pinned;
    char *own = aligned_alloc(4096, 8192), *unknown = aligned_alloc(4096, 4096);
    NEED(driver.cuMemHostAlloc(&pinned, 4096, 0));
    NEED(driver.cuMemHostRegister_v2(own, 8192, 0));
    CUresult allocated = driver.cuMemHostUnregister(pinned);
    CUresult inside = driver.cuMemHostUnregister(own + 4096);
    CUresult none = driver.cuMemHostUnregister(unknown);
    snprintf(seen, size, "allocated: %s; inside: %s; plain: %s", name_of(allocated),
             name_of(inside), name_of(none));
    return verdict_of(allocated == CUDA_ERROR_INVALID_VALUE && inside == CUDA_ERROR_INVALID_VALUE &&
                      none == CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

static enum verdict graph_room(char *seen, size_t size)
{
    CUgraph graph;
    CUgraphNode node, list[2] = {NULL, NULL};
    size_t nodes = 0, roots = 0, before = 0;
    NEED(driver.cuGraphCreate(&graph, 0));
    NEED(driver.cuGraphAddEmptyNode(&node, graph, NULL, 0));
    CUresult all = driver.cuGraphGetNodes(graph, list, &nodes);
    CUresult first = driver.cuGraphGetRootNodes(graph, list, &roots);
    CUresult none = driver.cuGraphNodeGetDependencies(node, list, &before);
    snprintf(seen, size, "nodes: %s, %zu; roots: %s, %zu; dependencies: %s, %zu", name_of(all),
             nodes, name_of(first), roots, name_of(none), before);
    return verdict_of(all == CUDA_ERROR_INVALID_VALUE && first == CUDA_ERROR_INVALID_VALUE &&
                      none == CUDA_ERROR_INVALID_VALUE && nodes + roots + before == 0);
}

/* The child says its answers in its exit status. */
static enum verdict forked(char *seen, size_t size)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        CUdeviceptr memory;
        int count;
        CUcontext current;
        bool none = driver.cuInit(0) == CUDA_ERROR_NOT_INITIALIZED;
        bool no_count = driver.cuDeviceGetCount(&count) == CUDA_ERROR_NOT_INITIALIZED;
        bool no_context = driver.cuCtxGetCurrent(&current) == CUDA_ERROR_NOT_INITIALIZED;
        bool no_memory = driver.cuMemAlloc_v2(&memory, 16) == CUDA_ERROR_NOT_INITIALIZED;
        _exit(none | no_count << 1 | no_context << 2 | no_memory << 3);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) {
        snprintf(seen, size, "the child ends with status 0x%x", status);
        return CANNOT_TELL;
    }
    int bits = WEXITSTATUS(status);
    snprintf(seen, size,
             "3 of cuInit: %d, cuDeviceGetCount: %d, cuCtxGetCurrent: %d, cuMemAlloc: %d", bits & 1,
             bits >> 1 & 1, bits >> 2 & 1, bits >> 3 & 1);
    return verdict_of(bits == 15);
}

static enum verdict extra_empty(char *seen, size_t size)
{
    void *nothing[] = {CU_LAUNCH_PARAM_END};
    CUresult rc = driver.cuLaunchKernel(kernel("narrow"), 1, 1, 1, 1, 1, 1, 0, NULL, NULL, nothing);
    snprintf(seen, size, "%s", name_of(rc));
    return verdict_of(rc == CUDA_SUCCESS);
}

#define SAME "softgpu and the client take the answer that was seen"

const struct assumption assumptions_of_answers[] = {
    {"host_flags", "all pinned memory is said to be mapped, asked for or not", SAME, host_flags},
    {"host_empty", "pinning 0 bytes gives NULL, which may be freed", SAME, host_empty},
    {"host_unregister", "unregistering what is pinned otherwise is error 1, of the rest 713", SAME,
     host_unregister},
    {"graph_room", "a list of nodes with room for nothing is error 1, the number 0", SAME,
     graph_room},
    {"forked", "calls in the child of a fork say that CUDA is not initialised", SAME, forked},
    {"extra_empty", "an empty list of parameters launches a kernel that has none", SAME,
     extra_empty},
    {0},
};
