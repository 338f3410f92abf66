/* SPDX-License-Identifier: Apache-2.0 */
/* Whole CUDA programs, compiled by nvcc, against the same work done in C. */
#include <criterion/criterion.h>
#include <immintrin.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "softgpu/tests/engine_fixture.h"

static struct engine engine;

static void open_basic(void)
{
    engine_open(&engine, 2);
    engine_load_file(&engine, "basic");
}

static void open_features(void)
{
    engine_open(&engine, 2);
    engine_load_file(&engine, "features");
}

static void shut(void)
{
    engine_close(&engine);
}

static void no_fault(void)
{
    cr_assert_eq(engine.fault.code, SG_FAULT_NONE, "%s: %s at PTX line %u",
                 sg_fault_name(engine.fault.code), engine.fault.text, engine.fault.line);
}

TestSuite(basic, .init = open_basic, .fini = shut);
TestSuite(features, .init = open_features, .fini = shut);

Test(basic, vector_add)
{
    enum { N = 10007 };
    float *a = engine_memory(&engine, N * 4), *b = engine_memory(&engine, N * 4);
    float *c = engine_memory(&engine, N * 4 + 400);
    for (int i = 0; i < N; i++) {
        a[i] = (float)i * 0.5f;
        b[i] = (float)(N - i);
    }
    ENGINE_LAUNCH(&engine, "vector_add", (N + 255) / 256, 256, 0, PTR(a), PTR(b), PTR(c), N);
    no_fault();
    for (int i = 0; i < N; i++) {
        cr_assert_eq(c[i], a[i] + b[i], "at %d", i);
    }
    cr_assert_eq(c[N], 0.0f, "written behind the end");
}

/* The calling thread works too, and may have set the processor to anything. */
Test(basic, kernels_have_their_own_floating_point_mode)
{
    float *a = engine_memory(&engine, 128), *b = engine_memory(&engine, 128);
    float *c = engine_memory(&engine, 128);
    a[0] = 0x1p-149f;
    a[1] = 1.0f;
    b[1] = 0x1p-30f;
    unsigned mxcsr = _mm_getcsr();
    _mm_setcsr(mxcsr | 0x8040 | 0x4000); /* flush subnormals, round up */
    ENGINE_LAUNCH(&engine, "vector_add", 1, 32, 0, PTR(a), PTR(b), PTR(c), 2);
    cr_assert_eq(_mm_getcsr() & 0xffc0, (mxcsr | 0xc040) & 0xffc0);
    _mm_setcsr(mxcsr);
    no_fault();
    cr_assert_eq(c[0], 0x1p-149f);
    cr_assert_eq(c[1], 1.0f);
}

Test(basic, matmul)
{
    enum { N = 64 };
    float *a = engine_memory(&engine, N * N * 4), *b = engine_memory(&engine, N * N * 4);
    float *c = engine_memory(&engine, N * N * 4);
    for (int i = 0; i < N * N; i++) {
        a[i] = (float)(i % 17) - 8;
        b[i] = (float)(i % 23) - 11;
    }
    const uint64_t params[] = {PTR(a), PTR(b), PTR(c), N};
    engine_launch_3d(&engine, "matmul", (uint32_t[]){N / 16, N / 16, 1}, (uint32_t[]){16, 16, 1}, 0,
                     params, 4);
    no_fault();
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            float sum = 0; /* small integers: exact in any order */
            for (int k = 0; k < N; k++) {
                sum += a[i * N + k] * b[k * N + j];
            }
            cr_assert_eq(c[i * N + j], sum, "at %d,%d", i, j);
        }
    }
}

Test(basic, reduce)
{
    enum { N = 100001 };
    int *in = engine_memory(&engine, N * 4), *out = engine_memory(&engine, 4), sum = 0;
    for (int i = 0; i < N; i++) {
        in[i] = i % 1000 - 300;
        sum += in[i];
    }
    ENGINE_LAUNCH(&engine, "reduce", (N + 511) / 512, 512, 512 * 4, PTR(in), PTR(out), N);
    no_fault();
    cr_assert_eq(*out, sum);
}

