/* SPDX-License-Identifier: Apache-2.0 */
/* Limits as text: each unit, what is refused and why, and that what is written is read again. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "api/limits.h"

static uint64_t read_good(const char *text, enum limit limit)
{
    struct limits limits;
    char why[512] = "";
    limits_clear(&limits);
    cr_assert_eq(limits_read(text, &limits, why, sizeof why), GA_OK, "%s: %s", text, why);
    for (int i = 0; i < LIMIT_COUNT; i++) {
        cr_assert(i == (int)limit || limits.of[i] == LIMIT_NONE, "%s sets %s", text,
                  limits_table[i].key);
    }
    return limits.of[limit];
}

static void expect_refused(const char *text, enum ga_status status, const char *part)
{
    struct limits limits, before;
    char why[512] = "";
    memset(&limits, 7, sizeof limits);
    before = limits;
    cr_assert_eq(limits_read(text, &limits, why, sizeof why), status, "%s", text);
    cr_assert_not_null(strstr(why, part), "%s: %s", text, why);
    cr_assert_eq(memcmp(&limits, &before, sizeof limits), 0, "%s changed something", text);
}

Test(limits, values_have_units)
{
    cr_assert_eq(read_good("gpu-mem=40GiB", LIMIT_GPU_MEM), UINT64_C(40) << 30);
    cr_assert_eq(read_good("gpu-mem=40G", LIMIT_GPU_MEM), UINT64_C(40) << 30);
    cr_assert_eq(read_good("gpu-mem=40GB", LIMIT_GPU_MEM), UINT64_C(40000000000));
    cr_assert_eq(read_good("gpu-mem=1025", LIMIT_GPU_MEM), 1025);
    cr_assert_eq(read_good("gpu-mem=0", LIMIT_GPU_MEM), 0);
    cr_assert_eq(read_good("gpu-mem=-", LIMIT_GPU_MEM), LIMIT_NONE);
    cr_assert_eq(read_good("gpu-mem=unlimited", LIMIT_GPU_MEM), LIMIT_NONE);
    cr_assert_eq(read_good("sessions=16", LIMIT_SESSIONS), 16);
    cr_assert_eq(read_good("gpu-seconds=100h/month", LIMIT_GPU_TIME_MONTH), 360000000);
    cr_assert_eq(read_good("gpu-seconds=90s/day", LIMIT_GPU_TIME_DAY), 90000);
    cr_assert_eq(read_good("gpu-seconds=-/day", LIMIT_GPU_TIME_DAY), LIMIT_NONE);
    cr_assert_eq(read_good("gpu-seconds-month=2d", LIMIT_GPU_TIME_MONTH), 172800000);
    cr_assert_eq(read_good("kernel-time=500ms", LIMIT_KERNEL_TIME), 500);
    cr_assert_eq(read_good("idle-timeout=10min", LIMIT_IDLE_TIMEOUT), 600000);
    cr_assert_eq(read_good("idle-timeout=10m", LIMIT_IDLE_TIMEOUT), 600000);
    cr_assert_eq(read_good("bandwidth-in=10Gbit/s", LIMIT_BANDWIDTH_IN), 1250000000);
    cr_assert_eq(read_good("bandwidth-out=100MiB/s", LIMIT_BANDWIDTH_OUT), 100u << 20);
    cr_assert_eq(read_good("call-rate=5k/s", LIMIT_CALL_RATE), 5000);
    cr_assert_eq(read_good("share=-", LIMIT_SHARE), LIMIT_NONE);
    cr_assert_eq(read_good("gpu-mem=9223372036854775807", LIMIT_GPU_MEM), INT64_MAX);
}

Test(limits, wrong_ones_say_what_is_allowed)
{
    expect_refused("gpu-mem", GA_INVALID, "LIMIT=VALUE");
    expect_refused("", GA_INVALID, "LIMIT=VALUE");
    expect_refused("gpumem=1", GA_NOT_FOUND, "gpu-mem-per-gpu");
    expect_refused("=1", GA_NOT_FOUND, "no limit ''");
    expect_refused("a-key-that-is-longer-than-any-key-there-is=1", GA_NOT_FOUND, "no limit 'a-key");
    expect_refused("gpu-mem=", GA_INVALID, "40GiB");
    expect_refused("gpu-mem=-1", GA_INVALID, "40GiB");
    expect_refused("gpu-mem=4 parsecs", GA_INVALID, "'4 parsecs'");
    expect_refused("gpu-mem=9223372036854775808", GA_INVALID, "between 0 and");
    expect_refused("gpu-mem=18446744073709551615", GA_INVALID, "between 0 and");
    expect_refused("gpu-mem=99999999999999999999999", GA_INVALID, "between 0 and");
    expect_refused("gpu-mem=18014398509481984KiB", GA_INVALID, "between 0 and");
    expect_refused("gpu-mem=99999999999999999999999x", GA_INVALID, "40GiB");
    expect_refused("gpu-mem=1.5GiB", GA_INVALID, "40GiB");
    expect_refused("kernel-time=99999999999999999999999d", GA_INVALID, "between 1ms and");
    expect_refused("share=99999999999999999999999", GA_INVALID, "between 1 and 10000");
    expect_refused("kernel-time=5", GA_INVALID, "500ms");
    expect_refused("kernel-time=0s", GA_INVALID, "between 1ms and");
    expect_refused("idle-timeout=1ms", GA_INVALID, "between 1s and");
    expect_refused("gpu-seconds=100h", GA_INVALID, "100h/month");
    expect_refused("gpu-seconds=100h/week", GA_INVALID, "100h/month");
    expect_refused("gpu-seconds=/day", GA_INVALID, "gpu-seconds-day: '' is not a time");
    expect_refused("share=0", GA_INVALID, "share: must be between 1 and 10000");
    expect_refused("share=10001", GA_INVALID, "between 1 and 10000");
    expect_refused("priority=1001", GA_INVALID, "between 0 and 1000");
    expect_refused("throttle=0", GA_INVALID, "between 1% and 100%");
    expect_refused("compute-cap=101%", GA_INVALID, "between 1% and 100%");
}

Test(limits, what_is_written_is_read_again)
{
    srand(22);
    for (int turn = 0; turn < 20000; turn++) {
        enum limit limit = (enum limit)(turn % LIMIT_COUNT);
        uint64_t value = ((uint64_t)rand() << 31 | (uint64_t)rand()) >> (rand() % 62);
        uint64_t factor = (uint64_t[]){1, 1000, 60000, 86400000, 1024, 1 << 20}[rand() % 6];
        value = value / factor * factor;
        if (limits_table[limit].unit == LIMITS_PER_CENT) {
            value = 1 + value % 100;
        }
        char text[LIMITS_TEXT_MAX], why[300] = "";
        uint64_t again;
        if (limits_value_check(limit, value, why, sizeof why) != GA_OK) {
            cr_assert(value < limits_table[limit].least || value > limits_table[limit].most, "%s",
                      why);
            continue;
        }
        limits_value_write(limit, value, text);
        cr_assert_eq(limits_value_read(limit, text, &again, why, sizeof why), GA_OK, "%s", why);
        cr_assert_eq(again, value, "%s", text);
    }
}

Test(limits, keys_are_found)
{
    for (int i = 0; i < LIMIT_COUNT; i++) {
        cr_assert_eq((int)limits_find(limits_table[i].key), i);
        cr_assert_eq((int)limits_find_json(limits_table[i].json), i);
    }
    cr_assert_eq(limits_find("gpu_mem"), LIMIT_COUNT);
    cr_assert_eq(limits_find_json("gpu-mem"), LIMIT_COUNT);
}

Test(limits, a_part_is_within_the_whole)
{
    struct limits part, whole, both;
    enum limit which;
    limits_clear(&part);
    limits_clear(&whole);
    cr_assert(limits_within(&part, &whole, &which));
    whole.of[LIMIT_GPUS] = 2;
    cr_assert(limits_within(&part, &whole, &which), "what a part does not limit, the whole does");
    part.of[LIMIT_GPUS] = 2;
    cr_assert(limits_within(&part, &whole, &which));
    part.of[LIMIT_GPUS] = 3;
    cr_assert_not(limits_within(&part, &whole, &which));
    cr_assert_eq(which, LIMIT_GPUS);
    part.of[LIMIT_SESSIONS] = 5;
    limits_stricter(&part, &whole, &both);
    cr_assert_eq(both.of[LIMIT_GPUS], 2);
    cr_assert_eq(both.of[LIMIT_SESSIONS], 5);
    cr_assert_eq(both.of[LIMIT_OBJECTS], LIMIT_NONE);
}

Test(limits, words)
{
    enum isolation isolation = ISOLATION_APP;
    enum exhausted exhausted = EXHAUSTED_DENY;
    char why[300] = "";
    cr_assert_eq(limits_isolation_read("exclusive", &isolation, why, sizeof why), GA_OK);
    cr_assert_eq(isolation, ISOLATION_EXCLUSIVE);
    cr_assert_eq(limits_isolation_read("shared", &isolation, why, sizeof why), GA_UNSUPPORTED);
    cr_assert_not_null(strstr(why, "not in this version"));
    cr_assert_eq(limits_isolation_read("App", &isolation, why, sizeof why), GA_INVALID);
    cr_assert_not_null(strstr(why, "app or exclusive"));
    cr_assert_eq(isolation, ISOLATION_EXCLUSIVE);
    cr_assert_eq(limits_exhausted_read("suspend", &exhausted, why, sizeof why), GA_OK);
    cr_assert_eq(exhausted, EXHAUSTED_SUSPEND);
    cr_assert_eq(limits_exhausted_read("throttle", &exhausted, why, sizeof why), GA_INVALID);
    cr_assert_not_null(strstr(why, "throttle=20%"));
    cr_assert_eq(limits_exhausted_read("", &exhausted, why, sizeof why), GA_INVALID);
}

Test(limits, types_of_gpu)
{
    char types[LIMITS_TYPES_MAX], why[300] = "", long_list[400];
    cr_assert_eq(limits_types_read(" H200 ,  gpuaas software GPU", types, why, sizeof why), GA_OK);
    cr_assert_str_eq(types, "H200,gpuaas software GPU");
    cr_assert(limits_types_allow(types, "NVIDIA H200"));
    cr_assert(limits_types_allow(types, "nvidia h200 NVL"));
    cr_assert(limits_types_allow(types, "gpuaas software GPU"));
    cr_assert_not(limits_types_allow(types, "NVIDIA H2000"));
    cr_assert_not(limits_types_allow(types, "NVIDIA GH200"));
    cr_assert_not(limits_types_allow(types, "software"));
    cr_assert_eq(limits_types_read("-", types, why, sizeof why), GA_OK);
    cr_assert_str_eq(types, "");
    cr_assert(limits_types_allow(types, "anything"));
    cr_assert_eq(limits_types_read("a,,b", types, why, sizeof why), GA_INVALID);
    cr_assert_eq(limits_types_read("a,", types, why, sizeof why), GA_INVALID);
    cr_assert_eq(limits_types_read("a\nb", types, why, sizeof why), GA_INVALID);
    cr_assert_eq(limits_types_read(" - ", types, why, sizeof why), GA_INVALID);
    memset(long_list, 'a', sizeof long_list);
    long_list[sizeof long_list - 1] = 0;
    cr_assert_eq(limits_types_read(long_list, types, why, sizeof why), GA_INVALID);
    cr_assert_not_null(strstr(why, "longer"));
}
