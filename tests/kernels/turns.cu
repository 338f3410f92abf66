// SPDX-License-Identifier: Apache-2.0
// turns MODE: works on GPUs that others use as well, until its input ends. A helper of the
// end-to-end tests of policies: it says "started" after its first round, how far it is now and
// then, and in the end whether each of its kernels and copies has been done once.
//   queue: kernels without a wait; calls: a wait after every few
//   copies: large copies both ways, with kernels between them; pinned: with pinned memory
//   both FIRST SECOND: in each round work on one GPU, then on the other, then waits for both
//   later: streams that wait for what a later call of it writes; spins: kernels that do
#include <chrono>
#include <string.h>
#include <unistd.h>
#include <poll.h>
#include <vector>

#include "check.h"
#include "check_driver.h"

static const int WORDS = 1 << 21; // 8 MiB: more than a part of a copy

__global__ void count(unsigned long long *counter)
{
    atomicAdd(counter, 1ull);
}

__global__ void add_one(unsigned *words)
{
    words[blockIdx.x * blockDim.x + threadIdx.x]++;
}

// Runs until another stream has written.
__global__ void spin(volatile unsigned *word, unsigned value, unsigned long long *counter)
{
    while (*word != value)
        ;
    atomicAdd(counter, 1ull);
}

static bool goes_on()
{
    struct pollfd input = {STDIN_FILENO, POLLIN, 0};
    return poll(&input, 1, 0) == 0;
}

// The first round, and then one line in 50 ms at most.
static void say(unsigned long long rounds)
{
    static std::chrono::steady_clock::time_point last;
    auto now = std::chrono::steady_clock::now();
    if (rounds == 1)
        printf("started\n");
    if (rounds == 1 || now - last > std::chrono::milliseconds(50)) {
        last = now;
        printf("at %llu\n", rounds);
        fflush(stdout);
    }
}

static unsigned long long *counter_new()
{
    unsigned long long *counter;
    CHECK(cudaMalloc(&counter, sizeof *counter));
    CHECK(cudaMemset(counter, 0, sizeof *counter));
    CHECK(cudaDeviceSynchronize()); // other streams do not wait for it
    return counter;
}

static void counter_check(const unsigned long long *counter, unsigned long long expected)
{
    unsigned long long found;
    CHECK(cudaMemcpy(&found, counter, sizeof found, cudaMemcpyDeviceToHost));
    if (found != expected)
        fail("%llu kernels have run, %llu were launched", found, expected);
    printf("%llu kernels\n", found);
}

// `every`: launches before a wait; a queue has one every now and then only.
static void kernels(int every)
{
    unsigned long long *counter = counter_new(), rounds = 0, launched = 0;
    do {
        for (int i = 0; i < every; i++, launched++)
            count<<<1, 1>>>(counter);
        CHECK(cudaDeviceSynchronize());
        say(++rounds);
    } while (goes_on());
    counter_check(counter, launched);
}

static void copies(unsigned *host)
{
    unsigned *words;
    unsigned long long rounds = 0;
    memset(host, 0, WORDS * sizeof *host);
    CHECK(cudaMalloc(&words, WORDS * sizeof *words));
    do {
        CHECK(cudaMemcpy(words, host, WORDS * sizeof *words, cudaMemcpyHostToDevice));
        add_one<<<WORDS / 256, 256>>>(words);
        CHECK(cudaMemcpy(host, words, WORDS * sizeof *words, cudaMemcpyDeviceToHost));
        say(++rounds);
    } while (goes_on());
    for (int i = 0; i < WORDS; i++)
        if (host[i] != rounds)
            fail("word %d is %u after %llu rounds", i, host[i], rounds);
}

static void copies_pinned()
{
    unsigned *host;
    CHECK(cudaMallocHost(&host, WORDS * sizeof *host));
    copies(host);
}

static void both(const int *devices)
{
    unsigned long long *counters[2], rounds = 0;
    for (int i = 0; i < 2; i++) {
        CHECK(cudaSetDevice(devices[i]));
        counters[i] = counter_new();
    }
    do {
        for (int i = 0; i < 2; i++) {
            CHECK(cudaSetDevice(devices[i]));
            for (int k = 0; k < 8; k++)
                count<<<1, 1>>>(counters[i]);
        }
        for (int i = 0; i < 2; i++) {
            CHECK(cudaSetDevice(devices[i]));
            CHECK(cudaDeviceSynchronize());
        }
        say(++rounds);
    } while (goes_on());
    for (int i = 0; i < 2; i++) {
        CHECK(cudaSetDevice(devices[i]));
        counter_check(counters[i], 8 * rounds);
    }
}

static void later()
{
    unsigned long long *counter = counter_new(), rounds = 0;
    CUstream waits, writes;
    CUdeviceptr word;
    CHECK_DRIVER(cuStreamCreate(&waits, CU_STREAM_NON_BLOCKING));
    CHECK_DRIVER(cuStreamCreate(&writes, CU_STREAM_NON_BLOCKING));
    CHECK_DRIVER(cuMemAlloc(&word, sizeof(unsigned)));
    CHECK_DRIVER(cuMemsetD32(word, 0, 1));
    do {
        rounds++;
        count<<<1, 1, 0, waits>>>(counter);
        CHECK_DRIVER(cuStreamWaitValue32(waits, word, (unsigned)rounds, CU_STREAM_WAIT_VALUE_GEQ));
        count<<<1, 1, 0, waits>>>(counter);
        count<<<1, 1, 0, writes>>>(counter);
        CHECK_DRIVER(cuStreamSynchronize(writes));
        usleep(5000); // the turn ends meanwhile
        CHECK_DRIVER(cuStreamWriteValue32(writes, word, (unsigned)rounds, 0));
        CHECK_DRIVER(cuStreamSynchronize(waits));
        say(rounds);
    } while (goes_on());
    counter_check(counter, 3 * rounds);
}

static void spins()
{
    unsigned long long *counter = counter_new();
    unsigned *word, rounds = 0;
    cudaStream_t streams[2];
    for (int i = 0; i < 2; i++)
        CHECK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
    CHECK(cudaMalloc(&word, sizeof *word));
    CHECK(cudaMemset(word, 0, sizeof *word));
    CHECK(cudaDeviceSynchronize());
    do {
        rounds++;
        spin<<<1, 1, 0, streams[0]>>>(word, rounds, counter);
        usleep(20000); // the turn ends meanwhile
        CHECK(cudaMemcpyAsync(word, &rounds, sizeof rounds, cudaMemcpyHostToDevice, streams[1]));
        CHECK(cudaDeviceSynchronize());
        say(rounds);
    } while (goes_on());
    counter_check(counter, rounds);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    if (strcmp(mode, "queue") == 0) {
        kernels(2000);
    } else if (strcmp(mode, "calls") == 0) {
        kernels(5);
    } else if (strcmp(mode, "copies") == 0) {
        copies(std::vector<unsigned>(WORDS).data());
    } else if (strcmp(mode, "pinned") == 0) {
        copies_pinned();
    } else if (strcmp(mode, "both") == 0 && argc == 4) {
        const int devices[2] = {atoi(argv[2]), atoi(argv[3])};
        both(devices);
    } else if (strcmp(mode, "later") == 0) {
        later();
    } else if (strcmp(mode, "spins") == 0) {
        spins();
    } else {
        fail("usage: turns queue|calls|copies|pinned|later|spins|both FIRST SECOND");
    }
    return passed();
}
