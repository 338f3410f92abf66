/* SPDX-License-Identifier: Apache-2.0 */
/* Parser of a configuration file. inih finds sections and keys; the table of keys says what values
 * they can have.
 *
 * inih as packaged gives its handler no line numbers and cuts long lines in two. line_give, which
 * feeds it the lines, counts them and refuses long ones. */
#include "conf/conf.h"

#include <errno.h>
#include <ini.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "conf/key.h"

#define CONF_FILE_MAX (1u << 20) /* a longer file is no configuration */
#define CONF_KEYS_MAX 64u

struct reading {
    struct conf *conf;
    const char *name;
    const char *next; /* text not yet given to inih */
    unsigned line;
    unsigned errors;
    bool sections_lost; /* some section lines were wrong: a missing key may be in such a section */
    bool skipping;      /* behind a wrong section line: the section of the keys is unknown */
    conf_complain *complain;
    void *user;
    unsigned server_seen[CONF_KEYS_MAX]; /* line of each key; 0: not given */
    unsigned gpu_seen[CONF_GPUS_MAX][CONF_KEYS_MAX];
    unsigned gpu_line[CONF_GPUS_MAX]; /* line of the first key; 0: no such section */
};

__attribute__((format(printf, 3, 4))) static void complain_at(struct reading *r, unsigned line,
                                                              const char *format, ...)
{
    char text[900];
    int head = line != 0 ? snprintf(text, sizeof text, "%s:%u: ", r->name, line)
                         : snprintf(text, sizeof text, "%s: ", r->name);
    size_t used = head > 0 && (size_t)head < sizeof text ? (size_t)head : 0;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text + used, sizeof text - used, format, args);
    va_end(args);
    r->errors++;
    r->complain(r->user, text);
}

/* A section line without its closing bracket. inih would report it last, and count the keys behind
 * it to the section before. */
static bool section_is_open(const char *line, size_t length)
{
    size_t comment = 1;
    while (comment < length &&
           !(line[comment] == ';' && strchr(" \t", line[comment - 1]) != NULL)) {
        comment++;
    }
    return length != 0 && line[0] == '[' && memchr(line, ']', comment) == NULL;
}

/* Finds the errors that inih reports only at the end, so that they are told in the order of lines.
 */
static bool line_is_wrong(struct reading *r, const char *line, size_t length)
{
    int shown = (int)strcspn(line, "\r\n");
    if (length != 0 && line[0] == '[') {
        r->skipping = section_is_open(line, length);
        r->sections_lost |= r->skipping;
        if (r->skipping) {
            complain_at(r, r->line, "\"%.*s\": ']' is missing", shown, line);
        }
        return r->skipping;
    }
    /* An indented line continues the one before; the first may begin with a byte order mark. */
    bool plain = shown != 0 && strchr(" \t;#\xef", line[0]) == NULL;
    bool wrong = plain && !r->skipping && strcspn(line, "=:") >= (size_t)shown;
    if (wrong) {
        complain_at(r, r->line, "\"%.*s\" is neither [section] nor key = value", shown, line);
    }
    return wrong;
}

