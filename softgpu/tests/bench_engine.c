/* SPDX-License-Identifier: Apache-2.0 */
/* The speed of the engine, next to the same work in plain C on one thread: figures to look at, not
 * a test. bench_engine [WORKERS]; without it only the calling thread works. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "softgpu/tests/engine_fixture.h"

static struct engine engine;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void report(const char *name, double engine_s, double c_s)
{
    printf("%-14s %8.4f s   C %8.4f s   %.2fx C   %s\n", name, engine_s, c_s, c_s / engine_s,
           engine.fault.code ? engine.fault.text : "");
}

static float *floats(size_t count)
{
    float *at = engine_memory(&engine, count * 4);
    for (size_t i = 0; i < count; i++) {
        at[i] = (float)(i % 1000) * 0.01f + 0.5f;
    }
    return at;
}

static void bench_vector_add(void)
{
    enum { N = 1 << 24 };
    float *a = floats(N), *b = floats(N), *c = floats(N);
    double start = now();
    ENGINE_LAUNCH(&engine, "vector_add", N / 256, 256, 0, PTR(a), PTR(b), PTR(c), N);
    double engine_s = now() - start;
    start = now();
    for (int i = 0; i < N; i++) {
        c[i] = a[i] + b[i];
    }
    report("vector_add", engine_s, now() - start);
}

static void bench_matmul(void)
{
    enum { N = 512 };
    float *a = floats(N * N), *b = floats(N * N), *c = floats(N * N);
    const uint64_t params[] = {PTR(a), PTR(b), PTR(c), N};
    double start = now();
    engine_launch_3d(&engine, "matmul", (uint32_t[]){N / 16, N / 16, 1}, (uint32_t[]){16, 16, 1}, 0,
                     params, 4);
    double engine_s = now() - start;
    start = now();
    memset(c, 0, N * N * 4);
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < N; k++) {
            for (int j = 0; j < N; j++) {
                c[i * N + j] += a[i * N + k] * b[k * N + j];
            }
        }
    }
    report("matmul", engine_s, now() - start);
}

static void bench_reduce(void)
{
    enum { N = 1 << 24 };
    int *in = engine_memory(&engine, (size_t)N * 4), *out = engine_memory(&engine, 4), sum = 0;
    memset(in, 1, (size_t)N * 4);
    double start = now();
    ENGINE_LAUNCH(&engine, "reduce", N / 512, 512, 2048, PTR(in), PTR(out), N);
    double engine_s = now() - start;
    start = now();
    for (int i = 0; i < N; i++) {
        sum += in[i];
    }
    report(sum == *out ? "reduce" : "reduce WRONG", engine_s, now() - start);
}

static void bench_histogram(void)
{
    enum { N = 1 << 23 };
    unsigned char *in = engine_memory(&engine, N);
    unsigned *bins = engine_memory(&engine, 1024);
    for (int i = 0; i < N; i++) {
        in[i] = (unsigned char)((unsigned)i * 2654435761u >> 13);
    }
    double start = now();
    ENGINE_LAUNCH(&engine, "histogram", 64, 256, 0, PTR(in), PTR(bins), N);
    double engine_s = now() - start;
    start = now();
    for (int i = 0; i < N; i++) {
        bins[in[i]]++;
    }
    report("histogram", engine_s, now() - start);
}

static void bench_mandelbrot(void)
{
    enum { W = 600, H = 400, LIMIT = 1000 };
    int *out = engine_memory(&engine, W * H * 4), *mine = malloc(W * H * 4);
    const uint64_t params[] = {PTR(out), W, H, LIMIT};
    double start = now();
    engine_launch_3d(&engine, "mandelbrot", (uint32_t[]){(W + 15) / 16, (H + 15) / 16, 1},
                     (uint32_t[]){16, 16, 1}, 0, params, 4);
    double engine_s = now() - start;
    start = now();
    for (int i = 0; i < W * H; i++) {
        /* NOLINTNEXTLINE: i / W is a row */
        double cx = -2.0 + 3.0 * (i % W) / W, cy = -1.0 + 2.0 * (i / W) / H, x = 0, y = 0;
        int n = 0;
        for (; n < LIMIT && x * x + y * y < 4.0; n++) {
            double t = x * x - y * y + cx;
            y = 2 * x * y + cy;
            x = t;
        }
        mine[i] = n;
    }
    report(abs(mine[W * H / 2] - out[W * H / 2]) < 2 ? "mandelbrot" : "mandelbrot WRONG", engine_s,
           now() - start);
    free(mine);
}

static float normal(float d)
{
    return 0.5f * erfcf(-d * 0.70710678f);
}

static void bench_black_scholes(void)
{
    enum { N = 1 << 21 };
    float *call = floats(N), *put = floats(N), *s = floats(N), *x = floats(N), *t = floats(N);
    double start = now();
    ENGINE_LAUNCH(&engine, "black_scholes", N / 128, 128, 0, PTR(call), PTR(put), PTR(s), PTR(x),
                  PTR(t), engine_f32(0.02f), engine_f32(0.3f), N);
    double engine_s = now() - start;
    start = now();
    for (int i = 0; i < N; i++) {
        float root = sqrtf(t[i]), d1 = (logf(s[i] / x[i]) + 0.065f * t[i]) / (0.3f * root);
        float d2 = d1 - 0.3f * root, discount = expf(-0.02f * t[i]);
        call[i] = s[i] * normal(d1) - x[i] * discount * normal(d2);
        put[i] = x[i] * discount * (1 - normal(d2)) - s[i] * (1 - normal(d1));
    }
    report("black_scholes", engine_s, now() - start);
}

static void bench_nbody(void)
{
    enum { N = 2048 };
    double *at = engine_memory(&engine, N * 32), *force = engine_memory(&engine, N * 24);
    for (int i = 0; i < 4 * N; i++) {
        at[i] = (double)(i * 7919 % 1000) * 0.001;
    }
    double start = now();
    ENGINE_LAUNCH(&engine, "nbody", N / 128, 128, 0, PTR(at), PTR(force), N);
    double engine_s = now() - start;
    start = now();
    for (int i = 0; i < N; i++) {
        double f[3] = {0};
        for (int j = 0; j < N; j++) {
            double dx = at[4 * j] - at[4 * i], dy = at[4 * j + 1] - at[4 * i + 1],
                   dz = at[4 * j + 2] - at[4 * i + 2];
            double inv = 1 / sqrt(dx * dx + dy * dy + dz * dz + 1e-9);
            double scale = at[4 * j + 3] * inv * inv * inv;
            f[0] += scale * dx;
            f[1] += scale * dy;
            f[2] += scale * dz;
        }
        memcpy(force + 3 * i, f, sizeof f);
    }
    report("nbody", engine_s, now() - start);
}

static void bench_small_launches(void)
{
    float *a = floats(1024), *b = floats(1024), *c = floats(1024);
    double start = now();
    for (int i = 0; i < 10000; i++) {
        ENGINE_LAUNCH(&engine, "vector_add", 4, 256, 0, PTR(a), PTR(b), PTR(c), 1024);
    }
    printf("%-14s %8.2f us per launch of 1024 threads\n", "launches", (now() - start) * 100);
}

int main(int argc, char **argv)
{
    engine_open(&engine, argc > 1 ? (unsigned)atoi(argv[1]) : 0);
    engine_load_file(&engine, "basic");
    bench_vector_add();
    bench_matmul();
    bench_reduce();
    bench_histogram();
    bench_mandelbrot();
    bench_small_launches();
    engine_load_file(&engine, "maths");
    bench_black_scholes();
    bench_nbody();
    engine_close(&engine);
    return 0;
}
