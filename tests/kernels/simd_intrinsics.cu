// SPDX-License-Identifier: Apache-2.0
// The SIMD intrinsics (__vadd4 and its kin), dot products and bit intrinsics against plain C.
#include <vector>

#include "check.h"

enum { count = 8192, results = 24 };

static __global__ void run(const unsigned *x, unsigned *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned a = x[3 * i], b = x[3 * i + 1], c = x[3 * i + 2], *o = out + i * results;
    o[0] = __vadd4(a, b);
    o[1] = __vsub2(a, b);
    o[2] = __vaddss4(a, b);
    o[3] = __vsubus4(a, b);
    o[4] = __vabsdiffu4(a, b);
    o[5] = __vabsdiffs2(a, b);
    o[6] = __vsadu4(a, b);
    o[7] = __vsads2(a, b);
    o[8] = __vmaxs4(a, b);
    o[9] = __vminu2(a, b);
    o[10] = __vavgu4(a, b);
    o[11] = __vavgs2(a, b);
    o[12] = __vcmpgts4(a, b);
    o[13] = __vsetleu2(a, b);
    o[14] = __vneg4(a);
    o[15] = __vabsss2(a);
    o[16] = (unsigned)__dp4a((int)a, (int)b, (int)c);
    o[17] = __dp2a_hi(a, b, c);
    o[18] = __byte_perm(a, b, c);
    o[19] = __funnelshift_lc(a, b, c);
    o[20] = __sad((int)a, (int)b, c);
    o[21] = __brev(a) ^ __ffs((int)b) ^ (unsigned)__clz((int)c) << 8;
    o[22] = (unsigned)__rhadd((int)a, (int)b);
    o[23] = __uhadd(a, b);
}

static int part(unsigned x, int bits, int i, bool is_signed)
{
    unsigned value = x >> (bits * i) & ((1u << bits) - 1);
    return is_signed && value >> (bits - 1) ? (int)value - (1 << bits) : (int)value;
}

// Applies f to each part and packs the low bits of what it gives
template <typename F> static unsigned each(unsigned a, unsigned b, int bits, bool is_signed, F f)
{
    unsigned r = 0, ones = (1u << bits) - 1;
    for (int i = 0; i < 32 / bits; i++)
        r |= ((unsigned)f(part(a, bits, i, is_signed), part(b, bits, i, is_signed)) & ones)
             << (bits * i);
    return r;
}

template <typename F> static unsigned total(unsigned a, unsigned b, int bits, bool is_signed, F f)
{
    unsigned r = 0;
    for (int i = 0; i < 32 / bits; i++)
        r += (unsigned)f(part(a, bits, i, is_signed), part(b, bits, i, is_signed));
    return r;
}

static int limit(int x, int low, int high) { return x < low ? low : x > high ? high : x; }
static int add(int a, int b) { return a + b; }
static int subtract(int a, int b) { return a - b; }
static int distance(int a, int b) { return a > b ? a - b : b - a; }

static void right(unsigned a, unsigned b, unsigned c, unsigned *o)
{
    o[0] = each(a, b, 8, false, add);
    o[1] = each(a, b, 16, false, subtract);
    o[2] = each(a, b, 8, true, [](int p, int q) { return limit(p + q, -128, 127); });
    o[3] = each(a, b, 8, false, [](int p, int q) { return limit(p - q, 0, 255); });
    o[4] = each(a, b, 8, false, distance);
    o[5] = each(a, b, 16, true, distance);
    o[6] = total(a, b, 8, false, distance);
    o[7] = total(a, b, 16, true, distance);
    o[8] = each(a, b, 8, true, [](int p, int q) { return p > q ? p : q; });
    o[9] = each(a, b, 16, false, [](int p, int q) { return p < q ? p : q; });
    o[10] = each(a, b, 8, false, [](int p, int q) { return (p + q + 1) / 2; });
    o[11] = each(a, b, 16, true,
                 [](int p, int q) { return (p + q + (p + q >= 0 ? 1 : -1)) / 2; });
    o[12] = each(a, b, 8, true, [](int p, int q) { return p > q ? -1 : 0; });
    o[13] = each(a, b, 16, false, [](int p, int q) { return p <= q ? 1 : 0; });
    o[14] = each(a, b, 8, true, [](int p, int) { return -p; });
    o[15] = each(a, b, 16, true, [](int p, int) { return limit(p < 0 ? -p : p, 0, 32767); });
    o[16] = c + total(a, b, 8, true, [](int p, int q) { return p * q; });
    o[17] = c + (unsigned)part(a, 16, 0, false) * (unsigned)part(b, 8, 2, false) +
            (unsigned)part(a, 16, 1, false) * (unsigned)part(b, 8, 3, false);
    uint64_t both = (uint64_t)b << 32 | a;
    o[18] = 0;
    for (int i = 0; i < 4; i++)
        o[18] |= (unsigned)(both >> (8 * (c >> (4 * i) & 7)) & 255) << (8 * i);
    unsigned shift = c > 32 ? 32 : c;
    o[19] = (unsigned)(both << shift >> 32);
    if (shift == 32)
        o[19] = a;
    int64_t p = (int)a, q = (int)b;
    o[20] = c + (unsigned)(p > q ? p - q : q - p);
    unsigned reversed = 0;
    for (int i = 0; i < 32; i++)
        reversed |= (a >> i & 1) << (31 - i);
    o[21] = reversed ^ (unsigned)__builtin_ffs((int)b) ^
            (c ? (unsigned)__builtin_clz(c) : 32u) << 8;
    o[22] = (unsigned)((p + q + 1) >> 1);
    o[23] = (unsigned)(((uint64_t)a + b) >> 1);
}

int main()
{
    std::vector<unsigned> x(3 * count), out(count * results);
    Random random(5);
    for (int i = 0; i < 3 * count; i++) {
        unsigned r = random.next() << 16 ^ random.next();
        x[i] = i % 5 == 0 ? r & 0x80ff807f : i % 7 == 0 ? r >> random.below(32) : r;
    }
    unsigned *device_x, *device_out;
    CHECK(cudaMalloc(&device_x, x.size() * 4));
    CHECK(cudaMalloc(&device_out, out.size() * 4));
    CHECK(cudaMemcpy(device_x, x.data(), x.size() * 4, cudaMemcpyHostToDevice));
    run<<<count / 128, 128>>>(device_x, device_out);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(out.data(), device_out, out.size() * 4, cudaMemcpyDeviceToHost));
    for (int i = 0; i < count; i++) {
        unsigned want[results], *o = &out[i * results];
        right(x[3 * i], x[3 * i + 1], x[3 * i + 2], want);
        for (int k = 0; k < results; k++)
            if (o[k] != want[k])
                fail("result %d of %x, %x, %x: %x, not %x", k, x[3 * i], x[3 * i + 1], x[3 * i + 2],
                     o[k], want[k]);
    }
    printf("%d results are right\n", count * results);
    return passed();
}
