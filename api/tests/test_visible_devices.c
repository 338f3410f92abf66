/* SPDX-License-Identifier: Apache-2.0 */
/* The devices that a list names. */
#include <criterion/criterion.h>
#include <string.h>

#include "api/visible_devices.h"

struct device {
    int number;
    uint8_t uuid[16];
};

static const struct device all[3] = {
    {0, {0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0, 1}},
    {1, {0x12, 0x34, 0x56, 0x79, 0x9a, 0xbc, 0xde, 0xf0, 2}},
    {2, {0xff, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0, 3}},
};

static const uint8_t *uuid_of(const void *device)
{
    return ((const struct device *)device)->uuid;
}

static void expect_chosen(const char *text, int count, const int *due)
{
    const char *said = text != NULL ? text : "(none)";
    struct device devices[3];
    unsigned seen = 0;
    memcpy(devices, all, sizeof devices);
    int made =
        api_visible_choose(API_VISIBLE_DEVICES, text, devices, sizeof devices[0], 3, uuid_of);
    cr_assert_eq(made, count, "%s", said);
    for (int i = 0; i < 3; i++) {
        cr_assert(i >= count || devices[i].number == due[i], "%s: entry %d", said, i);
        cr_assert_arr_eq(devices[i].uuid, all[devices[i].number].uuid, 16, "%s: %d is whole", said,
                         i);
        seen |= 1u << devices[i].number;
    }
    cr_assert_eq(seen, 7, "%s: none is lost", said);
}

Test(visible_devices, indices)
{
    expect_chosen(NULL, 3, (int[]){0, 1, 2});
    expect_chosen("", 0, NULL);
    expect_chosen("2", 1, (int[]){2});
    expect_chosen("2,0", 2, (int[]){2, 0});
    expect_chosen("1,2,0", 3, (int[]){1, 2, 0});
    expect_chosen("2,0,1", 3, (int[]){2, 0, 1});
    expect_chosen("1,0,2", 3, (int[]){1, 0, 2});
    expect_chosen(" 1 , 2 ", 2, (int[]){1, 2});
    expect_chosen("0,-1,1", 1, (int[]){0});
    expect_chosen("0,3,1", 1, (int[]){0});
    expect_chosen("99999999999999999999", 0, NULL);
    expect_chosen("-1", 0, NULL);
    expect_chosen("0,,1", 1, (int[]){0});
    expect_chosen(",0", 0, NULL);
}

/* As NVIDIA's driver takes them. */
Test(visible_devices, the_leading_number_counts)
{
    expect_chosen("0,1x,2", 3, (int[]){0, 1, 2});
    expect_chosen("0x1", 1, (int[]){0});
    expect_chosen("2.5,1", 2, (int[]){2, 1});
    expect_chosen("x1", 0, NULL);
}

Test(visible_devices, named_twice_shows_none)
{
    expect_chosen("1,1", 0, NULL);
    expect_chosen("0,GPU-12345678", 0, NULL);
}

Test(visible_devices, uuids)
{
    expect_chosen("GPU-ff", 1, (int[]){2});
    expect_chosen("gpu-FF345678-9abc-def0-0300-000000000000", 1, (int[]){2});
    expect_chosen("GPU-12345679,GPU-ff", 2, (int[]){1, 2});
    expect_chosen("GPU-1234567", 0, NULL); /* two devices begin so */
    expect_chosen("GPU-", 0, NULL);
    expect_chosen("GPU-ff345678-9abc-def0-0300-000000000000-", 0, NULL);
    expect_chosen("MIG-ff", 0, NULL);
}
