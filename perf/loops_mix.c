/* SPDX-License-Identifier: Apache-2.0 */
/* A session among many: the mixed work of an application, checked in every round.
 *
 * Note: all sessions begin at a given time and last equally long, so none has the server for
 * itself at the beginning. Only rounds that end in time count. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "perf/loops.h"
#include "perf/timing.h"

#define LARGE    (UINT64_C(1) << 20)
#define SMALL    4096u
#define SMALLS   8u
#define LAUNCHES 32u

struct mix {
    uint8_t *source, *sink;
    uint64_t places; /* of LARGE bytes, taken in turn */
};

/* Bytes that no other session and no other round has. */
static void round_stamp(uint8_t *bytes, uint64_t size, uint64_t number)
{
    uint64_t words[2] = {null_sum_add(number, (uint64_t)getpid()), number};
    memcpy(bytes, words, sizeof words);
    memcpy(bytes + size / 2, words, sizeof words);
    memcpy(bytes + size - sizeof words, words, sizeof words);
}

static void round_compare(const uint8_t *source, const uint8_t *sink, uint64_t size,
                          uint64_t number)
{
    const uint64_t at[] = {0, size / 2, size - 16};
    for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
        if (memcmp(source + at[i], sink + at[i], 16) != 0) {
            loops_fail("mix: in round %llu other bytes came", (unsigned long long)number);
        }
    }
}

/* 45 calls of the driver (perf/mix.py). */
static void mix_round(const struct mix *mix, uint64_t number)
{
    uint64_t at = number % mix->places * LARGE, last = (SMALLS - 1) * SMALL;
    uint8_t *source = mix->source + at, *sink = mix->sink + at;
    CUdeviceptr device = loops_memory + at;
    for (uint64_t i = 0; i < LAUNCHES; i++) {
        loops_launch(number * LAUNCHES + i);
    }
    round_stamp(source + last, SMALL, number);
    for (uint64_t i = 0; i < SMALLS; i++) {
        CHECK(cuMemcpyHtoDAsync_v2(device + i * SMALL, source + i * SMALL, SMALL, loops_stream));
    }
    CHECK(cuEventRecord(loops_event, loops_stream));
    CHECK(cuStreamSynchronize(loops_stream));
    CHECK(cuMemcpyDtoHAsync_v2(sink + last, device + last, SMALL, loops_stream));
    round_compare(source + last, sink + last, SMALL, number);
    round_stamp(source, LARGE, ~number);
    CHECK(cuMemcpyHtoDAsync_v2(device, source, LARGE, loops_stream));
    CHECK(cuMemcpyDtoHAsync_v2(sink, device, LARGE, loops_stream));
    round_compare(source, sink, LARGE, number);
}

static void sleep_until(uint64_t ms)
{
    struct timespec at = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR) {
    }
}

static struct mix mix_of(const struct measure *measure)
{
    struct mix mix = {.places = measure->bytes / LARGE};
    if (mix.places == 0) {
        loops_fail("%s: at least 1 MiB", measure->name);
    }
    loops_buffers(false, &mix.source, &mix.sink);
    return mix;
}

void loops_mix_fill(struct measure *measure)
{
    struct mix mix = mix_of(measure);
    uint64_t bytes = mix.places * LARGE;
    for (uint64_t i = 0; i < bytes; i += sizeof i) {
        uint64_t word = null_sum_add(i, (uint64_t)getpid());
        memcpy(mix.source + i, &word, sizeof word);
    }
    memset(mix.sink, 0, bytes);
    loops_begin(measure);
    CHECK(cuMemcpyHtoD_v2(loops_memory, mix.source, bytes));
    loops_finish(measure);
    measure->expected.bytes_in = bytes;
}

void loops_mix(struct measure *measure)
{
    struct mix mix = mix_of(measure);
    uint64_t start_ms = strtoull(measure->kind, NULL, 10), number = 0, rounds = 0;
    uint64_t end_ns = (start_ms + measure->count) * 1000000;
    sleep_until(start_ms);
    loops_begin(measure);
    while (ga_clock_ns() < end_ns && number < TIMING_MAX) {
        uint64_t before = ga_clock_ns();
        mix_round(&mix, number);
        loops_single(number++, before);
        rounds += ga_clock_ns() <= end_ns;
    }
    loops_finish(measure);
    CHECK(cuMemcpyDtoH_v2(mix.sink, loops_memory, mix.places * LARGE));
    if (memcmp(mix.source, mix.sink, mix.places * LARGE) != 0) {
        loops_fail("mix: other bytes came back at the end");
    }
    loops_expect_launches(measure, number * LAUNCHES);
    measure->expected.records = number;
    measure->expected.bytes_in = number * (LARGE + SMALLS * SMALL);
    measure->expected.bytes_out = number * (LARGE + SMALL);
    measure->singly = true;
    measure->count = rounds;
}
