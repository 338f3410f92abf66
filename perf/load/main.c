/* SPDX-License-Identifier: Apache-2.0 */
/* gpuaas-load: replays a trace of the simulator (docs/simulator.md) as real CUDA programs, each
 * request a process of its own, and prints a line of JSON for each. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "perf/load/client.h"

#define GPUS_MAX 64u

static const char usage[] =
    "usage: gpuaas-load TRACE [--stream NAME] [--scale S] [--bytes B] [--gpus M,...]\n"
    "\n"
    "Does the requests of a trace (docs/simulator.md), each by a process that uses libcuda.so.1:\n"
    "it sleeps in CPU phases, copies, and launches gpuaas_timed (docs/softgpu-timing.md).\n"
    "\n"
    "  --stream NAME  only the requests of this stream\n"
    "  --scale S      times and bytes of the trace by S, from 1e-6 to 1000 (1)\n"
    "  --bytes B      bytes of copies besides by B, from 1e-6 to 1000 (1): copies take as long as\n"
    "                 before on a GPU whose link is so much slower, and this machine copies less\n"
    "  --gpus M,...   models of the GPUs 0, 1, ... (docs/softgpu-timing.md): requests take them "
    "in\n"
    "                 turn as they arrive, and kernels take their time there (the trace's GPU)\n"
    "\n"
    "A line for each request that has ended: stream, request (from 0), gpu, and in nanoseconds "
    "from "
    "the\n"
    "trace's beginning arrival, begin, ready (its context is made), end; late_p99 and late_max: "
    "by\n"
    "which CPU phases ended late; cpu: the sum of these phases.\n"
    "\n"
    "Exit status: 0; 1: a request failed; 2: wrong arguments or trace.\n";

struct request_at_work {
    pid_t pid;
    uint32_t index; /* in the trace */
};

static struct {
    struct sim_app app; /* its trace, and the GPU of that */
    struct load_scale scale;
    struct load_gpu gpus[GPUS_MAX];
    uint32_t gpu_count, started;
    const char *stream;
    uint64_t began_ns;
    struct request_at_work *at_work;
    uint32_t count;
    bool failed;
} load = {.scale = {.time = 1, .bytes = 1}};

/* ---- one request */

static uint64_t since(uint64_t ns)
{
    return ns > load.began_ns ? ns - load.began_ns : 0;
}

static const char *stream_of(uint32_t index)
{
    return load.app.trace.streams[load.app.trace.requests[index].stream];
}

/* The number within its stream, from 0. */
static uint32_t number_of(uint32_t index)
{
    uint32_t number = 0;
    for (uint32_t i = 0; i < index; i++) {
        number += load.app.trace.requests[i].stream == load.app.trace.requests[index].stream;
    }
    return number;
}

static void request_run(uint32_t index, uint64_t arrival_ns)
{
    struct load_result result;
    const struct load_gpu *gpu = &load.gpus[(load.started - 1) % load.gpu_count];
    bool good = load_request(&load.app, &load.app.trace.requests[index], gpu, &load.scale, &result);
    if (good) {
        printf("{\"stream\": \"%s\", \"request\": %u, \"gpu\": %d, \"arrival\": %" PRIu64
               ", \"begin\": %" PRIu64 ", \"ready\": %" PRIu64 ", \"end\": %" PRIu64
               ", \"late_p99\": %" PRIu64 ", \"late_max\": %" PRIu64 ", \"cpu\": %" PRIu64
               ", \"phases\": %" PRIu64 "}\n",
               stream_of(index), number_of(index), gpu->ordinal, arrival_ns, since(result.begin_ns),
               since(result.ready_ns), since(result.end_ns), result.late_p99_ns, result.late_max_ns,
               result.cpu_ns, result.phases);
        fflush(stdout);
    }
    exit(good ? 0 : 1);
}

/* ---- all of them */

static bool request_start(uint32_t index, uint64_t arrival_ns)
{
    fflush(stdout);
    load.started++;
    pid_t pid = fork();
    if (pid == 0) {
        request_run(index, arrival_ns);
    }
    if (pid < 0) {
        fprintf(stderr, "gpuaas-load: cannot make a process: %s\n", strerror(errno));
        return false;
    }
    load.at_work[load.count++] = (struct request_at_work){.pid = pid, .index = index};
    return true;
}

/* The next of the stream that begins when one before it ends; the count of requests: none. */
static uint32_t follower_of(uint32_t index)
{
    const struct sim_trace_request *requests = load.app.trace.requests;
    for (uint32_t i = index + 1; i < load.app.trace.request_count; i++) {
        if (requests[i].stream == requests[index].stream) {
            return requests[i].arrival_ns == SIM_ARRIVES_AFTER ? i : load.app.trace.request_count;
        }
    }
    return load.app.trace.request_count;
}

static void request_ended(pid_t pid, int status)
{
    for (uint32_t i = 0; i < load.count; i++) {
        if (load.at_work[i].pid == pid) {
            uint32_t index = load.at_work[i].index, next = follower_of(index);
            load.at_work[i] = load.at_work[--load.count];
            if (status != 0) {
                fprintf(stderr, "gpuaas-load: request %u of %s failed\n", number_of(index),
                        stream_of(index));
                load.failed = true;
            }
            if (next < load.app.trace.request_count && !load.failed) {
                load.failed = !request_start(next, since(ga_clock_ns()));
            }
            return;
        }
    }
}

