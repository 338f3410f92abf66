/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration: the smallest file, values of every type, and the complaints about wrong files.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/wire.h"
#include "conf/conf.h"
#include "conf/key.h"
#include "conf/tests/reading.h"

Test(conf, smallest_file_gives_defaults)
{
    struct conf conf = read_good(SMALLEST);
    cr_assert_eq(conf.server.listen_count, 1);
    cr_assert_str_eq(conf.server.listen[0].url, "tcp://127.0.0.1:9955");
    cr_assert_eq(conf.server.listen[0].line, 2);
    cr_assert_eq(conf.server.backend.data_ports.first, 9956);
    cr_assert_eq(conf.server.backend.data_ports.last, 13955);
    cr_assert_eq(conf.server.backend.session_queue_bytes, 8u << 20);
    cr_assert_eq(conf.server.log_level, GA_LOG_INFO);
    cr_assert_eq(conf.gpu_count, 1);
    cr_assert_eq(conf.gpus[0].driver, CONF_DRIVER_SOFT);
    struct soft_device alone = {0}; /* as softgpu makes it without a description */
    soft_device_complete(&alone, 0);
    cr_assert_eq(conf.gpus[0].soft.memory, alone.memory);
    cr_assert_eq(conf.gpus[0].soft.sms, alone.sms);
    cr_assert(alone.sms >= 1 && alone.memory <= UINT64_C(4) << 30);
    cr_assert_eq(conf.gpus[0].soft.capability, 75);
}

Test(conf, lists_units_and_gpus_in_order_of_number)
{
    struct conf conf = read_good("[gpu.7]\ndriver = soft\nname = big one\nmemory = 2 GiB\n"
                                 "[gpu.1]\ndriver = nvidia\ndevice = 3\n"
                                 "[server]\nlisten = a:1 , b:2\nlisten = [::1]:0\n"
                                 "data_ports = 0\nlog_level = debug\nclients = 3\n");
    cr_assert_eq(conf.server.listen_count, 3);
    cr_assert_str_eq(conf.server.listen[1].url, "b:2");
    cr_assert_eq(conf.server.listen[2].line, 10);
    cr_assert_eq(conf.server.backend.data_ports.last, 0);
    cr_assert_eq(conf.server.clients, 3);
    cr_assert_eq(conf.gpu_count, 2);
    cr_assert_eq(conf.gpus[0].number, 1);
    cr_assert_eq(conf.gpus[0].driver, CONF_DRIVER_NVIDIA);
    cr_assert_eq(conf.gpus[0].device, 3);
    cr_assert_eq(conf.gpus[1].number, 7);
    cr_assert_str_eq(conf.gpus[1].name, "big one");
    cr_assert_eq(conf.gpus[1].soft.memory, UINT64_C(2) << 30);
}

/* The defaults that the example shows are those of the generic model. */
Test(conf, soft_standards_are_the_generic_model)
{
    struct soft_device generic = {0};
    soft_device_complete(&generic, 0);
    for (size_t i = 0; i < soft_key_count; i++) {
        struct soft_device changed = generic;
        bool shown = soft_keys[i].standard[0] != 0;
        cr_assert_eq(soft_key_read(&soft_keys[i], soft_keys[i].standard, &changed), shown);
        /* NOLINTNEXTLINE: one is a copy of the other */
        cr_assert_eq(memcmp(&changed, &generic, sizeof generic), 0, "%s", soft_keys[i].name);
    }
}

static struct soft_device model_read(const char *lines)
{
    char text[512];
    snprintf(text, sizeof text, "%s%s", SMALLEST, lines);
    return read_good(text).gpus[0].soft;
}

