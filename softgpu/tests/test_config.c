/* SOFTGPU_DEVICES: what it yields and what it refuses. */
#include <criterion/criterion.h>
#include <string.h>

#include "softgpu/config.h"

static struct sg_config config;
static char why[512];

static void refused(const char *text, const char *word)
{
    cr_assert_eq(sg_config_read(text, &config, why, sizeof why), GA_INVALID, "%s", text);
    cr_assert_not_null(strstr(why, word), "'%s' does not say '%s'", why, word);
    cr_assert_not_null(strstr(why, "allowed: name"), "'%s' does not say what is allowed", why);
}

Test(config, nothing_means_one_default_device)
{
    cr_assert_eq(sg_config_read(NULL, &config, why, sizeof why), GA_OK);
    cr_assert_eq(config.count, 1);
    cr_assert_str_eq(config.devices[0].name, "gpuaas software GPU");
    cr_assert_geq(config.devices[0].sms, 1);
    cr_assert_geq(config.devices[0].memory, (uint64_t)64 << 20);
    cr_assert_eq(sg_config_read(" ; ", &config, why, sizeof why), GA_OK);
    cr_assert_eq(config.count, 1);
}

Test(config, keys_are_read)
{
    cr_assert_eq(
        sg_config_read("name=My GPU (1),memory=1GiB,sms=4; name=B,memory=3145729,capability=9.0",
                       &config, why, sizeof why),
        GA_OK, "%s", why);
    cr_assert_eq(config.count, 2);
    cr_assert_str_eq(config.devices[0].name, "My GPU (1)");
    cr_assert_eq(config.devices[0].memory, (uint64_t)1 << 30);
    cr_assert_eq(config.devices[0].sms, 4);
    cr_assert_eq(config.devices[0].capability, 75);
    cr_assert_eq(config.devices[1].capability, 90);
    cr_assert_str_eq(config.devices[1].name, "B");
    cr_assert_eq(config.devices[1].memory, (uint64_t)2 << 20);
}

Test(config, uuids_are_stable_and_distinct)
{
    struct sg_config again;
    cr_assert_eq(sg_config_read("name=A;name=A", &config, why, sizeof why), GA_OK);
    cr_assert_eq(sg_config_read("name=A;name=A", &again, why, sizeof why), GA_OK);
    cr_assert_arr_eq(config.devices[0].uuid, again.devices[0].uuid, 16);
    cr_assert_arr_neq(config.devices[0].uuid, config.devices[1].uuid, 16);
    cr_assert_eq(
        sg_config_read("uuid=00112233-4455-6677-8899-aabbccddeeff", &config, why, sizeof why),
        GA_OK);
    cr_assert_eq(config.devices[0].uuid[15], 0xff);
}

Test(config, errors_name_what_is_allowed)
{
    refused("colour=red", "colour");
    refused("name", "name");
    refused("name=", "name");
    refused("memory=1", "memory");
    refused("capability=9.1", "9.1");
    refused("memory=1XB", "1XB");
    refused("memory=-1GiB", "-1GiB");
    refused("memory=99999999999999999999GiB", "memory");
    refused("sms=0", "sms");
    refused("sms=4x", "sms");
    refused("uuid=12", "uuid");
}
