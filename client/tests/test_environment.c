/* SPDX-License-Identifier: Apache-2.0 */
/* The values of environment variables, and the devices that a list names. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "client/process/environment.h"
#include "client/process/trace.h"

static const uint8_t uuids[3][16] = {
    {0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0, 1},
    {0x12, 0x34, 0x56, 0x79, 0x9a, 0xbc, 0xde, 0xf0, 2},
    {0xff, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0, 3},
};
static const struct client_choice devices[3] = {{uuids[0]}, {uuids[1]}, {uuids[2]}};

static void expect_chosen(const char *text, int count, const int *due)
{
    const char *said = text != NULL ? text : "(none)";
    int chosen[3];
    cr_assert_eq(client_environment_choose(text, devices, 3, chosen), count, "%s", said);
    for (int i = 0; i < count; i++) {
        cr_assert_eq(chosen[i], due[i], "%s: entry %d", said, i);
    }
}

static uint64_t cache_of(const char *text)
{
    setenv("GPUAAS_CLIENT_CACHE", text, 1);
    client_environment_apply();
    return client_environment_cache_bytes();
}

Test(environment, cache_takes_the_units_of_configurations)
{
    cr_assert_eq(cache_of("1Mb"), UINT64_MAX, "what is none changes nothing");
    cr_assert_eq(cache_of("64M"), 64u << 20);
    cr_assert_eq(cache_of("1 GiB"), 1u << 30);
    cr_assert_eq(cache_of("0"), 0);
}

/* The words of a variable in api/environment.def stand in the order of its enum. */
Test(environment, words_mean_what_they_say)
{
    static const struct {
        const char *word;
        enum client_transport transport;
    } transports[] = {{"auto", CLIENT_TRANSPORT_AUTO}, {"rdma", CLIENT_TRANSPORT_RDMA},
                      {"tcp", CLIENT_TRANSPORT_TCP},   {"tls", CLIENT_TRANSPORT_TLS},
                      {"", CLIENT_TRANSPORT_AUTO},     {"TCP", CLIENT_TRANSPORT_AUTO}};
    for (size_t i = 0; i < sizeof transports / sizeof transports[0]; i++) {
        setenv("GPUAAS_TRANSPORT", transports[i].word, 1);
        client_environment_apply();
        cr_expect_eq(client_environment_transport(), transports[i].transport, "%s",
                     transports[i].word);
    }
    static const struct {
        const char *word;
        enum compression_mode mode;
    } modes[] = {{"off", COMPRESSION_OFF},
                 {"auto", COMPRESSION_AUTO},
                 {"always", COMPRESSION_ALWAYS},
                 {"", COMPRESSION_AUTO},
                 {"on", COMPRESSION_AUTO}};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        setenv("GPUAAS_COMPRESSION", modes[i].word, 1);
        client_environment_apply();
        cr_expect_eq(client_environment_compression(), modes[i].mode, "%s", modes[i].word);
    }
}

Test(environment, traces)
{
    static const struct {
        const char *word;
        enum client_trace mode;
    } modes[] = {{"summary", CLIENT_TRACE_SUMMARY},
                 {"calls", CLIENT_TRACE_CALLS},
                 {"none", CLIENT_TRACE_NONE},
                 {"summaries", CLIENT_TRACE_NONE}};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        setenv("GPUAAS_TRACE", modes[i].word, 1);
        client_environment_apply();
        cr_expect_eq(client_trace_mode, modes[i].mode, "%s", modes[i].word);
    }
}

Test(environment, numbers_have_limits)
{
    static const struct {
        const char *text;
        unsigned seconds;
    } cases[] = {{"2", 2}, {"3600", 3600}, {"1", 30},  {"3601", 30},
                 {"", 30}, {"30s", 30},    {"-5", 30}, {"18446744073709551646", 30}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        setenv("GPUAAS_DEAD_AFTER", cases[i].text, 1);
        client_environment_apply();
        cr_expect_eq(client_environment_dead_after_s(), cases[i].seconds, "%s", cases[i].text);
    }
}

Test(environment, indices)
{
    expect_chosen(NULL, 3, (int[]){0, 1, 2});
    expect_chosen("", 0, NULL);
    expect_chosen("2", 1, (int[]){2});
    expect_chosen("2,0", 2, (int[]){2, 0});
    expect_chosen(" 1 , 2 ", 2, (int[]){1, 2});
    expect_chosen("0,-1,1", 1, (int[]){0});
    expect_chosen("0,3,1", 1, (int[]){0});
    expect_chosen("99999999999999999999", 0, NULL);
    expect_chosen("0x1", 0, NULL);
}

Test(environment, named_twice_shows_none)
{
    expect_chosen("1,1", 0, NULL);
    expect_chosen("0,GPU-12345678", 0, NULL);
}

Test(environment, uuids)
{
    expect_chosen("GPU-ff", 1, (int[]){2});
    expect_chosen("gpu-FF345678-9abc-def0-0300-000000000000", 1, (int[]){2});
    expect_chosen("GPU-12345679,GPU-ff", 2, (int[]){1, 2});
    expect_chosen("GPU-1234567", 0, NULL); /* two devices begin so */
    expect_chosen("GPU-", 0, NULL);
    expect_chosen("GPU-ff345678-9abc-def0-0300-000000000000-", 0, NULL);
    expect_chosen("MIG-ff", 0, NULL);
}
