/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of the driver API in loops, timed and checked: what a program sees.
 *
 *     loops CORE
 *
 * It opens libcuda.so.1 as any program does, so LD_LIBRARY_PATH decides what is measured. Each line
 * on stdin is a measurement (`operations` below), each answer a line of JSON. On the null device
 * every answer has been checked against the device's own counts ("checked": true); copies are
 * checked byte by byte on any device. A wrong result ends the program. */
#include "perf/loops.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>

#include "perf/loops_kernels.h"
#include "perf/timing.h"

#define WORK_ROUNDS 50000u /* of a kernel that computes */

/* In builds without a sanitizer: count_mallocs.c. */
extern _Atomic uint64_t perf_mallocs __attribute__((weak));

struct cuda loops_cuda;
static CUfunction launch_function, report_function, work_function;
CUstream loops_stream;
CUevent loops_event;
CUdeviceptr loops_memory;
static CUdeviceptr device_report;
static uint8_t *memory[2]; /* pageable: source, sink */
static uint8_t *pinned[2];
static uint64_t each_ns[TIMING_MAX];
static uint64_t sum;            /* as the null device sums launches */
static uint64_t report_mallocs; /* what reading a report costs there */

_Noreturn void loops_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "loops: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    exit(1);
}

/* ---- the device's counts */

static struct null_report report_read(void)
{
    struct null_report report = {0};
    void *params[] = {&device_report};
    CHECK(cuLaunchKernel(report_function, 1, 1, 1, 1, 1, 1, 0, loops_stream, params, NULL));
    CHECK(cuStreamSynchronize(loops_stream));
    CHECK(cuMemcpyDtoH_v2(&report, device_report, sizeof report));
    return report;
}

static void expect_growth(const struct measure *measure, const char *what, uint64_t before,
                          uint64_t after, uint64_t expected)
{
    if (after - before < expected) {
        loops_fail("%s: the device has seen %llu %s, %llu were due", measure->name,
                   (unsigned long long)(after - before), what, (unsigned long long)expected);
    }
}

static void report_check(const struct measure *measure, const struct null_report *before,
                         const struct null_report *after)
{
    const struct null_report *due = &measure->expected;
    expect_growth(measure, "launches", before->launches, after->launches, due->launches);
    expect_growth(measure, "fills", before->fills, after->fills, due->fills);
    expect_growth(measure, "event records", before->records, after->records, due->records);
    expect_growth(measure, "bytes in", before->bytes_in, after->bytes_in, due->bytes_in);
    expect_growth(measure, "bytes out", before->bytes_out, after->bytes_out, due->bytes_out);
    if (after->launches - before->launches != due->launches || after->launch_sum != sum) {
        loops_fail("%s: %llu launches with other parameters than were given, or too many",
                   measure->name, (unsigned long long)due->launches);
    }
}

/* ---- single calls */

void loops_launch(uint64_t number)
{
    uint64_t a = loops_memory, b = number;
    uint32_t c = (uint32_t)number, d = ~c;
    void *params[] = {&a, &b, &c, &d};
    CHECK(cuLaunchKernel(launch_function, 1, 1, 1, 1, 1, 1, 0, loops_stream, params, NULL));
}

/* The checksum that the device should have of launches 0 to count - 1. */
void loops_expect_launches(struct measure *measure, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        uint64_t a = loops_memory, b = i;
        uint32_t c = (uint32_t)i, d = ~c;
        sum = null_sum_add(sum, UINT64_C(1) << 32 | 1);
        sum = null_sum_bytes(sum, &a, sizeof a);
        sum = null_sum_bytes(sum, &b, sizeof b);
        sum = null_sum_bytes(sum, &c, sizeof c);
        sum = null_sum_bytes(sum, &d, sizeof d);
    }
    measure->expected.launches = count;
}

/* ---- measurements: each fills expected, start_ns, posted_ns and end_ns */

void loops_begin(struct measure *measure)
{
    measure->client_mallocs = &perf_mallocs != NULL ? perf_mallocs : 0;
    measure->start_ns = measure->posted_ns = ga_clock_ns();
}

void loops_finish(struct measure *measure)
{
    measure->end_ns = ga_clock_ns();
    measure->client_mallocs = (&perf_mallocs != NULL ? perf_mallocs : 0) - measure->client_mallocs;
}

void loops_single(uint64_t number, uint64_t before)
{
    each_ns[number] = ga_clock_ns() - before;
}

/* A question that only the server can answer. */
static void ask(void)
{
    size_t free_bytes, total;
    CHECK(cuMemGetInfo_v2(&free_bytes, &total));
}

