/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of kernels.cu on the driver that LD_LIBRARY_PATH leads to, each next to the same work in
 * plain C, and the results compared.
 *
 *     soft KERNELS.ptx CORE THREADS
 *
 * Each line on stdin, "NAME SIZE", is a measurement, each answer a line of JSON: the nanoseconds of
 * the launch until it is over, and those of C, which does the work once in each of THREADS threads
 * at the same time (the nanoseconds of all, divided by THREADS). "load LINES" times the loading of
 * a text of at least so many lines, which has these kernels several times. A wrong result ends the
 * program. CORE is negative for all of them. */
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "perf/cuda.h"
#include "perf/soft/reference.h"
#include "perf/timing.h"

struct workload {
    const char *name;
    soft_reference *reference;
    unsigned in_count, out_count;
    unsigned square;   /* the buffers have n * n elements: 1 inputs, 2 outputs, 3 both */
    unsigned in_bytes; /* of an element */
    unsigned out_bytes, out_elements; /* 0: as many as the inputs */
    unsigned block[2];
    unsigned grid;  /* blocks; 0: a thread per element */
    bool integers;  /* of the outputs; otherwise floats */
    double differs; /* floats: largest error, relative above 1; integers: share that may differ */
};

static const struct workload workloads[] = {
    {"vector_add", reference_vector_add, 2, 1, 0, 4, 4, 0, {256, 1}, 0, false, 0},
    {"reduction", reference_reduction, 1, 1, 0, 4, 4, 1, {256, 1}, 64, true, 0},
    {"reduction_tree", reference_reduction, 1, 1, 0, 4, 4, 1, {512, 1}, 0, true, 0},
    {"matmul16", reference_matmul, 2, 1, 3, 4, 4, 0, {16, 16}, 0, false, 1e-5},
    {"matmul32", reference_matmul, 2, 1, 3, 4, 4, 0, {32, 32}, 0, false, 1e-5},
    {"black_scholes", reference_black_scholes, 3, 2, 0, 4, 4, 0, {128, 1}, 0, false, 1e-5},
    {"mandelbrot32", reference_mandelbrot32, 0, 1, 2, 4, 4, 0, {16, 16}, 0, true, 0.02},
    {"mandelbrot64", reference_mandelbrot64, 0, 1, 2, 4, 4, 0, {16, 16}, 0, true, 0.02},
    {"monte_carlo",
     reference_monte_carlo,
     1,
     1,
     0,
     4,
     4,
     MONTE_CARLO_OPTIONS,
     {256, 1},
     MONTE_CARLO_OPTIONS,
     false,
     1e-4},
    {"histogram", reference_histogram, 1, 1, 0, 1, 4, 256, {256, 1}, 64, true, 0},
    {"nbody", reference_nbody, 1, 1, 0, 16, 16, 0, {256, 1}, 0, false, 1e-3},
};

static struct cuda cuda;
static CUstream stream;
static CUmodule module;
static char text[1 << 20]; /* of the kernels */

#define THREADS_MAX 16
static unsigned threads; /* of the reference */

struct run { /* a workload of one size: made at its first turn */
    const struct workload *work;
    struct soft_data data[THREADS_MAX]; /* the reference's: other outputs for each thread */
    CUdeviceptr in[3], out[2];
    void *got[2];
    size_t in_elements, out_elements;
    CUfunction function;
};

_Noreturn static void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "soft: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    exit(1);
}

#define CHECK(call)                                                                                \
    do {                                                                                           \
        CUresult result_ = cuda.call;                                                              \
        if (result_ != CUDA_SUCCESS) {                                                             \
            fail("%s: error %d", #call, (int)result_);                                             \
        }                                                                                          \
    } while (0)

static void *memory(size_t bytes)
{
    void *at = calloc(1, bytes);
    if (at == NULL) {
        fail("no memory");
    }
    return at;
}

/* Numbers between 0.5 and 8.5; of bytes, any. */
static void fill(void *at, size_t bytes, unsigned element, unsigned seed)
{
    uint32_t x = 2463534242u + seed;
    for (size_t i = 0; i < bytes / (element == 1 ? 1 : 4); i++) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        if (element == 1) {
            ((uint8_t *)at)[i] = (uint8_t)x;
        } else {
            ((float *)at)[i] = 0.5f + (float)(x % 4096) / 512.0f;
        }
    }
}