Test(basic, scan)
{
    enum { BLOCKS = 7 };
    unsigned *in = engine_memory(&engine, BLOCKS * 1024),
             *out = engine_memory(&engine, BLOCKS * 1024);
    for (int i = 0; i < BLOCKS * 256; i++) {
        in[i] = (unsigned)i * 2654435761u;
    }
    ENGINE_LAUNCH(&engine, "scan", BLOCKS, 256, 0, PTR(in), PTR(out));
    no_fault();
    for (int b = 0; b < BLOCKS; b++) {
        unsigned sum = 0;
        for (int i = 0; i < 256; i++) {
            sum += in[b * 256 + i];
            cr_assert_eq(out[b * 256 + i], sum, "block %d at %d", b, i);
        }
    }
}

Test(basic, histogram)
{
    enum { N = 50000 };
    unsigned char *in = engine_memory(&engine, N);
    unsigned *bins = engine_memory(&engine, 1024), expected[256] = {0};
    for (int i = 0; i < N; i++) {
        in[i] = (unsigned char)((unsigned)i * (unsigned)i >> 3);
        expected[in[i]]++;
    }
    ENGINE_LAUNCH(&engine, "histogram", 9, 256, 0, PTR(in), PTR(bins), N);
    no_fault();
    cr_assert_arr_eq(bins, expected, sizeof expected);
}

Test(basic, mandelbrot)
{
    enum { W = 70, H = 50, LIMIT = 300 };
    int *out = engine_memory(&engine, W * H * 4);
    const uint64_t params[] = {PTR(out), W, H, LIMIT};
    engine_launch_3d(&engine, "mandelbrot", (uint32_t[]){(W + 15) / 16, (H + 15) / 16, 1},
                     (uint32_t[]){16, 16, 1}, 0, params, 4);
    no_fault();
    int wrong = 0;
    for (int y = 0; y < H; y++) {
        for (int x = 0; x < W; x++) {
            /* the test of the loop may be contracted to fma there: allow the odd pixel */
            double cx = -2.0 + 3.0 * x / W, cy = -1.0 + 2.0 * y / H, zx = 0, zy = 0;
            int i = 0;
            while (i < LIMIT && zx * zx + zy * zy < 4.0) {
                double t = zx * zx - zy * zy + cx;
                zy = 2 * zx * zy + cy;
                zx = t;
                i++;
            }
            wrong += out[y * W + x] != i;
        }
    }
    cr_assert_leq(wrong, 5);
}

Test(basic, transpose)
{
    enum { N = 96 };
    float *in = engine_memory(&engine, N * N * 4), *out = engine_memory(&engine, N * N * 4);
    for (int i = 0; i < N * N; i++) {
        in[i] = (float)i;
    }
    const uint64_t params[] = {PTR(in), PTR(out), N};
    engine_launch_3d(&engine, "transpose", (uint32_t[]){3, 3, 1}, (uint32_t[]){32, 8, 1}, 0, params,
                     3);
    no_fault();
    for (int i = 0; i < N * N; i++) {
        cr_assert_eq(out[i % N * N + i / N], in[i], "at %d", i);
    }
}

/* ---- language features ---- */

