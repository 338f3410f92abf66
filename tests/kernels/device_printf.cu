// SPDX-License-Identifier: Apache-2.0
// printf in kernels: what is printed, and when. The program's own stdout goes into a file meanwhile
// and is compared with what is due, the lines that the host prints in between included.
#include <string>
#include <unistd.h>
#include <vector>

#include "check.h"

static int kept; // the real stdout
static off_t seen;

// At the end, also one by fail(): what nobody has looked at goes where it was meant to go.
static void release()
{
    char text[4096];
    ssize_t bytes;
    fflush(stdout);
    while ((bytes = pread(1, text, sizeof text, seen)) > 0 && write(kept, text, bytes) == bytes)
        seen += bytes;
    dup2(kept, 1);
}

static void capture()
{
    char name[] = "/tmp/device_printf.XXXXXX";
    int file = mkstemp(name);
    if (file < 0)
        fail("no temporary file");
    unlink(name);
    fflush(stdout);
    kept = dup(1);
    dup2(file, 1);
    close(file);
    atexit(release);
}

// The output since the last time.
static std::string printed()
{
    fflush(stdout);
    std::string text(lseek(1, 0, SEEK_CUR) - seen, ' ');
    if (pread(1, &text[0], text.size(), seen) != (ssize_t)text.size())
        fail("the file cannot be read");
    seen += text.size();
    return text;
}

static void expect(const std::string &want, const char *when)
{
    std::string got = printed();
    if (got != want)
        fail("%s: \"%s\" was printed, \"%s\" is right", when, got.c_str(), want.c_str());
}

__global__ void formats(const char *name, int *results)
{
    int i = -42;
    results[0] = printf("%d %5d|%-5d|%05d %u %x %o %c %s %%\n", i, i, i, i, 42u, 255, 8, 'x', name);
    results[1] = printf("%f %.3e %g %lld %p\n", 1.5, 12345.678, 0.25, 1234567890123ll, results);
    results[2] = printf("no arguments\n");
}

__global__ void say(const char *text)
{
    printf("%s\n", text);
}

__global__ void each(int tag)
{
    printf("%d: block %d thread %d\n", tag, (int)blockIdx.x, (int)threadIdx.x);
}

__global__ void count(int from, int to)
{
    for (int i = from; i < to; i++)
        printf("line %6d\n", i);
}

static char *text_on_device(const char *text)
{
    char *copy;
    CHECK(cudaMalloc(&copy, strlen(text) + 1));
    CHECK(cudaMemcpy(copy, text, strlen(text) + 1, cudaMemcpyHostToDevice));
    return copy;
}

static void check_formats()
{
    int *results, got[3];
    CHECK(cudaMalloc(&results, sizeof got));
    char *name = text_on_device("a string of the host");
    printf("before\n");
    formats<<<1, 1>>>(name, results);
    printf("launched\n");
    CHECK(cudaDeviceSynchronize());
    printf("after\n");
    char want[400];
    snprintf(want, sizeof want,
             "before\nlaunched\n%d %5d|%-5d|%05d %u %x %o %c %s %%\n%f %.3e %g %lld %p\n"
             "no arguments\nafter\n",
             -42, -42, -42, -42, 42u, 255, 8, 'x', "a string of the host", 1.5, 12345.678, 0.25,
             1234567890123ll, results);
    expect(want, "formats");
    CHECK(cudaMemcpy(got, results, sizeof got, cudaMemcpyDeviceToHost));
    if (got[0] != 9 || got[1] != 5 || got[2] != 0)
        fail("printf returned %d, %d and %d", got[0], got[1], got[2]);
}

// Every thread's line once; within a warp in order, a kernel's behind those of the one before.
static void check_threads()
{
    const int blocks = 6, threads = 96, kernels = 3;
    for (int k = 0; k < kernels; k++)
        each<<<blocks, threads>>>(k);
    CHECK(cudaDeviceSynchronize());
    std::vector<int> seen(kernels * blocks * threads);
    std::string text = printed();
    int last = 0, lines = 0;
    for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1, lines++) {
        int tag, block, thread;
        if (sscanf(&text[at], "%d: block %d thread %d\n", &tag, &block, &thread) != 3 ||
            tag < last || tag >= kernels || block >= blocks || thread >= threads ||
            seen[(tag * blocks + block) * threads + thread]++)
            fail("line %d: %.40s", lines, &text[at]);
        last = tag;
    }
    if (lines != kernels * blocks * threads)
        fail("%d lines, %d are right", lines, kernels * blocks * threads);
}

static void host_function(void *text)
{
    printf("%s\n", (const char *)text);
}

// After each of these calls everything that kernels before it have printed is there.
static void check_points()
{
    char *text = text_on_device("from a kernel");
    char there[14];
    cudaStream_t stream;
    cudaEvent_t event;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaEventCreate(&event));
    say<<<1, 1, 0, stream>>>(text);
    CHECK(cudaStreamSynchronize(stream));
    expect("from a kernel\n", "cudaStreamSynchronize");
    say<<<1, 1, 0, stream>>>(text);
    CHECK(cudaEventRecord(event, stream));
    CHECK(cudaEventSynchronize(event));
    expect("from a kernel\n", "cudaEventSynchronize");
    say<<<1, 1>>>(text);
    CHECK(cudaMemcpy(there, text, sizeof there, cudaMemcpyDeviceToHost));
    expect("from a kernel\n", "cudaMemcpy");
    say<<<1, 1, 0, stream>>>(text);
    CHECK(cudaLaunchHostFunc(stream, host_function, (void *)"from the host"));
    say<<<1, 1, 0, stream>>>(text);
    CHECK(cudaStreamSynchronize(stream));
    expect("from a kernel\nfrom the host\nfrom a kernel\n", "cudaLaunchHostFunc");
    say<<<1, 1, 0, stream>>>(text);
    CHECK(cudaDeviceReset());
    expect("from a kernel\n", "cudaDeviceReset");
}

// semantics S44: a full FIFO loses its oldest lines, and never a part of one.
static void check_limit()
{
    const size_t bytes = 1 << 17;
    size_t size;
    CHECK(cudaDeviceSetLimit(cudaLimitPrintfFifoSize, bytes));
    CHECK(cudaDeviceGetLimit(&size, cudaLimitPrintfFifoSize));
    if (size < bytes)
        fail("the FIFO has %zu bytes", size);
    const int lines = 100000;
    count<<<1, 1>>>(0, lines);
    CHECK(cudaDeviceSynchronize());
    std::string text = printed();
    const size_t line = strlen("line 123456\n");
    int first = lines - (int)(text.size() / line);
    if (text.size() % line != 0 || first <= 0 || lines - first < 200)
        fail("%zu bytes were printed", text.size());
    for (int i = first; i < lines; i++) {
        if (atoi(&text[(i - first) * line + 5]) != i)
            fail("\"%.12s\" where line %d is due", &text[(i - first) * line], i);
    }
    if (cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 2 * bytes) != cudaErrorInvalidValue)
        fail("the size of the FIFO was changed after a kernel had printed");
    (void)cudaGetLastError();
    for (int k = 0; k < 50; k++)
        count<<<1, 1>>>(k * 200, k * 200 + 200); // each launch brings out what is there
    CHECK(cudaDeviceSynchronize());
    text = printed();
    if (text.size() > 50 * 200 * line || text.size() < 200 * line ||
        atoi(&text[text.size() - line + 5]) != 50 * 200 - 1)
        fail("%zu bytes of many kernels", text.size());
}

int main()
{
    capture();
    check_limit();
    check_formats();
    check_threads();
    check_points();
    return passed();
}
