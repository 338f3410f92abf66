/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of admins: whatever the line is, there is one reply, which is a line of JSON, bounded,
 * and says either a result or an error. */
#include <jansson.h>

#include "base/log.h"
#include "server/admin/admin_verb.h"
#include "server/gpuaasd/gpuaasd.h"
#include "store/store.h"
#include "tests/fuzz/fake_spawn.h"
#include "tests/fuzz/input.h"

static struct conf conf;
static struct gpuaasd gpuaasd;

static void reply_check(const char *text)
{
    json_error_t error;
    FUZZ_CHECK(text != NULL && strlen(text) < ADMIN_REPLY_MAX && strchr(text, '\n') == NULL);
    json_t *reply = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    FUZZ_CHECK(json_is_object(reply));
    bool ok = json_is_true(json_object_get(reply, "ok"));
    FUZZ_CHECK(json_is_object(json_object_get(reply, "result")) == ok);
    const json_t *failure = json_object_get(reply, "error");
    FUZZ_CHECK(json_is_object(failure) != ok);
    FUZZ_CHECK(ok || json_string_length(json_object_get(failure, "message")) != 0);
    json_decref(reply);
}

/* Tenants that inputs have made go: each input finds the same ones. */
static void name_take(void *user, const struct store_tenant *tenant)
{
    char *name = user;
    if (strcmp(tenant->name, "a") != 0 && strcmp(tenant->name, STORE_DEFAULT_TENANT) != 0) {
        memcpy(name, tenant->name, sizeof tenant->name);
    }
}

static void tidy(void)
{
    char name[STORE_NAME_MAX + 1] = "";
    FUZZ_CHECK(store_tenant_each(gpuaasd.storage.store, name_take, name) == GA_OK);
    if (name[0] != 0) {
        FUZZ_CHECK(store_tenant_remove(gpuaasd.storage.store, name, STORE_ANY_GENERATION) == GA_OK);
    }
}

static void line_try(const char *line, size_t length)
{
    static const struct admin_peer peer = {.uid = 1, .name = "uid:1"};
    tidy();
    char *reply = admin_answer(&gpuaasd, &peer, line, length, NULL);
    reply_check(reply);
    free(reply);
}

/* With all its arguments, so that a new verb is reached without an input of its own. */
static void verb_try(const struct admin_verb *verb)
{
    static const char *const values[] = {[ADMIN_TEXT] = "\"a\"",
                                         [ADMIN_NUMBER] = "1",
                                         [ADMIN_FLAG] = "false",
                                         [ADMIN_TEXTS] = "[\"sessions=1\"]"};
    char *line = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&line, &size);
    FUZZ_CHECK(out != NULL);
    fprintf(out, "{\"apiVersion\":1,\"verb\":\"%s\",\"dryRun\":%s,\"arguments\":{", verb->name,
            verb->changes ? "true" : "false");
    for (const struct admin_argument *at = verb->arguments; at->name != NULL; at++) {
        fprintf(out, "%s\"%s\":%s", at != verb->arguments ? "," : "", at->name, values[at->type]);
    }
    fputs("}}", out);
    FUZZ_CHECK(fclose(out) == 0);
    line_try(line, size);
    free(line);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static const char text[] = "[server]\nlisten = tcp://127.0.0.1:0\n"
                               "[gpu.0]\ndriver = soft\n[gpu.1]\ndriver = nvidia\n";
    struct store_tenant tenant;
    char why[600];
    (void)argc;
    (void)argv;
    ga_log_set_level(GA_LOG_ERROR);
    FUZZ_CHECK(conf_read_text("text", text, &conf, NULL, NULL) == GA_OK);
    gpuaasd.conf = &conf;
    gpuaasd.processes.seats = 1;
    FUZZ_CHECK(uv_loop_init(&gpuaasd.loop) == 0);
    loop_timers_init(&gpuaasd.timers, &gpuaasd.loop);
    processes_init(&gpuaasd.processes, &gpuaasd.loop, &gpuaasd.timers.timers, gpuaasd.conf);
    gpuaasd.storage.conf = &conf;
    access_init(&gpuaasd.access, &gpuaasd.loop, &gpuaasd.timers.timers, &conf, &gpuaasd.storage);
    usage_init(&gpuaasd.usage, &gpuaasd.processes, &gpuaasd.storage);
    applications_init(&gpuaasd.applications, &gpuaasd.processes, &gpuaasd.usage, &gpuaasd.access,
                      NULL);
    FUZZ_CHECK(clients_init(&gpuaasd.clients, &gpuaasd.applications,
                            conf.server.backend.pending_connections, NULL) == GA_OK);
    monitoring_init(&gpuaasd.monitoring, &gpuaasd.clients);
    FUZZ_CHECK(devices_init(&gpuaasd.processes.devices, &conf) == GA_OK);
    struct channel_facts facts = {.kind = CHANNEL_FACTS, .device = 0, .attribute_count = 3};
    snprintf(facts.name, sizeof facts.name, "GPU");
    FUZZ_CHECK(devices_learn(&gpuaasd.processes.devices, &facts));
    devices_publish(&gpuaasd.processes.devices);
    gpuaasd.file = "/nonexistent/gpuaasd.conf"; /* reload finds nothing */
    gpuaasd.notify.fd = -1;
    gpuaasd.processes.serving = true;
    FUZZ_CHECK(store_open(":memory:", &gpuaasd.storage.store, why, sizeof why) == GA_OK);
    store_tenant_init(&tenant, "a");
    FUZZ_CHECK(store_tenant_put(gpuaasd.storage.store, &tenant, STORE_NEW) == GA_OK);
    json_object_seed(1); /* the same order of members each time */
    for (size_t i = 0; i < admin_verb_count; i++) {
        verb_try(&admin_verbs[i]);
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size != 0 ? memchr(data, '\n', size) : NULL;
    size_t length = end != NULL ? (size_t)(end - data) : size;
    char *line = malloc(length + 1);
    FUZZ_CHECK(line != NULL);
    memcpy(line, data, length);
    line_try(line, length);
    free(line);
    return 0;
}
