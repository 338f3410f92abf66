/* SPDX-License-Identifier: Apache-2.0 */
/* The GPUs of a node: what backend processes and clients are told of them. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/processes/devices.h"
#include "server/processes/owner.h"
#include "server/tests/fake_node.h"

static struct conf conf;
static struct devices devices;

static void complain(void *user, const char *line)
{
    (void)user;
    cr_assert_fail("%s", line);
}

static void start(void)
{
    static const char text[] = "[server]\nlisten = tcp://127.0.0.1:0\nnode = n1\n"
                               "[gpu.1]\ndriver = soft\nname = A\n[gpu.2]\ndriver = nvidia\n"
                               "device = 4\n[gpu.3]\ndriver = soft\n[gpu.7]\ndriver = nvidia\n"
                               "device = 2\n";
    cr_assert_eq(conf_read_text("node", text, &conf, complain, NULL), GA_OK);
    cr_assert_eq(devices_init(&devices, &conf), GA_OK);
}

static void stop(void)
{
    free(devices.all);
    free(devices.visible);
}

TestSuite(devices, .init = start, .fini = stop);

static void learn(uint32_t device)
{
    struct channel_facts facts = {.device = device,
                                  .memory_bytes = 1000 + device,
                                  .granularity_bytes = 64 + device,
                                  .context_bytes = 10 + device,
                                  .priority_least = (int32_t)device,
                                  .priority_greatest = -(int32_t)device,
                                  .traits = 5,
                                  .peers = 0xb, /* 0, 1 and 3 */
                                  .attribute_count = 2};
    facts.uuid[15] = (uint8_t)device;
    snprintf(facts.name, sizeof facts.name, "GPU %u", device);
    cr_assert(devices_learn(&devices, &facts));
}

Test(devices, ordinals_are_those_of_their_drivers)
{
    const uint32_t ordinals[] = {0, 4, 1, 2};
    cr_assert_eq(devices.count, 4);
    for (uint32_t i = 0; i < 4; i++) {
        cr_assert_eq(devices.all[i].ordinal, ordinals[i]);
        cr_assert_eq(devices.all[i].policy_generation, 1);
    }
    cr_assert_neq(devices.soft_node, 0);
    cr_assert(devices_have(&devices, CONF_DRIVER_SOFT) &&
              devices_have(&devices, CONF_DRIVER_NVIDIA));
}

Test(devices, clients_see_those_of_which_there_are_facts)
{
    const struct channel_facts none = {.device = 4};
    cr_assert_not(devices_learn(&devices, &none));
    learn(3);
    learn(1);
    devices_publish(&devices);
    cr_assert_eq(devices.visible_count, 2);
    cr_assert_eq(devices_visible(&devices, 0), &devices.all[1]);
    cr_assert_eq(devices_visible(&devices, 1), &devices.all[3]);
    cr_assert(devices_seen(&devices, CONF_DRIVER_NVIDIA));
    cr_assert_not(devices_seen(&devices, CONF_DRIVER_SOFT));
    devices_publish(&devices);
    cr_assert_eq(devices.visible_count, 2);
}

Test(devices, a_probe_is_told_all_and_others_those_that_clients_see)
{
    static struct channel_setup setup;
    learn(1);
    learn(2);
    learn(3);
    devices_publish(&devices);
    setup.device_count = 77;
    devices_setup(&devices, CONF_DRIVER_SOFT, CHANNEL_PROBE_FACTS, &setup);
    cr_assert_eq(setup.probe, CHANNEL_PROBE_FACTS);
    cr_assert_eq(setup.device_count, 2);
    cr_assert(setup.devices[0].device == 0 && setup.devices[0].ordinal == 0);
    cr_assert(setup.devices[1].device == 2 && setup.devices[1].ordinal == 1);
    devices_setup(&devices, CONF_DRIVER_NVIDIA, CHANNEL_SERVES, &setup);
    cr_assert_eq(setup.driver, CONF_DRIVER_NVIDIA);
    cr_assert_eq(setup.device_count, 2);
    cr_assert(setup.devices[0].device == 0 && setup.devices[0].ordinal == 4);
    cr_assert(setup.devices[1].device == 2 && setup.devices[1].ordinal == 2);
    cr_assert_eq(setup.devices[0].context_bytes, 11);
    cr_assert_eq(setup.devices[1].context_bytes, 13);
}

Test(devices, a_welcome_tells_each_and_which_of_them_reach_each_other)
{
    struct handshake_device room[3];
    const uint32_t gpus[] = {3, 0, 1};
    for (uint32_t i = 0; i < 4; i++) {
        learn(i);
    }
    devices_publish(&devices);
    devices_welcome(&devices, gpus, 3, room);
    cr_assert_str_eq(room[0].name, "GPU 3");
    cr_assert_eq(room[0].memory_bytes, 1003);
    cr_assert_eq(room[0].granularity_bytes, 67);
    cr_assert_eq(room[0].priority_least, 3);
    cr_assert_eq(room[0].priority_greatest, -3);
    cr_assert_eq(room[0].attribute_count, 2);
    cr_assert_eq(room[0].attributes, devices.all[3].facts.attributes);
    cr_assert_eq(room[0].traits, 5);
    cr_assert_eq(room[0].uuid[15], 3);
    cr_assert_eq(room[0].peers, 7, "all three, by the client's numbers");
    cr_assert_str_eq(room[1].name, "GPU 0");
    const uint32_t two[] = {2, 1};
    devices_welcome(&devices, two, 2, room);
    cr_assert_eq(room[0].peers, 2, "GPU 2 is no peer of itself");
    cr_assert_str_eq(room[1].name, "GPU 1");
}