/* The line reader that inih calls, with the contract of fgets. */
static char *line_give(char *to, int size, void *stream)
{
    struct reading *r = stream;
    if (*r->next == 0) {
        return NULL;
    }
    size_t length = strcspn(r->next, "\n");
    r->line++;
    const char *line = r->next;
    r->next += length + (line[length] == '\n' ? 1 : 0);
    if (length + 2 > (size_t)size) {
        complain_at(r, r->line, "the line is longer than %d characters", size - 2);
        length = 0;
    }
    if (line_is_wrong(r, line, length) || r->skipping) {
        length = 0;
    }
    memcpy(to, line, length);
    to[length] = '\n';
    to[length + 1] = 0;
    return to;
}

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
    char allowed[400] = "";
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
        complain_at(r, r->line, "[%s] %s: this key belongs in a section %s", section, name,
                    kind == CONF_SECTION_GPU ? "[server]" : "[gpu.N]");
    } else if (nearest.word != NULL) {
        complain_at(r, r->line, "[%s] %s: there is no such key, did you mean %s?", section, name,
                    nearest.word);
    } else {
        complain_at(r, r->line, "[%s] %s: there is no such key; allowed: %s", section, name,
                    allowed);
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

static int key_take(void *user, const char *section, const char *name, const char *value)
{
    struct reading *r = user;
    int number = gpu_number(section);
    enum conf_section kind = number >= 0 ? CONF_SECTION_GPU : CONF_SECTION_SERVER;
    if (section[0] == 0) {
        complain_at(r, r->line,
                    "%s: stands before the first section; allowed: [server], [gpu.0] to [gpu.%u]",
                    name, CONF_GPUS_MAX - 1);
        return 1;
    }
    if (number < 0 && strcmp(section, "server") != 0) {
        complain_at(r, r->line,
                    "[%s]: there is no such section; allowed: [server], [gpu.0] to "
                    "[gpu.%u]",
                    section, CONF_GPUS_MAX - 1);
        return 1;
    }
    void *into = &r->conf->server;
    unsigned *seen = r->server_seen;
    if (kind == CONF_SECTION_GPU) {
        into = &r->conf->gpus[number];
        seen = r->gpu_seen[number];
        r->gpu_line[number] = r->gpu_line[number] != 0 ? r->gpu_line[number] : r->line;
    }
    const struct conf_key *key = key_find(kind, name);
    if (key == NULL) {
        complain_unknown_key(r, section, kind, name);
        return 1;
    }
    unsigned *at = &seen[key - conf_keys];
    if (*at != 0 && key->type != CONF_TYPE_LISTEN) {
        complain_at(r, r->line, "[%s] %s: given twice, first in line %u", section, name, *at);
        return 1;
    }
    *at = r->line;
    if (*value == 0 || !conf_key_read(key, value, r->line, into)) {
        complain_at(r, r->line, "[%s] %s: \"%s\" is not allowed; allowed: %s%s", section, name,
                    value, key->allowed,
                    strstr(value, " #") != NULL ? " (a comment behind a value begins with ;)" : "");
    }
    return 1;
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
            complain_at(r, line, "[%s] %s: is missing; allowed: %s", section, key->name,
                        key->allowed);
        }
        if (seen[i] != 0 && (key->drivers & drivers) == 0) {
            complain_at(r, seen[i], "[%s] %s: is only allowed with driver = %s", section, key->name,
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
            complain_at(r, r->gpu_line[n], "[%s] %s", section, wrong);
        }
        count++;
    }
    conf->gpu_count = count;
    for (unsigned i = 0; i < count; i++) {
        for (unsigned k = 0; k < i; k++) {
            const struct conf_gpu *a = &conf->gpus[k], *b = &conf->gpus[i];
            if (a->driver == b->driver && strcmp(a->driver_path, b->driver_path) != 0) {
                complain_at(r, 0,
                            "[gpu.%u] driver_path: differs from that of [gpu.%u], which has "
                            "the same driver",
                            b->number, a->number);
            }
        }
    }
    if (count == 0 && !r->sections_lost) {
        complain_at(r, 0,
                    "there is no GPU: a section [gpu.0] with driver = soft or nvidia is "
                    "missing");
    }
}

#define HOST_MEMORY_SHARE 4 /* of the machine's memory, for one application */
#define HOST_MEMORY_MIN   (UINT64_C(64) << 20)

static void host_memory_complete(struct conf_server *server)
{
    uint64_t share = soft_machine_memory() / HOST_MEMORY_SHARE;
    if (server->application_host_memory == 0) {
        server->application_host_memory = share > HOST_MEMORY_MIN ? share : HOST_MEMORY_MIN;
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
        complain_at(r, r->server_seen[key],
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
        .conf = conf, .name = name, .next = text, .complain = complain, .user = user};
    defaults_set(CONF_SECTION_SERVER, &conf->server);
    for (unsigned n = 0; n < CONF_GPUS_MAX; n++) {
        defaults_set(CONF_SECTION_GPU, &conf->gpus[n]);
    }
    int bad_line = ini_parse_stream(line_give, r, key_take, r);
    if (bad_line > 0) {
        complain_at(r, (unsigned)bad_line, "this is neither [section] nor key = value");
    } else if (bad_line < 0) {
        complain_at(r, 0, "no memory");
    }
    if (!r->sections_lost) {
        section_check(r, "server", CONF_SECTION_SERVER, r->server_seen, 0, CONF_DRIVERS_ALL);
    }
    gpus_check(r);
    processes_check(r);
    host_memory_complete(&conf->server);
    enum ga_status status = r->errors == 0 ? GA_OK : GA_INVALID;
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
