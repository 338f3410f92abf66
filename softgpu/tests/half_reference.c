/* SPDX-License-Identifier: Apache-2.0 */
/* See half_reference.h. */
#include "softgpu/tests/half_reference.h"

#include <fenv.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

struct format f16 = {"f16", 10, -14, 0x8000, 0x7c00, 0x7fff, {0}},
              bf16 = {"bf16", 7, -126, 0x8000, 0x7f80, 0x7fff, {0}},
              e4m3 = {"e4m3", 3, -6, 0x80, 0x7f, 0x7f, {0}},
              e5m2 = {"e5m2", 2, -14, 0x80, 0x7c, 0x7f, {0}};

static void fill(struct format *format)
{
    for (uint32_t code = 0; code <= format->infinity; code++) {
        int exponent = (int)(code >> format->fraction), ones = (1 << format->fraction) - 1;
        int digits = (int)code & ones;
        format->values[code] =
            exponent == 0
                ? ldexp(digits, format->least - format->fraction)
                : ldexp(digits + ones + 1, format->least - format->fraction + exponent - 1);
    }
}

void formats_fill(void)
{
    fill(&f16);
    fill(&bf16);
    fill(&e4m3);
    fill(&e5m2);
}

double value_of(const struct format *format, uint32_t code)
{
    uint32_t mag = code & (format->sign - 1);
    double sign = code & format->sign ? -1 : 1;
    return mag > format->infinity || (mag == format->infinity && format->nan == format->infinity)
               ? (double)NAN
           : mag == format->infinity ? sign * (double)INFINITY
                                     : sign * format->values[mag];
}

static bool is_negative(exact x)
{
    unsigned char bytes[16];
    memcpy(bytes, &x, 16);
    return bytes[15] >> 7;
}

uint32_t rounded(const struct format *format, exact x, int round)
{
    bool negative = is_negative(x);
    uint32_t sign = negative ? format->sign : 0, low = 0, high = format->infinity;
    exact mag = negative ? -x : x;
    if (x != x) {
        return format->nan;
    }
    if (mag > (exact)DBL_MAX) {
        return sign | format->infinity;
    }
    while (low < high) { /* the largest code that is not above */
        uint32_t middle = (low + high + 1) / 2;
        if ((exact)format->values[middle] <= mag) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    if (low == format->infinity) { /* beyond: directed rounding stays below infinity */
        low = format->infinity - 1;
        bool stays = round == FE_TOWARDZERO || round == (negative ? FE_UPWARD : FE_DOWNWARD);
        return sign | (stays ? low : format->infinity);
    }
    exact below = (exact)format->values[low], above = (exact)format->values[low + 1];
    exact tie = (below + above) / 2;
    bool up = mag != below && (round == FE_TONEAREST    ? mag > tie || (mag == tie && low % 2)
                               : round == FE_UPWARD     ? !negative
                               : round == FE_DOWNWARD   ? negative
                               : round == FE_TOWARDZERO ? false
                                                        : mag >= tie);
    return sign | (low + up);
}

uint32_t saturated(const struct format *format, exact x)
{
    uint32_t code = rounded(format, x, FE_TONEAREST);
    bool nan = x != x, over = (code & (format->sign - 1)) >= format->infinity;
    return nan ? format->nan : over ? (code & format->sign) | (format->infinity - 1) : code;
}

exact fused(double a, double b, double c)
{
    volatile exact p = (exact)a * (exact)b, q = c;
    volatile exact near = p + q, below, above;
    fesetround(FE_DOWNWARD);
    below = p + q;
    fesetround(FE_UPWARD);
    above = p + q;
    fesetround(FE_TONEAREST);
    unsigned char bytes[16];
    exact first = below;
    memcpy(bytes, &first, 16);
    return below == above || near != near ? near : bytes[0] & 1 ? below : above;
}