Test(conf, model_says_what_the_section_does_not)
{
    struct soft_device soft = model_read("model = c2070\n");
    cr_assert_eq(soft.sms, 14);
    cr_assert_eq(soft.memory, UINT64_C(6) << 30);
    cr_assert_eq(soft.memory_mbs, 144000);
    soft = model_read("memory = 64 MiB\nmodel = h200\ncopy_engines = 1\n");
    cr_assert_eq(soft.sms, 132);
    cr_assert_eq(soft.memory, 64u << 20);
    cr_assert_eq(soft.copy_engines, 1);
    struct conf conf = read_good(SMALLEST "model = h200\n");
    cr_assert_eq(conf.gpus[0].soft_given, 1); /* nothing but the model is handed on */
    expect_one(SMALLEST "model = h300\n", "f:5: [gpu.0] model: \"h300\" is not allowed; allowed: "
                                          "generic, quadro2000");
    expect_one(SMALLEST "copy_engines = 3\n", "1 or 2");
    expect_one(SMALLEST "kernel_limit = 5\n", "none, or 1ms to 24h");
    cr_assert_eq(model_read("kernel_limit = 5 s\n").kernel_limit_ns, UINT64_C(5000000000));
    expect_one(SMALLEST "clock_mhz = 0\n", "1 to 10000");
    expect_one(SMALLEST "concurrent_kernels = 1\n", "yes or no");
}

Test(conf, sizes_take_short_and_long_units)
{
    cr_assert_eq(model_read("memory = 3G\nl2 = 512K\n").memory, UINT64_C(3) << 30);
    cr_assert_eq(model_read("memory = 3 M\nl2 = 512K\n").l2_bytes, 512u << 10);
    cr_assert_eq(model_read("memory = 1T\n").memory, model_read("memory = 1TiB\n").memory);
    cr_assert_eq(model_read("memory = 3 m\n").memory, model_read("memory = 3M\n").memory);
    expect_one(SMALLEST "memory = 3 X\n", "K, M, G or T");
}

