// SPDX-License-Identifier: Apache-2.0
// Managed memory on two devices. A thread waits for one, whose server the test has stopped;
// meanwhile all goes on with the other one.
#include <pthread.h>
#include <unistd.h>

#include "check.h"

__global__ void add(int *data, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        data[i] += 1;
}

static const int N = 1 << 16;
static const int TURNS = 20;

static void turn(int *data, int expected)
{
    add<<<(N + 255) / 256, 256>>>(data, N);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < N; i++) {
        if (data[i] != expected)
            fail("element %d is %d, %d is due", i, data[i], expected);
        data[i] += 1;
    }
}

static int *make(int device)
{
    int *data;
    CHECK(cudaSetDevice(device));
    CHECK(cudaMallocManaged(&data, N * sizeof(int)));
    for (int i = 0; i < N; i++)
        data[i] = 0;
    turn(data, 1);
    return data;
}

static void *use_first(void *data)
{
    CHECK(cudaSetDevice(0));
    turn((int *)data, 3);
    return nullptr;
}

static void wait_for_word()
{
    char line[16];
    if (!fgets(line, sizeof line, stdin))
        fail("nobody says when to go on");
}

int main()
{
    pthread_t thread;
    int *first = make(0), *second = make(1);
    printf("ready\n");
    fflush(stdout);
    wait_for_word();
    if (pthread_create(&thread, nullptr, use_first, first) != 0)
        fail("no thread");
    sleep(1); // by now it waits
    for (int i = 0; i < TURNS; i++)
        turn(second, 3 + 2 * i);
    int *more;
    CHECK(cudaMallocManaged(&more, N * sizeof(int)));
    more[0] = 1;
    CHECK(cudaMemset(more, 0, N * sizeof(int)));
    CHECK(cudaFree(more));
    printf("the other goes on\n");
    fflush(stdout);
    wait_for_word();
    pthread_join(thread, nullptr);
    CHECK(cudaSetDevice(0));
    turn(first, 5);
    CHECK(cudaFree(first));
    CHECK(cudaSetDevice(1));
    CHECK(cudaFree(second));
    return passed();
}