/* Waits until this time, or (UINT64_MAX) until all have ended; takes those that end. */
static void wait_until(uint64_t until_ns)
{
    while (load.count != 0 || until_ns != UINT64_MAX) {
        int status;
        pid_t pid = waitpid(-1, &status, until_ns != UINT64_MAX ? WNOHANG : 0);
        if (pid > 0) {
            request_ended(pid, status);
            continue;
        }
        uint64_t now = ga_clock_ns();
        if (until_ns == UINT64_MAX || now >= until_ns) {
            return;
        }
        uint64_t step = now + GA_NS_PER_MS < until_ns ? now + GA_NS_PER_MS : until_ns;
        const struct timespec time = ga_clock_time(step);
        (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
    }
}

static bool is_wanted(uint32_t index)
{
    return load.stream == NULL || strcmp(stream_of(index), load.stream) == 0;
}

static int arrival_order(const void *a, const void *b)
{
    const struct sim_trace_request *requests = load.app.trace.requests;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    uint64_t at = requests[x].arrival_ns, other = requests[y].arrival_ns;
    return at != other ? (at > other ? 1 : -1) : (x > y) - (x < y);
}

/* An "after" request that is its stream's first arrives at once. */
static bool arrives_by_itself(uint32_t index, uint64_t *arrival_ns)
{
    const struct sim_trace_request *request = &load.app.trace.requests[index];
    *arrival_ns = request->arrival_ns != SIM_ARRIVES_AFTER
                      ? (uint64_t)((double)request->arrival_ns * load.scale.time)
                      : 0;
    return request->arrival_ns != SIM_ARRIVES_AFTER || number_of(index) == 0;
}

static bool replay(void)
{
    uint32_t *order = calloc(load.app.trace.request_count + 1, sizeof *order), count = 0;
    load.at_work = calloc(load.app.trace.request_count + 1, sizeof *load.at_work);
    if (order == NULL || load.at_work == NULL) {
        fprintf(stderr, "gpuaas-load: no memory\n");
        free(order);
        return false;
    }
    for (uint32_t i = 0; i < load.app.trace.request_count; i++) {
        uint64_t arrival_ns;
        if (is_wanted(i) && arrives_by_itself(i, &arrival_ns)) {
            order[count++] = i;
        }
    }
    qsort(order, count, sizeof *order, arrival_order);
    load.began_ns = ga_clock_ns();
    for (uint32_t i = 0; i < count && !load.failed; i++) {
        uint64_t arrival_ns;
        (void)arrives_by_itself(order[i], &arrival_ns);
        wait_until(load.began_ns + arrival_ns);
        load.failed = load.failed || !request_start(order[i], arrival_ns);
    }
    wait_until(UINT64_MAX);
    free(order);
    free(load.at_work);
    return !load.failed;
}

/* ---- arguments */

static bool factor_read(const char *name, const char *text, double least, double *out)
{
    char *end;
    double value = text != NULL ? strtod(text, &end) : 0;
    if (text == NULL || *text == 0 || *end != 0 || !(value >= least && value <= 1000)) {
        fprintf(stderr, "gpuaas-load: %s %s: a number from %g to 1000 is due\n", name,
                text != NULL ? text : "", least);
        return false;
    }
    *out = value;
    return true;
}

static bool stream_read(const char *name)
{
    for (uint32_t i = 0; name != NULL && i < load.app.trace.stream_count; i++) {
        if (strcmp(load.app.trace.streams[i], name) == 0) {
            load.stream = name;
            return true;
        }
    }
    fprintf(stderr, "gpuaas-load: the trace has no stream %s\n", name != NULL ? name : "");
    return false;
}

static bool gpus_read(char *names)
{
    load.gpu_count = 0;
    if (names == NULL) {
        fprintf(stderr, "gpuaas-load: --gpus: models are due\n");
        return false;
    }
    for (char *name = names; name != NULL;) {
        char *next = strchr(name, ',');
        if (next != NULL) {
            *next++ = 0;
        }
        if (load.gpu_count == GPUS_MAX || !sim_app_model(&load.gpus[load.gpu_count].model, name)) {
            fprintf(stderr,
                    "gpuaas-load: --gpus: no model %s (docs/softgpu-timing.md); at most %u\n", name,
                    GPUS_MAX);
            return false;
        }
        load.gpus[load.gpu_count].ordinal = (int)load.gpu_count;
        load.gpu_count++;
        name = next;
    }
    return true;
}

static bool option_read(char **argv, int i)
{
    if (strcmp(argv[i], "--scale") == 0) {
        return factor_read(argv[i], argv[i + 1], 1e-6, &load.scale.time);
    }
    if (strcmp(argv[i], "--bytes") == 0) {
        return factor_read(argv[i], argv[i + 1], 1e-6, &load.scale.bytes);
    }
    if (strcmp(argv[i], "--gpus") == 0) {
        return gpus_read(argv[i + 1]);
    }
    if (strcmp(argv[i], "--stream") == 0) {
        return stream_read(argv[i + 1]);
    }
    fprintf(stderr, "gpuaas-load: unknown option %s\n%s", argv[i], usage);
    return false;
}

int main(int argc, char **argv)
{
    char why[400];
    if (argc < 2 || strcmp(argv[1], "--help") == 0) {
        fputs(usage, argc < 2 ? stderr : stdout);
        return argc < 2 ? 2 : 0;
    }
    if (sim_trace_read_file(argv[1], &load.app.trace, why, sizeof why) != GA_OK) {
        fprintf(stderr, "gpuaas-load: %s\n", why);
        return 2;
    }
    (void)sim_app_model(&load.app.reference, load.app.trace.gpu);
    load.gpus[0].model = load.app.reference;
    load.gpu_count = 1;
    for (int i = 2; i < argc; i += 2) {
        if (!option_read(argv, i)) {
            sim_trace_free(&load.app.trace);
            return 2;
        }
    }
    bool good = replay();
    sim_trace_free(&load.app.trace);
    return good ? 0 : 1;
}
