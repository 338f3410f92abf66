/* SPDX-License-Identifier: Apache-2.0 */
// The library of every program here: each CUDA call is checked, wrong results are said in words,
// and the last line of a good run is PASSED. Nothing here may print PASSED by itself.
#pragma once

#include <cmath>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <cuda_runtime.h>

[[noreturn]] static inline void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("FAILED: ");
    vprintf(format, arguments);
    printf("\n");
    va_end(arguments);
    fflush(stdout);
    exit(1);
}

#define CHECK(call) check_runtime((call), #call, __FILE__, __LINE__)

static inline void check_runtime(cudaError_t error, const char *call, const char *file, int line)
{
    if (error != cudaSuccess)
        fail("%s:%d: %s: %s (%d, %s)", file, line, call, cudaGetErrorName(error), (int)error,
             cudaGetErrorString(error));
}

// The call must give exactly this error.
#define EXPECT_ERROR(call, expected) expect_error((call), (expected), #call, __FILE__, __LINE__)

static inline void expect_error(cudaError_t error, cudaError_t expected, const char *call,
                                const char *file, int line)
{
    if (error != expected)
        fail("%s:%d: %s: %s (%d) where %s (%d) is due", file, line, call, cudaGetErrorName(error),
             (int)error, cudaGetErrorName(expected), (int)expected);
    printf("%s -> %s\n", call, cudaGetErrorName(error));
}

static inline int passed()
{
    printf("PASSED\n");
    return 0;
}

// A small generator so that every run has the same input.
struct Random {
    uint64_t state;
    explicit Random(uint64_t seed) : state(seed * 2862933555777941757ull + 3037000493ull)
    {
    }
    uint32_t next()
    {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        return (uint32_t)(state >> 33);
    }
    uint32_t below(uint32_t limit)
    {
        return next() % limit;
    }
    double unit()
    {
        return next() / 2147483648.0;
    }
};