/* COUNT waiting calls with nothing to wait for. */
static void wait_measure(struct measure *measure)
{
    measure->singly = true;
    loops_begin(measure);
    for (uint64_t i = 0; i < measure->count; i++) {
        uint64_t before = ga_clock_ns();
        ask();
        loops_single(i, before);
    }
    loops_finish(measure);
}

/* COUNT times: BYTES launches, then a waiting call. */
static void launch_wait_measure(struct measure *measure)
{
    measure->singly = true;
    loops_begin(measure);
    for (uint64_t i = 0; i < measure->count; i++) {
        uint64_t before = ga_clock_ns();
        for (uint64_t k = 0; k < measure->bytes; k++) {
            loops_launch(i * measure->bytes + k);
        }
        CHECK(cuStreamSynchronize(loops_stream));
        loops_single(i, before);
    }
    loops_finish(measure);
    loops_expect_launches(measure, measure->count * measure->bytes);
}

/* As above, with kernels that compute, each from the result of the one before. The null device
 * cannot do this. */
static void work_measure(struct measure *measure)
{
    uint32_t rounds = WORK_ROUNDS, due = 1, got = due;
    void *params[] = {&loops_memory, &rounds};
    CHECK(cuMemcpyHtoD_v2(loops_memory, &got, sizeof got));
    measure->singly = true;
    loops_begin(measure);
    for (uint64_t i = 0; i < measure->count; i++) {
        uint64_t before = ga_clock_ns();
        for (uint64_t k = 0; k < measure->bytes; k++) {
            CHECK(cuLaunchKernel(work_function, 1, 1, 1, 1, 1, 1, 0, loops_stream, params, NULL));
        }
        CHECK(cuStreamSynchronize(loops_stream));
        loops_single(i, before);
    }
    loops_finish(measure);
    for (uint64_t i = 0; i < measure->count * measure->bytes * rounds; i++) {
        due = due * 1664525 + 1013904223;
    }
    CHECK(cuMemcpyDtoH_v2(&got, loops_memory, sizeof got));
    if (got != due) {
        loops_fail("work: the kernels have computed %u, not %u", got, due);
    }
}

static void launch_measure(struct measure *measure)
{
    loops_begin(measure);
    for (uint64_t i = 0; i < measure->count; i++) {
        loops_launch(i);
    }
    measure->posted_ns = ga_clock_ns();
    CHECK(cuStreamSynchronize(loops_stream));
    loops_finish(measure);
    loops_expect_launches(measure, measure->count);
}

static void record_measure(struct measure *measure)
{
    loops_begin(measure);
    for (uint64_t i = 0; i < measure->count; i++) {
        CHECK(cuEventRecord(loops_event, loops_stream));
    }
    measure->posted_ns = ga_clock_ns();
    CHECK(cuStreamSynchronize(loops_stream));
    loops_finish(measure);
    measure->expected.records = measure->count;
}

static void fill_measure(struct measure *measure)
{
    loops_begin(measure);
    for (uint64_t i = 0; i < measure->count; i++) {
        CHECK(cuMemsetD8Async(loops_memory, (unsigned char)i, 16, loops_stream));
    }
    measure->posted_ns = ga_clock_ns();
    CHECK(cuStreamSynchronize(loops_stream));
    loops_finish(measure);
    measure->expected.fills = measure->count;
    uint8_t got[16];
    CHECK(cuMemcpyDtoH_v2(got, loops_memory, sizeof got));
    if (got[0] != (uint8_t)(measure->count - 1) || memcmp(got, got + 1, sizeof got - 1) != 0) {
        loops_fail("fill: the memory does not hold what the last fill wrote");
    }
}

/* COUNT times: BYTES are allocated, used and freed; one waiting call at the end. */
static void allocate_measure(struct measure *measure)
{
    loops_begin(measure);
    for (uint64_t i = 0; i < measure->count; i++) {
        CUdeviceptr block;
        CHECK(cuMemAlloc_v2(&block, measure->bytes));
        CHECK(cuMemsetD8Async(block, 1, 16, loops_stream));
        CHECK(cuMemFree_v2(block));
    }
    measure->posted_ns = ga_clock_ns();
    CHECK(cuStreamSynchronize(loops_stream));
    loops_finish(measure);
    measure->expected.fills = measure->count;
}

/* COUNT times: an event, a waiting call, and the question whether the event is ready. */
static void query_measure(struct measure *measure)
{
    measure->singly = true;
    loops_begin(measure);
    for (uint64_t i = 0; i < measure->count; i++) {
        uint64_t before = ga_clock_ns();
        CHECK(cuEventRecord(loops_event, loops_stream));
        CHECK(cuStreamSynchronize(loops_stream));
        CHECK(cuEventQuery(loops_event));
        loops_single(i, before);
    }
    loops_finish(measure);
    measure->expected.records = measure->count;
}

