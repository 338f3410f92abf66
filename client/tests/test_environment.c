/* SPDX-License-Identifier: Apache-2.0 */
/* The values of environment variables. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "client/process/environment.h"
#include "client/process/trace.h"

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