static int fibonacci(int n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static int ackermann(int m, int n)
{
    return m == 0 ? n + 1 : ackermann(m - 1, n == 0 ? 1 : ackermann(m, n - 1));
}

Test(features, divergent_and_mutual_recursion)
{
    int *out = engine_memory(&engine, 100 * 4);
    ENGINE_LAUNCH(&engine, "recursion", 2, 50, 0, PTR(out));
    no_fault();
    for (int t = 0; t < 100; t++) {
        cr_assert_eq(out[t], t % 3 == 2 ? ackermann(2, t % 5) : fibonacci(t % 12), "thread %d", t);
    }
}

Test(features, endless_recursion_is_a_fault)
{
    int *out = engine_memory(&engine, 8);
    ENGINE_LAUNCH(&engine, "overflow", 1, 32, 0, PTR(out));
    cr_assert_eq(engine.fault.code, SG_FAULT_STACK);
}

struct record {
    int a;
    double b;
    char c[6];
};

Test(features, structures_by_value_and_initialised_variables)
{
    const struct sg_kernel *kernel = sg_program_kernel_find(engine.program, "records");
    struct record in = {5, 1.5, "abcde"}, *out = engine_memory(&engine, 64 * sizeof in);
    int *tags = engine_memory(&engine, 64 * 4);
    uint8_t params[64] = {0};
    uint64_t pointers[2] = {PTR(out), PTR(tags)};
    cr_assert_eq(kernel->params[0].size, sizeof in);
    memcpy(params + kernel->params[0].offset, &in, sizeof in);
    memcpy(params + kernel->params[1].offset, pointers, sizeof pointers);
    struct sg_launch launch = {.image = engine.image,
                               .kernel = kernel,
                               .grid = {1, 1, 1},
                               .block = {40, 1, 1},
                               .params = params,
                               .map = engine.map};
    sg_grid_run(engine.pool, &launch, &engine.fault);
    no_fault();
    static const char names[2][6] = {"ab", "xyz"};
    for (int t = 0; t < 40; t++) {
        char c[6] = "abcde";
        c[t % 6] = (char)t;
        cr_assert_eq(out[t].a, 5 + t);
        cr_assert_eq(out[t].b, 1.5 * t);
        cr_assert_arr_eq(out[t].c, c, 6, "thread %d", t);
        cr_assert_eq(tags[t], (t % 2 ? 40 : 20) + names[t % 2][t % 3] + 30 + (1 << t % 8),
                     "thread %d", t);
    }
}

Test(features, module_variables_keep_their_values)
{
    int *counter = engine_variable(&engine, "counter");
    cr_assert_eq(*counter, 40);
    ENGINE_LAUNCH(&engine, "bump", 3, 64, 0, 2);
    ENGINE_LAUNCH(&engine, "bump", 1, 1, 0, 1);
    no_fault();
    cr_assert_eq(*counter, 40 + 3 * 64 * 2 + 1);
}

static uint32_t brev(uint32_t x)
{
    uint32_t r = 0;
    for (int i = 0; i < 32; i++) {
        r |= (x >> i & 1) << (31 - i);
    }
    return r;
}

static uint32_t byte_of(uint32_t x, uint32_t y, int i)
{
    return i < 4 ? x >> (8 * i) & 255 : y >> (8 * (i - 4)) & 255;
}

Test(features, bits)
{
    enum { N = 500 };
    uint32_t *in = engine_memory(&engine, N * 8), *out = engine_memory(&engine, N * 64);
    uint64_t seed = 1;
    for (int i = 0; i < 2 * N; i++) {
        in[i] = (uint32_t)engine_random(&seed) >> (i % 33 == 32 ? 31 : i % 33);
    }
    ENGINE_LAUNCH(&engine, "bits", (N + 63) / 64, 64, 0, PTR(in), PTR(out), N);
    no_fault();
    for (int i = 0; i < N; i++) {
        uint32_t x = in[2 * i], y = in[2 * i + 1], *o = out + 16 * i;
        uint64_t both = (uint64_t)y << 32 | x;
        int32_t sx = (int32_t)x, sd = (int32_t)(y | 1);
        cr_assert_eq(o[0], brev(x));
        cr_assert_eq(o[1], x ? (uint32_t)__builtin_clz(x) : 32);
        cr_assert_eq(o[2], (uint32_t)__builtin_popcount(x));
        cr_assert_eq(o[3], byte_of(x, y, 5) | byte_of(x, y, 1) << 8 | byte_of(x, y, 7) << 16 |
                               byte_of(x, y, 3) << 24);
        cr_assert_eq(o[4], (uint32_t)(both << (y & 31) >> 32), "funnel %x %x", x, y);
        cr_assert_eq(o[5], (uint32_t)(both >> ((x & 63) > 32 ? 32 : x & 63)), "clamp %x %x", x, y);
        cr_assert_eq(o[6], (uint32_t)((uint64_t)x * y >> 32));
        cr_assert_eq(o[7], (uint32_t)((int64_t)sx * (int32_t)y >> 32));
        cr_assert_eq(o[8], (uint32_t)__builtin_ffs(sx));
        cr_assert_eq(o[9], (((x ^ y) & ~(x | 0xff)) ^ 0x1234));
        cr_assert_eq(o[10], (x > y ? x - y : y - x) + 7);
        cr_assert_eq(o[11], (uint32_t)(sx >> (y & 31)));
        cr_assert_eq(o[12], x / (y | 1));
        cr_assert_eq(o[13], x % (y | 1));
        cr_assert_eq(o[14], (uint32_t)((int64_t)sx / sd));
        cr_assert_eq(o[15],
                     (uint32_t)((int64_t)((int32_t)(x << 8) >> 8) * ((int32_t)(y << 8) >> 8)));
    }
}

Test(features, wide_integers)
{
    enum { N = 300 };
    int64_t *in = engine_memory(&engine, N * 16), *out = engine_memory(&engine, N * 64);
    uint64_t seed = 7;
    for (int i = 0; i < 2 * N; i++) {
        in[i] = (int64_t)engine_random(&seed) >> (i % 60);
    }
    ENGINE_LAUNCH(&engine, "wide", (N + 63) / 64, 64, 0, PTR(in), PTR(out), N);
    no_fault();
    for (int i = 0; i < N; i++) {
        int64_t x = in[2 * i], y = in[2 * i + 1] | 1, *o = out + 8 * i;
        uint64_t ux = (uint64_t)x, uy = (uint64_t)y;
        cr_assert_eq(o[0], y == -1 ? (int64_t)(0 - ux) : x / y);
        cr_assert_eq(o[1], y == -1 ? 0 : x % y);
        cr_assert_eq((uint64_t)o[2], ux / uy);
        cr_assert_eq((uint64_t)o[3], ux % uy);
        cr_assert_eq(o[4], (int64_t)((__int128)x * y >> 64));
        cr_assert_eq(o[5], (x ? __builtin_clzll(ux) : 64) + __builtin_popcountll(uy));
        cr_assert_eq(o[7],
                     (int64_t)(((uint64_t)brev((uint32_t)ux) << 32 | brev((uint32_t)(ux >> 32))) ^
                               (ux << (y & 63)) ^ (uint64_t)(x >> (y & 63))));
    }
}

static int compare_ints(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

Test(features, arrays_in_local_memory)
{
    enum { N = 70 };
    int *in = engine_memory(&engine, N * 64), *out = engine_memory(&engine, N * 64);
    uint64_t seed = 3;
    for (int i = 0; i < N * 16; i++) {
        in[i] = (int)(engine_random(&seed) % 1000);
    }
    ENGINE_LAUNCH(&engine, "local_sort", 2, 64, 0, PTR(in), PTR(out), N);
    no_fault();
    for (int i = 0; i < N; i++) {
        qsort(in + 16 * i, 16, sizeof *in, compare_ints);
        cr_assert_arr_eq(out + 16 * i, in + 16 * i, 64, "thread %d", i);
    }
}

Test(features, generic_pointers)
{
    int *out = engine_memory(&engine, 64 * 4), *spaces = engine_memory(&engine, 64 * 4);
    ENGINE_LAUNCH(&engine, "generic", 1, 64, 0, PTR(out), PTR(spaces));
    no_fault();
    int extra = 0;
    for (int t = 0; t < 64; t++) {
        cr_assert_eq(spaces[t], t % 3 == 0 ? 1 : t % 3 == 1 ? 2 : 4, "thread %d", t);
        extra += t % 3 == 2;
    }
    for (int t = 1; t < 64; t++) {
        int shared = 100 + t + (t % 3 == 0), local = t + 5 + 1000 + (t % 3 == 1);
        cr_assert_eq(out[t], 7 + shared + local, "thread %d", t);
    }
    (void)extra; /* out[0] is where threads race */
}

Test(features, vectors)
{
    float *in = engine_memory(&engine, 64 * 16), *out = engine_memory(&engine, 64 * 16);
    short *shorts = engine_memory(&engine, 64 * 8);
    int *ints = engine_memory(&engine, 64 * 8);
    for (int i = 0; i < 256; i++) {
        in[i] = (float)i;
        shorts[i] = (short)(i * 257 - 30000);
    }
    ENGINE_LAUNCH(&engine, "vectors", 1, 64, 0, PTR(in), PTR(out), PTR(shorts), PTR(ints));
    no_fault();
    for (int t = 0; t < 64; t++) {
        for (int k = 0; k < 4; k++) {
            cr_assert_eq(out[4 * t + k], in[4 * t + 3 - k]);
        }
        cr_assert_eq(ints[2 * t], shorts[4 * t] * shorts[4 * t + 1]);
        cr_assert_eq(ints[2 * t + 1], shorts[4 * t + 2] - shorts[4 * t + 3]);
    }
}

Test(features, cooperative_groups)
{
    int *out = engine_memory(&engine, 128 * 4);
    ENGINE_LAUNCH(&engine, "groups", 1, 128, 0, PTR(out));
    no_fault();
    for (int t = 0; t < 128; t++) {
        int first = t / 8 * 8, sum = 0;
        for (int k = 0; k < 8; k++) {
            sum += (127 - (first + k)) * 3;
        }
        cr_assert_eq(out[t], sum, "thread %d: %d, not %d", t, out[t], sum);
    }
}

Test(features, warp_functions)
{
    uint32_t *out = engine_memory(&engine, 96 * 32);
    ENGINE_LAUNCH(&engine, "warps", 1, 96, 0, PTR(out));
    no_fault();
    for (uint32_t t = 0; t < 96; t++) {
        uint32_t *o = out + 8 * t, base = t / 32 * 32, lane = t % 32, ballot = 0, match = 0;
        for (uint32_t k = 0; k < 32; k++) {
            ballot |= ((base + k) % 3 == 0 ? 1u : 0u) << k;
            match |= ((base + k) % 4 == t % 4 ? 1u : 0u) << k;
        }
        cr_assert_eq(o[0], ballot);
        cr_assert_eq(o[1], t / 32 == 1);
        cr_assert_eq(o[2], t < 32);
        cr_assert_eq(o[3], base + (lane ^ 5));
        cr_assert_eq(o[4], lane % 16 >= 3 ? t - 3 : t);
        cr_assert_eq(o[5], match);
        cr_assert_eq(o[6], t & 1 ? 0xaaaaaaaau : 0);
        cr_assert_eq(o[7], 20 + 2000);
    }
}

Test(features, atomics)
{
    enum { BLOCKS = 8, N = BLOCKS * 128 };
    uint32_t *u = engine_memory(&engine, 64);
    int *s = engine_memory(&engine, 8);
    uint64_t *w = engine_memory(&engine, 16);
    float *f = engine_memory(&engine, 4);
    double *d = engine_memory(&engine, 8);
    u[2] = 1000000;
    u[6] = 0xffffffff;
    u[9] = 1;
    ENGINE_LAUNCH(&engine, "atomics", BLOCKS, 128, 0, PTR(u), PTR(s), PTR(w), PTR(f), PTR(d));
    no_fault();
    uint32_t product = 1, parity = 0;
    for (uint32_t i = 0; i < N; i++) {
        product *= 3;
        parity ^= i;
    }
    cr_assert_eq(u[0], N * (N - 1) / 2);
    cr_assert_eq(u[1], 0u - N);
    cr_assert_eq(u[2], 5);
    cr_assert_eq(u[3], N - 1);
    cr_assert_eq(u[4], N % 100);
    cr_assert_eq(u[5], (100 - N % 100) % 100);
    cr_assert_eq(u[6], 0);
    cr_assert_eq(u[7], 127);
    cr_assert_eq(u[8], parity);
    cr_assert_eq(u[9], product);
    cr_assert_eq(u[11], 1);
    cr_assert_eq(s[0], -(N - 1));
    cr_assert_eq(s[1], 0); /* 0 is greater than all of them */
    cr_assert_eq(w[0], (uint64_t)N * (N - 1) / 2 << 20);
    cr_assert_eq(w[1], (uint64_t)(N - 1) << 33);
    cr_assert_eq(*f, 0.5f * N);
    cr_assert_eq(*d, 0.25 * N);
}