/* COUNT devices, one after the other: a context on each, which is asked once. */
static void contexts_measure(struct measure *measure)
{
    CUcontext first, context;
    CHECK(cuCtxGetCurrent(&first));
    loops_begin(measure);
    for (uint64_t i = 0; i < measure->count; i++) {
        CUdevice device;
        CHECK(cuDeviceGet(&device, (int)i));
        CHECK(cuDevicePrimaryCtxRetain(&context, device));
        CHECK(cuCtxSetCurrent(context));
        ask();
    }
    loops_finish(measure);
    CHECK(cuCtxSetCurrent(first));
}

/* ---- copies */

void loops_buffers(bool pin, uint8_t **source, uint8_t **sink)
{
    for (int i = 0; i < 2; i++) {
        uint8_t **buffer = pin ? &pinned[i] : &memory[i];
        if (*buffer == NULL && pin) {
            CHECK(cuMemHostAlloc((void **)buffer, LOOPS_MEMORY, 0));
        } else if (*buffer == NULL) {
            *buffer = mmap(NULL, LOOPS_MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                           -1, 0);
        }
        if (*buffer == MAP_FAILED) {
            loops_fail("no memory");
        }
    }
    *source = pin ? pinned[0] : memory[0];
    *sink = pin ? pinned[1] : memory[1];
}

static void buffers_find(const struct measure *measure, uint8_t **source, uint8_t **sink)
{
    bool pin = strcmp(measure->kind, "pinned") == 0;
    if (!pin && strcmp(measure->kind, "pageable") != 0) {
        loops_fail("%s: memory is pinned or pageable", measure->name);
    }
    loops_buffers(pin, source, sink);
}

/* Touches every page, differently each time, so that stale bytes are found. */
static void stamp(uint8_t *buffer, uint64_t bytes)
{
    static uint64_t number;
    number++;
    for (uint64_t at = 0; at + sizeof number <= bytes; at += 256) {
        uint64_t word = null_sum_add(number, at);
        memcpy(buffer + at, &word, sizeof word);
    }
}

static void in_measure(struct measure *measure)
{
    uint8_t *source, *sink;
    buffers_find(measure, &source, &sink);
    stamp(source, measure->bytes);
    memset(sink, 0, measure->bytes);
    loops_begin(measure);
    for (uint64_t i = 0; i < measure->count; i++) {
        CHECK(cuMemcpyHtoDAsync_v2(loops_memory, source, measure->bytes, loops_stream));
    }
    measure->posted_ns = ga_clock_ns();
    CHECK(cuStreamSynchronize(loops_stream));
    loops_finish(measure);
    CHECK(cuMemcpyDtoH_v2(sink, loops_memory, measure->bytes));
    if (memcmp(source, sink, measure->bytes) != 0) {
        loops_fail("in %llu: other bytes came back", (unsigned long long)measure->bytes);
    }
    measure->expected.bytes_in = measure->bytes * measure->count;
}

/* Into pageable memory each copy waits; into pinned memory the last one does. */
static void out_measure(struct measure *measure)
{
    uint8_t *source, *sink;
    buffers_find(measure, &source, &sink);
    bool waits = source == memory[0];
    stamp(source, measure->bytes);
    memset(sink, 0, measure->bytes);
    CHECK(cuMemcpyHtoD_v2(loops_memory, source, measure->bytes));
    CHECK(cuStreamSynchronize(loops_stream));
    measure->singly = waits;
    loops_begin(measure);
    for (uint64_t i = 0; i < measure->count; i++) {
        uint64_t before = ga_clock_ns();
        CHECK(cuMemcpyDtoHAsync_v2(sink, loops_memory, measure->bytes, loops_stream));
        loops_single(i, before);
    }
    measure->posted_ns = ga_clock_ns();
    CHECK(cuStreamSynchronize(loops_stream));
    loops_finish(measure);
    if (memcmp(source, sink, measure->bytes) != 0) {
        loops_fail("out %llu: other bytes came", (unsigned long long)measure->bytes);
    }
    measure->expected.bytes_out = measure->bytes * measure->count;
}