static void run_make(struct run *run, const struct workload *work, int n)
{
    size_t all = (size_t)n * (work->square != 0 ? (size_t)n : 1);
    *run = (struct run){.work = work, .data[0].n = n};
    run->in_elements = all;
    run->out_elements = work->out_elements != 0 ? work->out_elements : all;
    for (unsigned i = 0; i < work->in_count; i++) {
        size_t bytes = run->in_elements * work->in_bytes;
        void *at = memory(bytes);
        fill(at, bytes, work->in_bytes, i);
        run->data[0].in[i] = at;
        CHECK(cuMemAlloc_v2(&run->in[i], bytes));
        CHECK(cuMemcpyHtoD_v2(run->in[i], at, bytes));
    }
    for (unsigned i = 0; i < work->out_count; i++) {
        size_t bytes = run->out_elements * work->out_bytes;
        run->got[i] = memory(bytes);
        CHECK(cuMemAlloc_v2(&run->out[i], bytes));
    }
    for (unsigned t = 0; t < threads; t++) {
        run->data[t] = run->data[0];
        for (unsigned i = 0; i < work->out_count; i++) {
            run->data[t].out[i] = memory(run->out_elements * work->out_bytes);
        }
    }
    CHECK(cuModuleGetFunction(&run->function, module, work->name));
}

static uint64_t launch_ns(const struct run *run)
{
    const struct workload *work = run->work;
    void *params[6];
    unsigned count = 0, n = (unsigned)run->data[0].n;
    CUdeviceptr pointers[5];
    int size = run->data[0].n;
    for (unsigned i = 0; i < work->in_count; i++) {
        pointers[count++] = run->in[i];
    }
    for (unsigned i = 0; i < work->out_count; i++) {
        CHECK(cuMemsetD8Async(run->out[i], 0, run->out_elements * work->out_bytes, stream));
        pointers[count++] = run->out[i];
    }
    for (unsigned i = 0; i < count; i++) {
        params[i] = &pointers[i];
    }
    params[count] = &size;
    unsigned x = work->grid != 0 ? work->grid : (n + work->block[0] - 1) / work->block[0];
    unsigned y = work->square != 0 ? (n + work->block[1] - 1) / work->block[1] : 1;
    CHECK(cuStreamSynchronize(stream));
    uint64_t start_ns = ga_clock_ns();
    CHECK(cuLaunchKernel(run->function, x, y, 1, work->block[0], work->block[1], 1, 0, stream,
                         params, NULL));
    CHECK(cuStreamSynchronize(stream));
    return ga_clock_ns() - start_ns;
}

struct part {
    soft_reference *reference;
    const struct soft_data *data;
};

static void *part_main(void *argument)
{
    const struct part *part = argument;
    part->reference(part->data);
    return NULL;
}

static uint64_t reference_ns(const struct run *run)
{
    pthread_t others[THREADS_MAX] = {0};
    struct part parts[THREADS_MAX];
    uint64_t start_ns = ga_clock_ns();
    for (unsigned t = 1; t < threads; t++) {
        parts[t] = (struct part){run->work->reference, &run->data[t]};
        if (pthread_create(&others[t], NULL, part_main, &parts[t]) != 0) {
            fail("no thread");
        }
    }
    run->work->reference(&run->data[0]);
    for (unsigned t = 1; t < threads; t++) {
        pthread_join(others[t], NULL);
    }
    return (ga_clock_ns() - start_ns) / threads;
}

static void compare(const struct run *run)
{
    const struct workload *work = run->work;
    for (unsigned k = 0; k < work->out_count; k++) {
        size_t words = run->out_elements * work->out_bytes / 4, different = 0;
        CHECK(cuMemcpyDtoH_v2(run->got[k], run->out[k], words * 4));
        const uint32_t *got = run->got[k], *want = run->data[0].out[k];
        const float *got_floats = run->got[k], *want_floats = run->data[0].out[k];
        for (size_t i = 0; i < words; i++) {
            float apart = fabsf(got_floats[i] - want_floats[i]);
            float size = fmaxf(1.0f, fabsf(want_floats[i]));
            if (!work->integers && !(apart <= (float)work->differs * size)) {
                fail("%s: element %zu of output %u is %g, not %g", work->name, i, k,
                     (double)got_floats[i], (double)want_floats[i]);
            }
            different += got[i] != want[i];
        }
        if (work->integers && (double)different > work->differs * (double)words) {
            fail("%s: %zu of %zu elements are wrong", work->name, different, words);
        }
    }
}

