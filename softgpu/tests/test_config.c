/* SPDX-License-Identifier: Apache-2.0 */
/* SOFTGPU_DEVICES: valid descriptions, and refused ones. */
#include <criterion/criterion.h>
#include <string.h>

#include "softgpu/process/attributes.h"
#include "softgpu/process/config.h"
#include "softgpu/process/device.h"

static struct sg_config config;
static char why[512];

static void refused(const char *text, const char *word)
{
    cr_assert_eq(sg_config_read(text, &config, why, sizeof why), GA_INVALID, "%s", text);
    cr_assert_not_null(strstr(why, word), "'%s' does not say '%s'", why, word);
    cr_assert_not_null(strstr(why, "; allowed: "), "'%s' does not say what is allowed", why);
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

Test(config, models_are_overridden_by_keys_wherever_these_stand)
{
    cr_assert_eq(
        sg_config_read("sms=4,model=h200; model=quadro2000,name=Q", &config, why, sizeof why),
        GA_OK, "%s", why);
    cr_assert_eq(config.devices[0].sms, 4);
    cr_assert_eq(config.devices[0].memory_mbs, 4800000);
    cr_assert_eq(config.devices[0].capability, 90);
    cr_assert_str_eq(config.devices[0].name, "gpuaas software GPU like an H200");
    cr_assert_eq(config.devices[1].sms, 4);
    cr_assert_eq(config.devices[1].memory, (uint64_t)1 << 30);
    cr_assert_eq(config.devices[1].copy_engines, 1);
    cr_assert_str_eq(config.devices[1].name, "Q");
}

Test(config, models_imply_their_capability)
{
    cr_assert_eq(sg_config_read("model=a100;model=c2050;model=h200,capability=8.9;model=gtx1080ti,"
                                "name=G;capability=12.0",
                                &config, why, sizeof why),
                 GA_OK, "%s", why);
    static const unsigned due[] = {80, 75, 89, 75, 120};
    static const char *const names[] = {
        "gpuaas software GPU like an A100",
        "gpuaas software GPU like a Tesla C2050 (which has compute capability 2.0)",
        "gpuaas software GPU like an H200 (which has compute capability 9.0)", "G",
        "gpuaas software GPU"};
    for (unsigned i = 0; i < 5; i++) {
        cr_assert_eq(config.devices[i].capability, due[i], "device %u", i);
        cr_assert_str_eq(config.devices[i].name, names[i]);
    }
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
    refused("colour=red", "name, uuid, model, memory, context_memory, sms");
    refused("name", "name");
    refused("name=", "name");
    refused("memory=1", "memory");
    refused("capability=9.1", "9.1");
    refused("memory=1XB", "1XB");
    refused("memory=-1GiB", "-1GiB");
    refused("memory=99999999999999999999GiB", "memory");
    refused("sms=0", "1 to 1024");
    refused("model=h300", "gtx1080ti");
    refused("copy_engines=0", "1 or 2");
    refused("kernel_limit=10", "none, or 1ms to 24h");
    refused("kernel_limit=0s", "none");
    refused("kernel_limit=999us", "1ms");
    refused("kernel_limit=2d", "24h");
    refused("kernel_limit=18446744074s", "24h"); /* more than 64 bits of nanoseconds */
    refused("name=A,name=B", "name is given twice");
    refused("name=A,sms=2,sms=2", "devices are separated by ';'");
    refused("uuid=00112233445566778899aabbccddeeff,uuid=00112233445566778899aabbccddeeff", "uuid");
    refused("name=A name=B", "'A name=B' is no value for name");
    refused("sms=4x", "sms");
    refused("uuid=12", "uuid");
}

static int attribute(unsigned index, CUdevice_attribute which)
{
    const struct sg_device device = {.config = config.devices[index]};
    int value = -1;
    cr_assert_eq(sg_device_attribute(&device, which, &value), CUDA_SUCCESS);
    return value;
}

Test(config, attributes_are_those_of_the_description)
{
    cr_assert_eq(sg_config_read("model=gtx1080ti;model=quadro2000,concurrent_kernels=no;l2=2MiB",
                                &config, why, sizeof why),
                 GA_OK, "%s", why);
    cr_assert_eq(attribute(0, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT), 28);
    cr_assert_eq(attribute(0, CU_DEVICE_ATTRIBUTE_CLOCK_RATE), 1582000);
    cr_assert_eq(attribute(0, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH), 352);
    cr_assert_eq(attribute(0, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE), 5500000);
    cr_assert_eq(attribute(0, CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO), 32);
    cr_assert_eq(attribute(0, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR), 7);
    cr_assert_eq(attribute(0, CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT), 2);
    cr_assert_eq(attribute(0, CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS), 1);
    cr_assert_eq(attribute(1, CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT), 1);
    cr_assert_eq(attribute(1, CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS), 0);
    cr_assert_eq(attribute(2, CU_DEVICE_ATTRIBUTE_CLOCK_RATE), 1000000);
    cr_assert_eq(attribute(2, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE), 1000000);
    cr_assert_eq(attribute(2, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE), 2 << 20);
}

Test(config, a_limit_of_kernels)
{
    const char *text = "name=A;name=B,kernel_limit=10s;kernel_limit=2500 us;kernel_limit=none";
    static const uint64_t due[] = {0, UINT64_C(10000000000), 2500000, 0};
    cr_assert_eq(sg_config_read(text, &config, why, sizeof why), GA_OK, "%s", why);
    for (unsigned i = 0; i < 4; i++) {
        cr_assert_eq(config.devices[i].kernel_limit_ns, due[i], "device %u", i);
        cr_assert_eq(attribute(i, CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT), due[i] != 0);
    }
}