static const struct operation {
    const char *name, *form; /* of the arguments */
    void (*run)(struct measure *measure);
} operations[] = {
    {"wait", "COUNT", wait_measure},
    {"launch", "COUNT", launch_measure},
    {"launch_wait", "COUNT LAUNCHES", launch_wait_measure},
    {"work_wait", "COUNT LAUNCHES", work_measure},
    {"record", "COUNT", record_measure},
    {"fill", "COUNT", fill_measure},
    {"allocate", "COUNT BYTES", allocate_measure},
    {"query", "COUNT", query_measure},
    {"waits", "COUNT 0 event|module|in|out", loops_waits},
    {"contexts", "COUNT", contexts_measure},
    {"mix_fill", "1 BYTES", loops_mix_fill},
    {"mix", "MILLISECONDS BYTES START", loops_mix},
    {"in", "COUNT BYTES pageable|pinned", in_measure},
    {"out", "COUNT BYTES pageable|pinned", out_measure},
};

static void measure_print(struct measure *measure, const struct null_report *before,
                          const struct null_report *after)
{
    bool checked = after->magic == NULL_REPORT_MAGIC;
    if (checked) {
        report_check(measure, before, after);
    }
    printf("{");
    timing_print(measure->singly ? each_ns : NULL, measure->count,
                 measure->end_ns - measure->start_ns);
    printf(", \"posted_ns\": %llu, \"checked\": %s",
           (unsigned long long)(measure->posted_ns - measure->start_ns),
           checked ? "true" : "false");
    if (&perf_mallocs != NULL) {
        printf(", \"client_mallocs\": %llu", (unsigned long long)measure->client_mallocs);
    }
    if (checked && after->mallocs != NULL_REPORT_NOT_COUNTED) {
        uint64_t mallocs = after->mallocs - before->mallocs;
        printf(", \"server_mallocs\": %llu",
               (unsigned long long)(mallocs > report_mallocs ? mallocs - report_mallocs : 0));
    }
    printf("}\n");
    fflush(stdout);
}

static void measure_run(const char *line)
{
    struct measure measure = {0};
    unsigned long long count = 0, bytes = 0;
    int fields = sscanf(line, "%31s %llu %llu %15s", measure.name, &count, &bytes, measure.kind);
    measure.count = count;
    measure.bytes = bytes;
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        if (strcmp(measure.name, operations[i].name) == 0) {
            if (fields < 2 || count == 0 || count > TIMING_MAX || bytes > LOOPS_MEMORY) {
                loops_fail("%s takes %s", measure.name, operations[i].form);
            }
            struct null_report before = report_read();
            operations[i].run(&measure);
            struct null_report after = report_read();
            measure_print(&measure, &before, &after);
            return;
        }
    }
    loops_fail("not a measurement: %s", line);
}

static void cuda_open(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (library == NULL) {
        loops_fail("%s", dlerror());
    }
#define X(name)                                                                                    \
    void *name##_found = dlsym(library, #name);                                                    \
    if (name##_found == NULL) {                                                                    \
        loops_fail("no %s in libcuda.so.1", #name);                                                \
    }                                                                                              \
    memcpy(&loops_cuda.name, &name##_found, sizeof name##_found);
    CUDA_FUNCTIONS(X)
#undef X
}

static void device_open(void)
{
    CUdevice device;
    CUcontext context;
    CUmodule module;
    char name[256];
    uint64_t start_ns = ga_clock_ns();
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    ask();
    uint64_t first_ns = ga_clock_ns() - start_ns;
    CHECK(cuDeviceGetName(name, sizeof name, device));
    CHECK(cuModuleLoadData(&module, kernels));
    CHECK(cuModuleGetFunction(&launch_function, module, "bench_launch"));
    CHECK(cuModuleGetFunction(&report_function, module, "null_report"));
    CHECK(cuModuleGetFunction(&work_function, module, "bench_work"));
    CHECK(cuStreamCreate(&loops_stream, 0));
    CHECK(cuEventCreate(&loops_event, 0));
    CHECK(cuMemAlloc_v2(&loops_memory, LOOPS_MEMORY));
    CHECK(cuMemAlloc_v2(&device_report, sizeof(struct null_report)));
    CHECK(cuMemsetD8Async(device_report, 0, sizeof(struct null_report), loops_stream));
    struct null_report first = report_read(), second = report_read();
    report_mallocs = second.mallocs - first.mallocs;
    sum = second.launch_sum;
    printf("{\"device\": \"%s\", \"first_ns\": %llu}\n", name, (unsigned long long)first_ns);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    char line[256];
    if (argc != 2) {
        fprintf(stderr, "usage: loops CORE, measurements on stdin (see loops.c)\n");
        return 2;
    }
    timing_pin(atoi(argv[1]));
    cuda_open();
    device_open();
    while (fgets(line, sizeof line, stdin) != NULL) {
        measure_run(line);
    }
    return 0;
}