static struct run *run_find(const char *name, int n)
{
    static struct run runs[32];
    static unsigned count;
    for (unsigned i = 0; i < count; i++) {
        if (strcmp(runs[i].work->name, name) == 0 && runs[i].data[0].n == n) {
            return &runs[i];
        }
    }
    for (size_t i = 0; i < sizeof workloads / sizeof workloads[0]; i++) {
        if (strcmp(workloads[i].name, name) == 0 && count < sizeof runs / sizeof runs[0]) {
            struct run *run = &runs[count++];
            run_make(run, &workloads[i], n);
            (void)launch_ns(run); /* untouched pages */
            (void)reference_ns(run);
            return run;
        }
    }
    fail("no workload '%s', or too many", name);
}

/* ---- loading ---- */

static size_t lines_of(const char *at)
{
    size_t lines = 0;
    while ((at = strchr(at, '\n')) != NULL) {
        at++;
        lines++;
    }
    return lines;
}

/* Appends copies of the kernels in `text` under other names; only kernels in it are global. */
static char *append_kernels(char *to, unsigned copy)
{
    static const char entry[] = ".entry ";
    bool name = false;
    for (const char *at = strstr(text, ".visible"); at != NULL && *at != '\0'; at++) {
        name |= strncmp(at, entry, sizeof entry - 1) == 0;
        if (name && *at == '(') {
            to += sprintf(to, "_%u", copy);
            name = false;
        }
        *to++ = *at;
    }
    *to = '\0';
    return to;
}

static void load(unsigned lines)
{
    static char longer[8 << 20];
    char *end = longer + strlen(strcpy(longer, text));
    for (unsigned copy = 2; lines_of(longer) < lines; copy++) {
        if ((size_t)(end - longer) + 2 * strlen(text) > sizeof longer) {
            fail("%u lines are too many", lines);
        }
        end = append_kernels(end, copy);
    }
    for (int i = 0; i < 20; i++) {
        CUmodule loaded;
        uint64_t start_ns = ga_clock_ns();
        CHECK(cuModuleLoadData(&loaded, longer));
        uint64_t ns = ga_clock_ns() - start_ns;
        CHECK(cuModuleUnload(loaded));
        printf("%s%llu", i ? ", " : "{\"each_ns\": [", (unsigned long long)ns);
    }
    printf("], \"lines\": %zu}\n", lines_of(longer));
}

static void cuda_open(const char *path)
{
    CUdevice device;
    CUcontext context;
    FILE *file = fopen(path, "rb");
    if (file == NULL || fread(text, 1, sizeof text - 1, file) == 0) {
        fail("cannot read %s", path);
    }
    fclose(file);
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (library == NULL) {
        fail("%s", dlerror());
    }
#define X(name)                                                                                    \
    void *name##_found = dlsym(library, #name);                                                    \
    if (name##_found == NULL) {                                                                    \
        fail("no %s in libcuda.so.1", #name);                                                      \
    }                                                                                              \
    memcpy(&cuda.name, &name##_found, sizeof name##_found);
    CUDA_FUNCTIONS(X)
#undef X
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoadData(&module, text));
    CHECK(cuStreamCreate(&stream, 0));
}

int main(int argc, char **argv)
{
    char line[256], name[32];
    int size;
    threads = argc == 4 ? (unsigned)atoi(argv[3]) : 0;
    if (threads == 0 || threads > THREADS_MAX) {
        fprintf(stderr, "usage: soft KERNELS.ptx CORE THREADS, measurements on stdin (main.c)\n");
        return 2;
    }
    timing_pin(atoi(argv[2]));
    cuda_open(argv[1]);
    while (fgets(line, sizeof line, stdin) != NULL) {
        if (sscanf(line, "%31s %d", name, &size) != 2 || size <= 0) {
            fail("not a measurement: %s", line);
        }
        if (strcmp(name, "load") == 0) {
            load((unsigned)size);
        } else {
            struct run *run = run_find(name, size);
            uint64_t ours_ns = launch_ns(run), c_ns = reference_ns(run);
            compare(run);
            printf("{\"ns\": %llu, \"c_ns\": %llu}\n", (unsigned long long)ours_ns,
                   (unsigned long long)c_ns);
        }
        fflush(stdout);
    }
    return 0;
}