static const char *variable(char **env, const char *name)
{
    for (; *env != NULL; env++) {
        if (strncmp(*env, name, strlen(name)) == 0 && (*env)[strlen(name)] == '=') {
            return *env + strlen(name) + 1;
        }
    }
    return NULL;
}

Test(devices, the_environment_shows_a_driver_its_gpus)
{
    char node_name[64], memory[64];
    cr_assert_eq(setenv("SOFTGPU_TRACE", "/tmp/trace", 1), 0);
    conf.server.log_level = GA_LOG_WARN;
    char **env = devices_env(&devices, &conf, CONF_DRIVER_SOFT);
    const char *soft = variable(env, "SOFTGPU_DEVICES");
    cr_assert_not_null(soft);
    const char *second = strchr(soft, ';');
    cr_assert_not_null(second);
    cr_assert_null(strchr(second + 1, ';'), "there are two");
    cr_assert_not_null(strstr(soft, ",name=A;"), "%s", soft);
    cr_assert_null(strstr(second, "name="), "%s", soft);
    const char *uuid = strstr(soft, "uuid="), *other = strstr(second, "uuid=");
    cr_assert(uuid != NULL && uuid < second && other != NULL);
    cr_assert_neq(strncmp(uuid, other, 37), 0);
    cr_assert_eq(strspn(uuid + 5, "0123456789abcdef"), 32);
    snprintf(node_name, sizeof node_name, "gpuaasd-%016llx", (unsigned long long)devices.soft_node);
    cr_assert_str_eq(variable(env, "SOFTGPU_NODE"), node_name);
    snprintf(memory, sizeof memory, "%llu",
             (unsigned long long)conf.server.backend.application_host_memory);
    cr_assert_str_eq(variable(env, "SOFTGPU_HOST_MEMORY"), memory);
    cr_assert_str_eq(variable(env, "GPUAAS_LOG"), "warn");
    cr_assert_str_eq(variable(env, "SOFTGPU_TRACE"), "/tmp/trace");
    cr_assert_null(variable(env, "PATH"), "nothing else");
    char first_uuid[33];
    memcpy(first_uuid, uuid + 5, 32);
    first_uuid[32] = 0;
    devices_env_free(env);
    env = devices_env(&devices, &conf, CONF_DRIVER_SOFT);
    cr_assert_not_null(strstr(variable(env, "SOFTGPU_DEVICES"), first_uuid), "it keeps its uuid");
    devices_env_free(env);
    conf.server.node[0] = 'm';
    env = devices_env(&devices, &conf, CONF_DRIVER_SOFT);
    cr_assert_null(strstr(variable(env, "SOFTGPU_DEVICES"), first_uuid), "another node's differs");
    devices_env_free(env);
    env = devices_env(&devices, &conf, CONF_DRIVER_NVIDIA);
    cr_assert_str_eq(variable(env, "CUDA_DEVICE_ORDER"), "PCI_BUS_ID");
    cr_assert_null(variable(env, "SOFTGPU_NODE"));
    devices_env_free(env);
}

Test(devices, a_uuid_is_written_as_other_tools_do)
{
    const uint8_t uuid[16] = {0x89, 0x32, 0xf9, 0x37, 0xd7, 0x2c, 0x41, 0x06,
                              0xc1, 0x2f, 0x20, 0xbd, 0x9f, 0xae, 0xd9, 0xf6};
    char text[DEVICES_UUID_BYTES];
    devices_uuid_write(uuid, text);
    cr_assert_str_eq(text, "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6");
}

/* ---- whose an application is */

static struct transport_identity identity;

static bool identify(const struct transport_conn *conn, struct transport_identity *out)
{
    (void)conn;
    *out = identity;
    return true;
}

Test(devices, an_owner_is_who_a_connection_has_proved_to_be)
{
    static const struct transport_ops ops = {.identify = identify};
    const struct transport_conn conn = {.ops = &ops};
    uint8_t one[16] = {1}, two[16] = {2};
    struct owner a = owner_of(&conn, one), b = owner_of(&conn, two), again = owner_of(&conn, one);
    cr_assert_eq(a.kind, OWNER_APPLICATION);
    cr_assert(owner_same(&a, &again) && !owner_same(&a, &b) && !owner_lasts(&a));
    identity = (struct transport_identity){.proof = TRANSPORT_PROVES_USER, .uid = 1000};
    a = owner_of(&conn, one);
    b = owner_of(&conn, two);
    cr_assert_eq(a.kind, OWNER_USER);
    cr_assert(owner_same(&a, &b) && owner_lasts(&a));
    identity.uid = 1001;
    b = owner_of(&conn, one);
    cr_assert_not(owner_same(&a, &b));
    identity = (struct transport_identity){.proof = TRANSPORT_PROVES_KEY};
    a = owner_of(&conn, one);
    b = owner_of(&conn, two);
    cr_assert_eq(a.kind, OWNER_KEY);
    cr_assert(owner_same(&a, &b) && owner_lasts(&a));
    identity.key[31] = 9;
    b = owner_of(&conn, one);
    cr_assert_not(owner_same(&a, &b));
    a = owner_of_tenant(7);
    b = owner_of_tenant(8);
    again = owner_of_tenant(7);
    cr_assert_eq(a.kind, OWNER_TENANT);
    cr_assert(owner_same(&a, &again) && !owner_same(&a, &b) && owner_lasts(&a));
    b = a;
    b.kind = OWNER_USER;
    cr_assert_not(owner_same(&a, &b));
}
