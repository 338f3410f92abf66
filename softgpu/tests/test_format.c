/* SPDX-License-Identifier: Apache-2.0 */
/* Format strings: valid ones print as with the host's printf, invalid ones do no harm. */
#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "softgpu/exec/format.h"

/* All memory of the test may be read, but for addresses below 4096 and above 2^47. */
static bool read_any(const struct sg_format_memory *memory, uint64_t address, void *to,
                     unsigned bytes)
{
    (void)memory;
    if (address < 4096 || address >> 47 != 0) {
        return false;
    }
    memcpy(to, (const void *)(uintptr_t)address, bytes);
    return true;
}

static const struct sg_format_memory memory = {read_any};
static struct sg_format out;

static const char *print(const char *format, const void *arguments)
{
    sg_format_print(&out, &memory, (uint64_t)(uintptr_t)format, (uint64_t)(uintptr_t)arguments);
    static char text[sizeof out.text + 1];
    memcpy(text, out.text, out.used);
    text[out.used] = '\0';
    return text;
}

static uint64_t of_double(double d)
{
    uint64_t bits;
    memcpy(&bits, &d, sizeof bits);
    return bits;
}

#define IS(want, result_wanted, format, ...)                                                       \
    do {                                                                                           \
        const uint64_t arguments_[] = {__VA_ARGS__};                                               \
        cr_expect_str_eq(print(format, arguments_), want);                                         \
        cr_expect_eq(out.result, result_wanted, "%s gives %d", format, out.result);                \
        cr_expect_not(out.faulted, "%s", format);                                                  \
    } while (0)

/* One argument of 8 bytes: an int is its low half, as the compiler lays it. */
#define AS_HOST(format, type, value, bits)                                                         \
    do {                                                                                           \
        char want_[6000];                                                                          \
        snprintf(want_, sizeof want_, format, (type)(value));                                      \
        IS(want_, 1, format, bits);                                                                \
    } while (0)

/* clang-format off */
#define INTEGERS(T)                                                                                \
    T("%d") T("%5d") T("%-5d|") T("%05d") T("%+d") T("% d") T("%.3d") T("%8.3d") T("%-8.3d|")      \
    T("%i") T("%u") T("%x") T("%X") T("%#x") T("%o") T("%#o") T("%hd") T("%hhd") T("%hu")          \
    T("%hhx") T("a%db") T("%-+5d|") T("%0+7d") T("%.0d")
#define WIDE_INTEGERS(T)                                                                           \
    T("%lld") T("%llu") T("%llx") T("%ld") T("%lx") T("%zu") T("%zd") T("%jd") T("%td")            \
    T("%25lld") T("%-25llx|") T("%020lld") T("%+lld")
#define WITH_A_POINT(T)                                                                            \
    T("%f") T("%e") T("%g") T("%a") T("%E") T("%G") T("%A") T("%F") T("%.0f") T("%.3f")            \
    T("%10.2f") T("%-12.4e|") T("%+g") T("%#g") T("%020.5f") T("%lf") T("%.40f") T("% a")
/* clang-format on */

Test(format, integers_as_the_host_prints_them)
{
    static const int values[] = {0, 1, -1, 42, -12345, 2147483647, -2147483647 - 1, 65537, 300};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
#define T(f) AS_HOST(f, int, values[i], (uint32_t)values[i] | UINT64_C(0x5555555500000000));
        INTEGERS(T)
#undef T
    }
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat" /* all of them have 64 bits here */

Test(format, wide_integers_as_the_host_prints_them)
{
    static const long long values[] = {0, -1, 1234567890123456789, (long long)(UINT64_C(1) << 63)};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
#define T(f) AS_HOST(f, long long, values[i], (uint64_t)values[i]);
        WIDE_INTEGERS(T)
#undef T
    }
}

#pragma GCC diagnostic pop

Test(format, numbers_with_a_point_as_the_host_prints_them)
{
    const double values[] = {0.0,       -0.0,  1.5,    3.14159265358979, -2.5e-7,
                             1e22,      1e308, 5e-324, __builtin_inf(),  -__builtin_inf(),
                             123456.789};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
#define T(f) AS_HOST(f, double, values[i], of_double(values[i]));
        WITH_A_POINT(T)
#undef T
    }
}

Test(format, several_arguments_each_aligned_to_its_size)
{
    struct {
        int i, pad;
        double d;
        int c, j;
        const char *s;
    } a = {7, 0, 2.5, 'x', -1, "text"};
    cr_expect_str_eq(print("%d %.1f %c %d %s.", &a), "7 2.5 x -1 text.");
    cr_expect_eq(out.result, 5);
}

Test(format, strings_and_characters)
{
    const uint64_t s = (uint64_t)(uintptr_t) "abcdef";
    IS("abcdef", 1, "%s", s);
    IS("abc", 1, "%.3s", s);
    IS("", 1, "%.0s", s);
    IS("  abcdef|", 1, "%8s|", s);
    IS("abcdef  |", 1, "%-8s|", s);
    IS("  ab|", 1, "%4.2s|", s);
    IS("(null)", 1, "%s", 0);
    IS("  x|x  |", 2, "%3c|%-3c|", (uint64_t)'x' | (uint64_t)'x' << 32);
    IS("0x1234", 1, "%p", 0x1234);
    IS("(nil)", 1, "%p", 0);
    print("%c", (const uint64_t[]){0});
    cr_expect_eq(out.used, 1);
    cr_expect_eq(out.text[0], '\0');
}

