/* SPDX-License-Identifier: Apache-2.0 */
/* Parser of a configuration file. ini.c finds sections and keys; the table of keys says what values
 * they can have. */
#include "conf/conf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "conf/key.h"

#define CONF_FILE_MAX (1u << 20) /* a longer file is no configuration */

struct reading {
    struct conf *conf;
    struct conf_ini ini;
    unsigned server_seen[CONF_KEYS_MAX]; /* line of each key; 0: not given */
    unsigned gpu_seen[CONF_GPUS_MAX][CONF_KEYS_MAX];
    unsigned gpu_line[CONF_GPUS_MAX]; /* line of the first key; 0: no such section */
};

static const struct conf_key *key_find(enum conf_section section, const char *name)
{
    for (size_t i = 0; i < conf_key_count; i++) {
        if (conf_keys[i].section == section && strcmp(conf_keys[i].name, name) == 0) {
            return &conf_keys[i];
        }
    }
    return NULL;
}

/* Names the key that was probably meant, or all keys. */
static void complain_unknown_key(struct reading *r, const char *section, enum conf_section kind,
                                 const char *name)
{
    char allowed[700] = "";
    struct ga_nearest nearest = ga_nearest_to(name, strlen(name));
    bool elsewhere = false;
    for (size_t i = 0; i < conf_key_count; i++) {
        if (conf_keys[i].section == kind) {
            size_t used = strlen(allowed);
            snprintf(allowed + used, sizeof allowed - used, "%s%s", used != 0 ? ", " : "",
                     conf_keys[i].name);
            ga_nearest_offer(&nearest, conf_keys[i].name);
        } else {
            elsewhere |= strcmp(conf_keys[i].name, name) == 0;
        }
    }
    if (elsewhere) {
        conf_ini_complain(&r->ini, r->ini.line, "[%s] %s: this key belongs in a section %s",
                          section, name, kind == CONF_SECTION_GPU ? "[server]" : "[gpu.N]");
    } else if (nearest.word != NULL) {
        conf_ini_complain(&r->ini, r->ini.line, "[%s] %s: there is no such key, did you mean %s?",
                          section, name, nearest.word);
    } else {
        conf_ini_complain(&r->ini, r->ini.line, "[%s] %s: there is no such key; allowed: %s",
                          section, name, allowed);
    }
}

/* "gpu.N": N, or -1. */
static int gpu_number(const char *section)
{
    if (strncmp(section, "gpu.", 4) != 0 || section[4] == 0 || strlen(section) > 8) {
        return -1;
    }
    int number = 0;
    for (const char *at = section + 4; *at != 0; at++) {
        if (*at < '0' || *at > '9') {
            return -1;
        }
        number = number * 10 + (*at - '0');
    }
    return number < (int)CONF_GPUS_MAX ? number : -1;
}

static void key_take(void *user, const char *section, const char *name, const char *value)
{
    struct reading *r = user;
    int number = gpu_number(section);
    enum conf_section kind = number >= 0 ? CONF_SECTION_GPU : CONF_SECTION_SERVER;
    if (section[0] == 0) {
        conf_ini_complain(
            &r->ini, r->ini.line,
            "%s: stands before the first section; allowed: [server], [gpu.0] to [gpu.%u]", name,
            CONF_GPUS_MAX - 1);
        return;
    }
    if (number < 0 && strcmp(section, "server") != 0) {
        conf_ini_complain(&r->ini, r->ini.line,
                          "[%s]: there is no such section; allowed: [server], [gpu.0] to "
                          "[gpu.%u]",
                          section, CONF_GPUS_MAX - 1);
        return;
    }
    void *into = &r->conf->server;
    unsigned *seen = r->server_seen;
    if (kind == CONF_SECTION_GPU) {
        into = &r->conf->gpus[number];
        seen = r->gpu_seen[number];
        r->gpu_line[number] = r->gpu_line[number] != 0 ? r->gpu_line[number] : r->ini.line;
    }
    const struct conf_key *key = key_find(kind, name);
    if (key == NULL) {
        complain_unknown_key(r, section, kind, name);
        return;
    }
    unsigned *at = &seen[key - conf_keys];
    if (*at != 0 && key->type != CONF_TYPE_LISTEN) {
        conf_ini_complain(&r->ini, r->ini.line, "[%s] %s: given twice, first in line %u", section,
                          name, *at);
        return;
    }
    *at = r->ini.line;
    if (*value == 0 || !conf_key_read(key, value, r->ini.line, into)) {
        conf_ini_complain(&r->ini, r->ini.line, "[%s] %s: \"%s\" is not allowed; allowed: %s%s",
                          section, name, value, conf_key_allowed(key),
                          strstr(value, " #") != NULL ? " (a comment behind a value begins with ;)"
                                                      : "");
    } else if (kind == CONF_SECTION_GPU) {
        conf_scheduling_note(&r->conf->gpus[number].scheduling, key);
    }
}

