/* SPDX-License-Identifier: Apache-2.0 */
/* Which devices a list means. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "client/process/environment.h"

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
