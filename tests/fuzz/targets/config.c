/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that people write: the configuration of gpuaasd, SOFTGPU_DEVICES, lists, addresses. */
#include <stdbool.h>

#include "api/visible_devices.h"
#include "conf/conf.h"
#include "softgpu/process/config.h"
#include "tests/fuzz/input.h"
#include "transport/transport.h"

static void count(void *user, const char *line)
{
    FUZZ_CHECK(strchr(line, '\n') == NULL && line[0] != 0);
    ++*(unsigned *)user;
}

static void configuration(const char *text)
{
    static struct conf conf;
    unsigned complaints = 0;
    enum ga_status status = conf_read_text("file", text, &conf, count, &complaints);
    FUZZ_CHECK((status == GA_OK) == (complaints == 0));
    if (status == GA_OK) {
        FUZZ_CHECK(conf.gpu_count >= 1 && conf.gpu_count <= CONF_GPUS_MAX);
        FUZZ_CHECK(conf.server.listen_count <= CONF_LISTENS_MAX);
    }
}

static void software_devices(const char *text)
{
    static struct sg_config config;
    char why[512] = "";
    if (sg_config_read(text, &config, why, sizeof why) == GA_OK) {
        FUZZ_CHECK(config.count >= 1 && config.count <= SG_DEVICES_MAX);
    } else {
        FUZZ_CHECK(why[0] != 0);
    }
}

static const uint8_t *uuid_itself(const void *device)
{
    return device;
}

static void choice(const char *text)
{
    uint8_t uuids[3][16] = {{0x89, 0x32, 0xf9}, {0x89, 0x32, 0xfa}, {0}};
    int number = api_visible_choose("LIST", text, uuids, sizeof uuids[0], 3, uuid_itself);
    FUZZ_CHECK(number >= 0 && number <= 3);
    FUZZ_CHECK((uuids[0][2] ^ uuids[1][2] ^ uuids[2][2]) == (0xf9 ^ 0xfa)); /* each is there once */
}

static void address(const char *text)
{
    struct transport_address parsed;
    char why[600] = "";
    if (transport_address_parse(text, "9955", &parsed, why, sizeof why) == GA_OK) {
        FUZZ_CHECK(parsed.ops != NULL && memchr(parsed.host, 0, sizeof parsed.host) != NULL);
    } else {
        FUZZ_CHECK(why[0] != 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const readers[])(const char *) = {configuration, software_devices, choice,
                                                    address};
    struct fuzz_input input = {data, size};
    unsigned kind = fuzz_u8(&input) % 4;
    char *text = calloc(1, input.left + 1);
    FUZZ_CHECK(text != NULL);
    memcpy(text, input.at, input.left);
    readers[kind](text);
    free(text);
    return 0;
}