Test(format, stars)
{
    IS("   42|", 2, "%*d|", 5 | (uint64_t)42 << 32);
    IS("42   |", 2, "%*d|", (uint32_t)-5 | (uint64_t)42 << 32);
    IS("1.50", 2, "%.*f", 2, of_double(1.5));
    IS("1.500000", 2, "%.*f", (uint32_t)-2, of_double(1.5));
    IS("   1.5|", 3, "%*.*f|", 6 | (uint64_t)1 << 32, of_double(1.5));
}

Test(format, no_arguments)
{
    IS("plain", 0, "plain", 0);
    IS("100%", 0, "100%%", 0);
    IS("", 0, "", 0);
    cr_expect_str_eq(print("plain", NULL), "plain");
    cr_expect_eq(out.result, 0);
    cr_expect_str_eq(print(NULL, NULL), "");
    cr_expect_eq(out.result, -1);
}

Test(format, what_is_no_specifier_stands_as_it_is)
{
    IS("%n", 0, "%n", (uint64_t)(uintptr_t)&out);
    IS("%lln 5", 1, "%lln %d", 5);
    IS("%y%", 0, "%y%", 5);
    IS("%", 0, "%", 5);
    IS("%-", 0, "%-", 5);
    IS("%5.", 0, "%5.", 5);
    IS("%ll", 0, "%ll", 5);
    IS("%5%5", 1, "%5%%d", 5);
    IS("%1$d", 0, "%1$d", 5);
    IS("%m", 0, "%m", 5);
    IS("%'d", 0, "%'d", 5);
    IS("%\xff", 0, "%\xff", 5);
}

Test(format, what_is_beyond_the_arguments_stands_as_it_is)
{
    char format[200] = "", want[200] = "";
    uint64_t arguments[SG_FORMAT_ARGUMENTS];
    for (int i = 0; i < SG_FORMAT_ARGUMENTS; i++) {
        arguments[i] = 7;
        memcpy(format + strlen(format), "%lld", 5);
        memcpy(want + strlen(want), "7", 2);
    }
    memcpy(format + strlen(format), "%lld%s%%", 9);
    memcpy(want + strlen(want), "%lld%s%", 8);
    cr_expect_str_eq(print(format, arguments), want);
    cr_expect_eq(out.result, SG_FORMAT_ARGUMENTS);
}

Test(format, everything_is_bounded)
{
    const uint64_t seven = 7;
    print("%99999999999999999999d", &seven);
    cr_expect_eq(out.used, SG_FORMAT_WIDTH);
    print("%.99999999999999999999d", &seven);
    cr_expect_eq(out.used, SG_FORMAT_WIDTH);
    const uint64_t most[] = {INT32_MAX, of_double(1.0)};
    print("%.*f", most);
    cr_expect_eq(out.used, 2 + SG_FORMAT_WIDTH);
    const uint64_t least[] = {(uint32_t)INT32_MIN | (uint64_t)42 << 32};
    print("%*d", least);
    cr_expect_eq(out.used, SG_FORMAT_WIDTH);
    const double big[] = {1e308};
    print("%4096.4096f%4096.4096f", (const double[]){1e308, 1e308});
    cr_expect_eq(out.used, 2 * (309 + 1 + SG_FORMAT_WIDTH));
    print("%#4096.4096f", big);
    cr_expect_eq(out.used, 309 + 1 + SG_FORMAT_WIDTH);
    static char text[200000];
    memset(text, 'a', sizeof text - 1);
    print("%s", (const uint64_t[]){(uint64_t)(uintptr_t)text});
    cr_expect_eq(out.used, SG_FORMAT_TEXT);
    print(text, NULL);
    cr_expect_eq(out.used, SG_FORMAT_TEXT);
    text[0] = '%';
    memset(text + 1, '0', 1000);
    print(text, &seven);
    cr_expect_eq(out.result, 0, "so long a specifier is none");
}

Test(format, memory_that_must_not_be_read_is_a_fault)
{
    const uint64_t bad[] = {16, 16};
    print("%s", bad);
    cr_expect(out.faulted && out.fault == 16);
    print("%d %s", bad);
    cr_expect(out.faulted && out.fault == 16);
    print("%d", NULL);
    cr_expect(out.faulted && out.fault == 0);
    print((const char *)(uintptr_t)77, NULL);
    cr_expect(out.faulted && out.fault == 77);
    print("%lld", (const char *)bad + 4);
    cr_expect_not(out.faulted, "the next place that is aligned");
}

/* Random bytes: formatting ends, within its buffer, without reading memory that is not allowed. */
Test(format, random_formats)
{
    static const char letters[] = "%%%%#0- +123.*hlLqjztdiouxXpeEfFgGaAscn$' ab\xff";
    static uint64_t arguments[80];
    uint64_t state = 88172645463325252u;
    const char *text = "some text";
    for (int round = 0; round < 20000; round++) {
        char format[40];
        for (size_t i = 0; i < sizeof format; i++) {
            state ^= state << 13, state ^= state >> 7, state ^= state << 17;
            format[i] = letters[state % (sizeof letters - 1)];
        }
        format[state % sizeof format] = '\0';
        format[sizeof format - 1] = '\0';
        for (size_t i = 0; i < 80; i++) {
            arguments[i] = (uint64_t)(uintptr_t)text;
        }
        print(format, arguments);
        cr_expect_leq(out.used, sizeof out.text);
        cr_expect(out.result >= 0 && out.result <= SG_FORMAT_ARGUMENTS);
    }
}