static void defaults_set(enum conf_section section, void *into)
{
    for (size_t i = 0; i < conf_key_count; i++) {
        if (conf_keys[i].section == section && conf_keys[i].standard != NULL) {
            (void)conf_key_read(&conf_keys[i], conf_keys[i].standard, 0, into);
        }
    }
}

/* Checks that required keys are given, and that no two keys contradict each other. */
static void section_check(struct reading *r, const char *section, enum conf_section kind,
                          const unsigned *seen, unsigned line, unsigned drivers)
{
    for (size_t i = 0; i < conf_key_count; i++) {
        const struct conf_key *key = &conf_keys[i];
        if (key->section != kind) {
            continue;
        }
        if (key->standard == NULL && seen[i] == 0) {
            conf_ini_complain(&r->ini, line, "[%s] %s: is missing; allowed: %s", section, key->name,
                              conf_key_allowed(key));
        }
        if (seen[i] != 0 && (key->drivers & drivers) == 0) {
            conf_ini_complain(&r->ini, seen[i], "[%s] %s: is only allowed with driver = %s",
                              section, key->name,
                              key->drivers == CONF_DRIVERS_SOFT ? "soft" : "nvidia");
        }
    }
}

static void soft_complete(struct conf_gpu *gpu)
{
    soft_device_complete(&gpu->soft, gpu->soft_given);
    if (gpu->soft.model == 0) { /* the machine's own properties are found once, here */
        gpu->soft_given = ~UINT64_C(0);
    }
}

/* The complaint is about its key; or, if that has its default, about the last of the keys that may
 * contradict it. */
static void scheduling_check(struct reading *r, const struct conf_gpu *gpu, const char *section)
{
    const struct sched_gpu sched_gpu = conf_gpu_sched(gpu);
    char why[500];
    unsigned line = 0, own_line = 0;
    if (conf_scheduling_check(&gpu->scheduling, &sched_gpu, why, sizeof why) == GA_OK) {
        return;
    }
    for (size_t i = 0; i < conf_key_count; i++) {
        unsigned seen = r->gpu_seen[gpu->number][i];
        size_t length = strlen(conf_keys[i].name);
        bool own = strncmp(why, conf_keys[i].name, length) == 0 && why[length] == ':';
        own_line = own ? seen : own_line;
        line = conf_key_schedules(&conf_keys[i]) && seen > line ? seen : line;
    }
    conf_ini_complain(&r->ini, own_line != 0 ? own_line : line, "[%s] %s", section, why);
}

static void gpus_check(struct reading *r)
{
    struct conf *conf = r->conf;
    size_t driver_key = (size_t)(key_find(CONF_SECTION_GPU, "driver") - conf_keys);
    unsigned count = 0;
    for (unsigned n = 0; n < CONF_GPUS_MAX; n++) {
        if (r->gpu_line[n] == 0) {
            continue;
        }
        char section[16];
        snprintf(section, sizeof section, "gpu.%u", n);
        bool known = r->gpu_seen[n][driver_key] != 0;
        section_check(r, section, CONF_SECTION_GPU, r->gpu_seen[n], r->gpu_line[n],
                      known ? 1u << conf->gpus[n].driver : CONF_DRIVERS_ALL);
        conf->gpus[count] = conf->gpus[n];
        conf->gpus[count].number = n;
        soft_complete(&conf->gpus[count]);
        const char *wrong = soft_device_wrong(&conf->gpus[count].soft);
        if (wrong != NULL) {
            conf_ini_complain(&r->ini, r->gpu_line[n], "[%s] %s", section, wrong);
        } else if (known) {
            scheduling_check(r, &conf->gpus[count], section);
        }
        count++;
    }
    conf->gpu_count = count;
    for (unsigned i = 0; i < count; i++) {
        for (unsigned k = 0; k < i; k++) {
            const struct conf_gpu *a = &conf->gpus[k], *b = &conf->gpus[i];
            if (a->driver == b->driver && strcmp(a->driver_path, b->driver_path) != 0) {
                conf_ini_complain(&r->ini, 0,
                                  "[gpu.%u] driver_path: differs from that of [gpu.%u], which has "
                                  "the same driver",
                                  b->number, a->number);
            }
        }
    }
    if (count == 0 && !r->ini.sections_lost) {
        conf_ini_complain(&r->ini, 0,
                          "there is no GPU: a section [gpu.0] with driver = soft or nvidia is "
                          "missing");
    }
}