Test(conf, software_gpus_take_so_many_applications)
{
    static const char head[] = "[server]\nlisten = tcp://127.0.0.1:9955\nclients = ";
    static const struct {
        const char *rest, *complaint;
    } cases[] = {
        {"4094\n[gpu.0]\ndriver = soft\n", NULL},
        {"4031\nspare_backends = 64\n[gpu.0]\ndriver = soft\n", NULL},
        {"65536\n[gpu.0]\ndriver = nvidia\n", NULL},
        {"4095\n[gpu.0]\ndriver = soft\n",
         "f:3: [server] clients: \"4095\" is not allowed; allowed: 1 to 4094 where"},
        {"4032\nspare_backends = 64\n[gpu.0]\ndriver = nvidia\n[gpu.1]\ndriver = soft\n",
         "f:3: [server] clients: \"4032\" is not allowed; allowed: 1 to 4031 where a GPU has "
         "driver = soft and spare_backends = 64"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[256];
        snprintf(text, sizeof text, "%s%s", head, cases[i].rest);
        if (cases[i].complaint == NULL) {
            (void)read_good(text);
        } else {
            expect_one(text, cases[i].complaint);
        }
    }
}

Test(conf, wrong_values_name_file_line_key_and_what_is_allowed)
{
    expect_one(SMALLEST "sms = 0\n", "f:5: [gpu.0] sms: \"0\" is not allowed; allowed: 1 to 1024");
    expect_one(SMALLEST "sms = 4x\n", "1 to 1024");
    expect_one(SMALLEST "capability = 9.9\n", "8.0");
    expect_one(SMALLEST "memory = 1 GB\n", "f:5: [gpu.0] memory");
    expect_one(SMALLEST "memory = 4MiB\ncontext_memory = 6MiB\n", "at most the memory of the GPU");
    expect_one(SMALLEST "context_memory = x\n", "0 to 16TiB");
    expect_one(SMALLEST "memory = 99999999999999999999\n", "2MiB to 16TiB");
    expect_one(SMALLEST "memory = 1Gb\n",
               "allowed: 2MiB to 16TiB: a number and K, M, G or T (as KiB to TiB)");
    expect_one(SMALLEST "switch_time = 5\n",
               "allowed: none, or up to 1s: a number and ns, us, ms, s, min or h");
}

Test(conf, wrong_server_values)
{
    const char *form = "[gpu.0]\ndriver = soft\n[server]\nlisten = a\n%s\n";
    const struct {
        const char *line, *part;
    } cases[] = {
        {"data_ports = 5-4", "[server] data_ports: \"5-4\" is not allowed"},
        {"data_ports = 0-4", "first-last"},
        {"data_ports = 70000", "data_ports"},
        {"log_level = loud", "error, warn, info or debug"},
        {"clients = -1", "1 to 65536"},
        {"auth = yes", "[server] auth: \"yes\" is not allowed; allowed: on or off"},
        {"audit_full = yes", "[server] audit_full: \"yes\" is not allowed; allowed: deny or drop"},
        {"audit_log = here", "[server] audit_log: \"here\" is not allowed"},
        {"insecure = on", "[server] insecure: \"on\" is not allowed; allowed: yes or no"},
        {"application_host_memory = 1MiB", "64MiB to 16TiB"},
        {"session_queue_bytes = 1KiB", "1MiB to 1GiB"},
        {"image_store = 2TiB", "[server] image_store: \"2TiB\" is not allowed; allowed: 0 to 1TiB"},
        {"ledger_interval_s = 3601", "[server] ledger_interval_s: \"3601\" is not allowed"},
        {"pool = a b", "[server] pool"},
        {"listen =", "[server] listen: \"\" is not allowed"},
        {"listen = ,", "[server] listen"},
        {"colour = red", "f:5: [server] colour: there is no such key; allowed: listen, auth"},
        {"poool = a", "f:5: [server] poool: there is no such key, did you mean pool?"},
        {"memory = 1GiB", "f:5: [server] memory: this key belongs in a section [gpu.N]"},
        {"[gpu.1]\ndriver = soft\nlisten = shm:", "f:7: [gpu.1] listen: this key belongs in a "
                                                  "section [server]"},
        {"pool = a\npool = b", "f:6: [server] pool: given twice, first in line 5"},
        {"[gpus]\na = b", "f:6: [gpus]: there is no such section; allowed: [server], [gpu.0]"},
        {"[gpu.1024]\na = b", "f:6: [gpu.1024]"},
        {"[gpu.1]\ndriver = amd",
         "[gpu.1] driver: \"amd\" is not allowed; allowed: soft or nvidia"},
        {"[gpu.1]\nsms = 4", "f:6: [gpu.1] driver: is missing"},
        {"[gpu.1]\ndriver = nvidia\nsms = 4",
         "f:7: [gpu.1] sms: is only allowed with driver = soft"},
        {"[gpu.1]\ndriver = soft\ndriver_path = lib.so", "an absolute path"},
        {"[gpu.1]\ndriver = soft\ndriver_path = /lib.so", "[gpu.1] driver_path: differs"},
        {"what is this", "f:5: \"what is this\" is neither"},
        {"log_level = info # loud", "or debug (a comment behind a value begins with ;)"},
        {"log_level = loud ; or not",
         "\"loud\" is not allowed; allowed: error, warn, info or debug"},
        {"[gpu.1\ndriver = soft\nlisten = b", "f:5: \"[gpu.1\": ']' is missing"},
        {"[gpu.1 ; and ]\ndriver = soft", "f:5: \"[gpu.1 ; and ]\": ']' is missing"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024];
        snprintf(text, sizeof text, form, cases[i].line);
        expect_one(text, cases[i].part);
    }
}

/* The value of a key as a number. False: it is not a number. */
static bool number_of(const struct conf_key *key, const void *from, uint64_t *number)
{
    const void *member = (const char *)from + key->offset;
    enum conf_type type = key->type;
    if (type == CONF_TYPE_SOFT) {
        const struct soft_key *soft = &soft_keys[soft_key_find(key->name)];
        member = (const char *)&((const struct conf_gpu *)from)->soft + soft->offset;
        type = soft->type == SOFT_TYPE_NUMBER                                  ? CONF_TYPE_NUMBER
               : soft->type == SOFT_TYPE_BYTES || soft->type == SOFT_TYPE_TIME ? CONF_TYPE_BYTES
                                                                               : CONF_TYPE_FLAG;
    }
    if (type == CONF_TYPE_NUMBER) {
        *number = *(const uint32_t *)member;
    } else if (type == CONF_TYPE_BYTES || type == CONF_TYPE_TIME) {
        *number = *(const uint64_t *)member;
    } else if (type == CONF_TYPE_PORTS) {
        *number = ((const struct conf_ports *)member)->last;
    }
    return type == CONF_TYPE_NUMBER || type == CONF_TYPE_BYTES || type == CONF_TYPE_TIME ||
           type == CONF_TYPE_PORTS;
}

static bool is_time(const struct conf_key *key)
{
    return key->type == CONF_TYPE_TIME ||
           (key->type == CONF_TYPE_SOFT &&
            soft_keys[soft_key_find(key->name)].type == SOFT_TYPE_TIME);
}

static void expect_limit(const struct conf_key *key, uint64_t number, bool allowed)
{
    struct conf conf = {0};
    void *into = key->section == CONF_SECTION_SERVER ? (void *)&conf.server : (void *)conf.gpus;
    char text[64];
    uint64_t read = 0, before = 0;
    snprintf(text, sizeof text, "%" PRIu64 "%s", number, is_time(key) ? "ns" : "");
    cr_assert(number_of(key, into, &before));
    cr_expect_eq(conf_key_read(key, text, 1, into), allowed, "%s = %s", key->name, text);
    cr_assert(number_of(key, into, &read));
    cr_expect_eq(read, allowed ? number : before, "%s = %s", key->name, text);
}

Test(conf, numbers_are_allowed_as_far_as_the_table_says_and_no_further)
{
    unsigned count = 0;
    for (size_t i = 0; i < conf_key_count; i++) {
        const struct conf_key *key = &conf_keys[i];
        uint64_t number;
        struct conf conf = {0};
        if (!number_of(
                key, key->section == CONF_SECTION_SERVER ? (void *)&conf.server : (void *)conf.gpus,
                &number)) {
            continue;
        }
        count++;
        expect_limit(key, key->least, true);
        expect_limit(key, key->most, true);
        expect_limit(key, key->most + 1, false);
        if (key->least > 0) {
            expect_limit(key, key->least - 1, false);
        }
    }
    cr_assert_gt(count, 25);
}

/* The limits that other code depends on. */
Test(conf, limits_that_others_rely_on)
{
    static const struct {
        const char *name;
        uint64_t least, most;
    } cases[] = {{"session_queue_bytes", 1u << 20, 1u << 30},
                 {"bulk_connections", 0, WIRE_BULKS_MAX},
                 {"clients", 1, 65536},
                 {"data_ports", 0, 65535},
                 {"device", 0, 255},
                 {"dead_after_s", 2, 3600}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t at = 0;
        while (at < conf_key_count && strcmp(conf_keys[at].name, cases[i].name) != 0) {
            at++;
        }
        cr_assert_lt(at, conf_key_count, "%s", cases[i].name);
        cr_expect_eq(conf_keys[at].least, cases[i].least, "%s", cases[i].name);
        cr_expect_eq(conf_keys[at].most, cases[i].most, "%s", cases[i].name);
    }
}

Test(conf, texts_are_as_long_as_the_table_says_and_no_longer)
{
    unsigned count = 0;
    for (size_t i = 0; i < conf_key_count; i++) {
        const struct conf_key *key = &conf_keys[i];
        struct conf conf = {0};
        void *into = key->section == CONF_SECTION_SERVER ? (void *)&conf.server : (void *)conf.gpus;
        char text[CONF_TEXT_MAX + 2] = "/";
        if (key->type != CONF_TYPE_TEXT) {
            continue;
        }
        count++;
        bool path = conf_key_read(key, text, 1, into);
        memset(text, path ? '/' : 'x', key->most);
        cr_expect(conf_key_read(key, text, 1, into), "%s", key->name);
        text[key->most] = text[0];
        cr_expect_not(conf_key_read(key, text, 1, into), "%s", key->name);
    }
    cr_assert_gt(count, 5);
}

Test(conf, all_errors_are_reported_at_once)
{
    struct conf conf;
    struct complaints complaints = {0};
    cr_assert_eq(conf_read_text("f", "[server]\nclients = no\n[gpu.0]\nsms = 0\n[x]\ny = z\n",
                                &conf, collect, &complaints),
                 GA_INVALID);
    cr_assert_eq(complaints.count, 5, "%s", complaints.text); /* and listen, driver are missing */
    complaints = (struct complaints){0};
    cr_assert_eq(conf_read_text("f", "listen = a\n" SMALLEST, &conf, collect, &complaints),
                 GA_INVALID);
    cr_assert_str_eq(complaints.text, "f:1: listen: stands before the first section; allowed: "
                                      "[server], [gpu.0] to [gpu.1023]\n");
    complaints = (struct complaints){0};
    cr_assert_eq(conf_read_text("f", "", &conf, collect, &complaints), GA_INVALID);
    cr_assert_not_null(strstr(complaints.text, "there is no GPU"));
}

/* The first complaint is that of the first wrong line, and there are none that only follow. */
Test(conf, errors_are_told_in_the_order_of_the_lines)
{
    struct conf conf;
    struct complaints complaints = {0};
    cr_assert_eq(conf_read_text("f",
                                "[gpu.0\ndriver = soft\n[server]\nlisten = a\nwhat is this\n"
                                "clients = no\n",
                                &conf, collect, &complaints),
                 GA_INVALID);
    cr_assert_str_eq(complaints.text,
                     "f:1: \"[gpu.0\": ']' is missing\n"
                     "f:5: \"what is this\" is neither [section] nor key = value\n"
                     "f:6: [server] clients: \"no\" is not allowed; allowed: 1 to 65536\n");
    complaints = (struct complaints){0};
    cr_assert_eq(conf_read_text("f", "\xef\xbb\xbf" SMALLEST, &conf, collect, &complaints), GA_OK,
                 "%s", complaints.text);
}

Test(conf, long_line_is_an_error_not_two_lines)
{
    char text[1024] = SMALLEST ";";
    memset(text + strlen(text), 'x', 400);
    expect_one(text, "f:5: the line is longer");
}

Test(conf, missing_file_is_named)
{
    struct conf conf;
    struct complaints complaints = {0};
    cr_assert_eq(conf_read_file("/nowhere/c.conf", &conf, collect, &complaints), GA_INVALID);
    cr_assert_str_eq(complaints.text,
                     "cannot read the configuration /nowhere/c.conf: No such file or directory; "
                     "gpuaasd --example-config writes one\n");
}

Test(conf, example_is_the_smallest_file_and_names_every_key)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    conf_example_write(out);
    fclose(out);
    struct conf from_example = read_good(text), smallest = read_good(SMALLEST);
    for (unsigned i = 0; i < from_example.server.listen_count; i++) {
        from_example.server.listen[i].line = smallest.server.listen[i].line;
    }
    /* NOLINTNEXTLINE: both were zeroed before they were read */
    cr_assert_eq(memcmp(&from_example, &smallest, sizeof smallest), 0);
    for (size_t i = 0; i < conf_key_count; i++) {
        char given[64], left_out[64]; /* whole names: one may end as another one does */
        snprintf(given, sizeof given, "\n%s = ", conf_keys[i].name);
        snprintf(left_out, sizeof left_out, "\n;%s = ", conf_keys[i].name);
        cr_assert(strstr(text, given) != NULL || strstr(text, left_out) != NULL, "%s", given + 1);
    }
    free(text);
}
