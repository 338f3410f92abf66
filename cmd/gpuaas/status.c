/* SPDX-License-Identifier: Apache-2.0 */
/* gpuaas status: each server, and each of its devices. A device is used as a program would use
 * it, so memory, transport and round trip are those that a program would get. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "cmd/gpuaas/cmd.h"
#include "cmd/gpuaas/driver.h"

enum { QUESTIONS = 5, SOME_MISSING = 1, NO_SERVER = 2 };

struct used {
    struct cmd_device device;
    struct cuda_driver_way way;
    uint64_t free_bytes, round_trip_ns;
    bool usable;
};

/* Measures a call that waits for an answer: the least of several. */
static CUresult device_measure(const struct cmd_driver *driver, struct used *used)
{
    CUcontext context;
    CUresult rc = driver->retain(&context, used->device.number);
    if (rc == CUDA_SUCCESS) {
        rc = driver->set_current(context);
    }
    used->round_trip_ns = UINT64_MAX;
    for (int i = 0; i < QUESTIONS && rc == CUDA_SUCCESS; i++) {
        size_t free_bytes = 0, total = 0;
        uint64_t asked_ns = ga_clock_ns();
        rc = driver->memory_info(&free_bytes, &total);
        uint64_t took_ns = ga_clock_ns() - asked_ns;
        used->round_trip_ns = took_ns < used->round_trip_ns ? took_ns : used->round_trip_ns;
        used->free_bytes = free_bytes;
    }
    return rc;
}

static void device_use(const struct cmd_driver *driver, int number, struct used *used)
{
    static char why[80];
    *used = (struct used){.device.number = number};
    bool described = cmd_driver_device(driver, number, &used->device);
    CUresult rc = described ? device_measure(driver, used) : CUDA_ERROR_UNKNOWN;
    used->usable = rc == CUDA_SUCCESS && driver->servers->way(number, &used->way);
    if (!used->usable && (!driver->servers->way(number, &used->way) || used->way.why[0] == 0)) {
        snprintf(why, sizeof why, "CUDA error %d", (int)rc);
        used->way.why = why;
    }
}

/* ---- for people */

/* Without what would act on a terminal: the text comes from a server. */
static const char *clean(const char *text)
{
    static char shown[4][400];
    static unsigned next;
    char *to = shown[next++ % 4];
    snprintf(to, sizeof shown[0], "%s", text);
    ga_text_clean(to);
    return to;
}

static void server_print(const struct cuda_driver_server *server)
{
    printf("%s: ", clean(server->address));
    if (!server->usable) {
        printf("cannot be used: %s\n", clean(server->why));
        return;
    }
    printf("node %s, gpuaas %s, CUDA driver %d.%d%s%s\n", clean(server->node), clean(server->build),
           server->driver_version / 1000, server->driver_version % 1000 / 10,
           server->why[0] != 0 ? "; " : "", clean(server->why));
}

static void status_device_print(const struct used *used)
{
    unsigned long long mib = used->device.memory_bytes >> 20;
    printf("  GPU %d: %s, ", used->device.number, used->device.name);
    if (!used->usable) {
        printf("%llu MiB, cannot be used: %s\n", mib, clean(used->way.why));
        return;
    }
    double us = (double)used->round_trip_ns / 1e3;
    printf("%llu of %llu MiB free, over %s, round trip ",
           (unsigned long long)used->free_bytes >> 20, mib, used->way.transport);
    printf(us < 1000 ? "%.0f us\n" : "%.1f ms\n", us < 1000 ? us : us / 1000);
}

/* ---- for programs */

static void server_json(const struct cuda_driver_server *server, struct cmd_json *json)
{
    char version[32];
    snprintf(version, sizeof version, "%d.%d", server->driver_version / 1000,
             server->driver_version % 1000 / 10);
    cmd_json_text(json, "address", server->address);
    cmd_json_flag(json, "usable", server->usable);
    cmd_json_text(json, "reason", server->why[0] != 0 ? server->why : NULL);
    cmd_json_text(json, "node", server->usable ? server->node : NULL);
    cmd_json_text(json, "version", server->usable ? server->build : NULL);
    cmd_json_text(json, "driver_version", server->usable ? version : NULL);
}

static void device_json(const struct used *used, struct cmd_json *json)
{
    cmd_json_open(json, NULL, '{');
    cmd_driver_device_json(&used->device, json);
    cmd_json_flag(json, "usable", used->usable);
    cmd_json_text(json, "reason", used->usable ? NULL : used->way.why);
    if (used->usable) {
        cmd_json_number(json, "memory_free_bytes", used->free_bytes);
        cmd_json_text(json, "transport", used->way.transport);
        cmd_json_number(json, "round_trip_ns", used->round_trip_ns);
    }
    cmd_json_close(json, '}');
}

/* ---- */

/* Shows a server and its devices; `json` NULL: for people. False: something cannot be used. */
static bool server_show(const struct cmd_driver *driver, unsigned index, int count,
                        struct cmd_json *json)
{
    struct cuda_driver_server server;
    driver->servers->server(index, &server);
    bool good = server.usable;
    if (json != NULL) {
        cmd_json_open(json, NULL, '{');
        server_json(&server, json);
        cmd_json_open(json, "devices", '[');
    } else {
        server_print(&server);
    }
    for (int i = 0; i < count; i++) {
        struct cuda_driver_way way;
        struct used used;
        if (!driver->servers->way(i, &way) || way.server != index) {
            continue;
        }
        device_use(driver, i, &used);
        good = good && used.usable;
        if (json != NULL) {
            device_json(&used, json);
        } else {
            status_device_print(&used);
            fflush(stdout);
        }
    }
    if (json != NULL) {
        cmd_json_close(json, ']');
        cmd_json_close(json, '}');
    }
    return good;
}

static int show_all(const struct cmd_driver *driver, int count, struct cmd_json *json)
{
    unsigned servers = driver->servers->count(), usable = 0;
    bool good = true;
    for (unsigned i = 0; i < servers; i++) {
        struct cuda_driver_server server;
        driver->servers->server(i, &server);
        usable += server.usable;
        good = server_show(driver, i, count, json) && good;
    }
    return usable == 0 ? NO_SERVER : good && count != 0 ? 0 : SOME_MISSING;
}

static int show(const struct cmd_driver *driver, bool as_json, int *count)
{
    struct cmd_json json = {.out = stdout};
    if (cmd_driver_count(driver, count) != CUDA_SUCCESS) {
        *count = 0; /* the servers give the reason */
    }
    if (!as_json) {
        return show_all(driver, *count, NULL);
    }
    cmd_json_open(&json, NULL, '{');
    cmd_json_open(&json, "servers", '[');
    int status = show_all(driver, *count, &json);
    cmd_json_close(&json, ']');
    cmd_json_close(&json, '}');
    return status;
}

int cmd_status(const struct cmd_options *options)
{
    char library[PATH_MAX];
    struct cmd_driver driver;
    int count = 0;
    int status = cmd_environment_driver(options, library, sizeof library);
    if (status != 0) {
        return status;
    }
    if (!cmd_driver_open(library, &driver)) {
        return CMD_FAILED;
    }
    if (driver.servers == NULL) {
        return cmd_wrong(CMD_FAILED, "%s is of another gpuaas; install both anew", library);
    }
    driver.servers->quiet();
    status = show(&driver, options->json, &count);
    const char *empty = cmd_environment_chooses_none(false);
    if (count == 0 && empty != NULL) {
        (void)cmd_wrong(0, "%s is set and empty: it chooses no device", empty);
    }
    return status;
}