#define HOST_MEMORY_SHARE 4 /* of the machine's memory, for one application */
#define HOST_MEMORY_MIN   (UINT64_C(64) << 20)

static void host_memory_complete(struct conf_server *server)
{
    uint64_t share = soft_machine_memory() / HOST_MEMORY_SHARE;
    if (server->backend.application_host_memory == 0) {
        server->backend.application_host_memory = share > HOST_MEMORY_MIN ? share : HOST_MEMORY_MIN;
    }
}

/* Each application has a backend process; spares and the probe at the start count as well. */
static void processes_check(struct reading *r)
{
    const struct conf *conf = r->conf;
    size_t key = (size_t)(key_find(CONF_SECTION_SERVER, "clients") - conf_keys);
    uint32_t rest = SOFT_PROCESSES_MAX - 1 - conf->server.spare_backends;
    bool soft = false;
    for (unsigned i = 0; i < conf->gpu_count; i++) {
        soft |= conf->gpus[i].driver == CONF_DRIVER_SOFT;
    }
    if (soft && conf->server.clients > rest) {
        conf_ini_complain(
            &r->ini, r->server_seen[key],
            "[server] clients: \"%u\" is not allowed; allowed: 1 to %u where a GPU has "
            "driver = soft and spare_backends = %u (%u processes can use such GPUs)",
            conf->server.clients, rest, conf->server.spare_backends, SOFT_PROCESSES_MAX);
    }
}

enum ga_status conf_read_text(const char *name, const char *text, struct conf *conf,
                              conf_complain *complain, void *user)
{
    memset(conf, 0, sizeof *conf);
    struct reading *r = calloc(1, sizeof *r);
    if (r == NULL) {
        complain(user, "no memory");
        return GA_NO_MEMORY;
    }
    *r = (struct reading){
        .conf = conf,
        .ini = {.name = name, .next = text, .complain = complain, .user = user},
    };
    defaults_set(CONF_SECTION_SERVER, &conf->server);
    for (unsigned n = 0; n < CONF_GPUS_MAX; n++) {
        defaults_set(CONF_SECTION_GPU, &conf->gpus[n]);
    }
    conf_ini_read(&r->ini, key_take, r);
    if (!r->ini.sections_lost) {
        section_check(r, "server", CONF_SECTION_SERVER, r->server_seen, 0, CONF_DRIVERS_ALL);
    }
    gpus_check(r);
    processes_check(r);
    host_memory_complete(&conf->server);
    enum ga_status status = r->ini.errors == 0 ? GA_OK : GA_INVALID;
    free(r);
    return status;
}

void conf_server_reload(struct conf_server *now, const struct conf_server *read,
                        const struct conf_server *fresh,
                        void (*ignored)(void *user, const char *key), void *user)
{
    for (size_t i = 0; i < conf_key_count; i++) {
        const struct conf_key *key = &conf_keys[i];
        if (key->section == CONF_SECTION_SERVER && key->change == CONF_CHANGE_RELOAD) {
            memcpy((char *)now + key->offset, (const char *)fresh + key->offset,
                   conf_key_bytes(key));
        } else if (key->section == CONF_SECTION_SERVER && !conf_key_same(key, read, fresh)) {
            ignored(user, key->name);
        }
    }
}

static const char *open_cure(int error)
{
    return error == ENOENT   ? "; gpuaasd --example-config writes one"
           : error == EISDIR ? "; give a file in it"
           : error == EACCES ? "; let the user that gpuaasd runs as read it"
                             : "";
}

enum ga_status conf_read_file(const char *path, struct conf *conf, conf_complain *complain,
                              void *user)
{
    char line[600];
    FILE *file = fopen(path, "re");
    int error = file == NULL ? errno : 0;
    char *text = malloc(CONF_FILE_MAX + 1);
    size_t size = file != NULL && text != NULL ? fread(text, 1, CONF_FILE_MAX + 1, file) : 0;
    error = file != NULL && ferror(file) ? errno : error;
    const char *wrong = error != 0                                   ? strerror(error)
                        : text == NULL                               ? "no memory"
                        : size > CONF_FILE_MAX                       ? "longer than 1 MiB"
                        : size != 0 && memchr(text, 0, size) != NULL ? "not a text"
                                                                     : NULL;
    enum ga_status status = GA_INVALID;
    if (wrong != NULL) {
        snprintf(line, sizeof line, "cannot read the configuration %.400s: %s%s", path, wrong,
                 open_cure(error));
        complain(user, line);
    } else {
        text[size] = 0; /* NOLINT: no text is one of the reasons above */
        status = conf_read_text(path, text, conf, complain, user);
    }
    free(text);
    if (file != NULL) {
        fclose(file);
    }
    return status;
}
