/* SPDX-License-Identifier: Apache-2.0 */
/* Reads scenarios: sections become rows, keys their members. check.c looks at the whole. */
#include "sim/scenario.h"

#include <stdlib.h>
#include <string.h>

#include "base/digits.h"
#include "base/nearest.h"
#include "sim/file.h"
#include "sim/grow.h"
#include "sim/scenario_reading.h"

static const struct {
    const char *name; /* with a dot: something follows */
    bool number;      /* that is a number */
    size_t bytes;     /* of a row */
} kinds[SIM_SECTIONS] = {
    [SIM_SECTION_RUN] = {"run", false, sizeof(struct sim_run_keys)},
    [SIM_SECTION_POLICY] = {"policy", false, sizeof(struct sched_settings)},
    [SIM_SECTION_NODE] = {"node.", true, sizeof(struct sim_node_keys)},
    [SIM_SECTION_GPU] = {"gpu.", true, sizeof(struct sim_gpu_keys)},
    [SIM_SECTION_APP] = {"app.", false, sizeof(struct sim_app_keys)},
    [SIM_SECTION_STREAM] = {"stream.", false, sizeof(struct sim_stream_keys)},
};

#define SECTIONS_ALLOWED "[run], [policy], [node.N], [gpu.N], [app.NAME], [stream.NAME]"

/* The kind of a section; SIM_SECTIONS: there is none of this name. */
static enum sim_section section_kind(const char *section, const char **rest)
{
    for (int kind = 0; kind < SIM_SECTIONS; kind++) {
        size_t length = strlen(kinds[kind].name);
        bool dotted = kinds[kind].name[length - 1] == '.';
        if (dotted ? strncmp(section, kinds[kind].name, length) == 0 && section[length] != 0
                   : strcmp(section, kinds[kind].name) == 0) {
            *rest = section + length;
            return (enum sim_section)kind;
        }
    }
    return SIM_SECTIONS;
}

static void scenario_defaults_set(enum sim_section kind, void *row)
{
    for (size_t i = 0; i < sim_key_count; i++) {
        const struct sim_key *key = &sim_keys[i];
        if (key->section == kind && key->standard != NULL && *key->standard != 0) {
            (void)sim_key_read(key, key->standard, false, row);
        } else if (key->section == kind && key->type == SIM_TYPE_REAL) {
            *(double *)((char *)row + key->offset) = -1; /* not given */
        }
    }
    if (kind == SIM_SECTION_GPU) {
        /* Not `generic`, which is as large as the machine: runs are the same everywhere. */
        (void)soft_key_read(&soft_keys[soft_key_find("model")], "c2050",
                            &((struct sim_gpu_keys *)row)->device);
    }
}

/* Writes the number or the name of a section into its row. */
static bool row_name(struct sim_reading *r, enum sim_section kind, const char *section,
                     const char *rest, void *row)
{
    if (kind == SIM_SECTION_NODE || kind == SIM_SECTION_GPU) {
        const char *end;
        uint64_t number;
        if (!ga_digits_read(rest, &end, &number) || *end != 0 || number >= SIM_SECTIONS_MAX) {
            conf_ini_complain(&r->ini, r->ini.line, "[%.80s]: N must be 0 to %u", section,
                              SIM_SECTIONS_MAX - 1);
            return false;
        }
        *(uint32_t *)row = (uint32_t)number; /* both begin with it */
        return true;
    }
    for (const char *at = rest; *at != 0; at++) {
        if (strchr("\"\\ .#,;=", *at) != NULL || (unsigned char)*at < ' ') {
            rest = "";
        }
    }
    if (*rest == 0 || strlen(rest) >= SIM_NAME_BYTES) {
        conf_ini_complain(&r->ini, r->ini.line,
                          "[%.80s]: a name has at most %d characters, none of them a blank or one "
                          "of \" \\ . # , ; =",
                          section, SIM_NAME_BYTES - 1);
        return false;
    }
    memcpy(row, rest, strlen(rest) + 1); /* both begin with it */
    return true;
}

/* Makes room for a row of its kind. The rows of a kind are one array. */
static enum ga_status row_make(struct sim_reading *r, enum sim_section kind, uint32_t *index)
{
    struct sim_scenario *s = r->scenario;
    void **rows[SIM_SECTIONS] = {[SIM_SECTION_NODE] = (void **)&s->nodes,
                                 [SIM_SECTION_GPU] = (void **)&s->gpus,
                                 [SIM_SECTION_APP] = (void **)&s->apps,
                                 [SIM_SECTION_STREAM] = (void **)&s->streams};
    uint32_t *counts[SIM_SECTIONS] = {[SIM_SECTION_NODE] = &s->node_count,
                                      [SIM_SECTION_GPU] = &s->gpu_count,
                                      [SIM_SECTION_APP] = &s->app_count,
                                      [SIM_SECTION_STREAM] = &s->stream_count};
    *index = 0;
    if (rows[kind] == NULL) {
        return GA_OK;
    }
    uint32_t count = *counts[kind];
    if (count == SIM_SECTIONS_MAX) {
        conf_ini_complain(&r->ini, r->ini.line, "more than %u sections [%s...]", SIM_SECTIONS_MAX,
                          kinds[kind].name);
        return GA_INVALID;
    }
    if ((count & (count - 1)) == 0) { /* 0 and powers of two: it is full */
        void *more = realloc(*rows[kind], (count != 0 ? (size_t)count * 2 : 1) * kinds[kind].bytes);
        if (more == NULL) {
            return GA_NO_MEMORY;
        }
        *rows[kind] = more;
    }
    memset((char *)*rows[kind] + count * kinds[kind].bytes, 0, kinds[kind].bytes);
    *index = (*counts[kind])++;
    return GA_OK;
}

void *sim_reading_row(const struct sim_reading *r, enum sim_section kind, uint32_t index)
{
    struct sim_scenario *s = r->scenario;
    void *rows[SIM_SECTIONS] = {
        [SIM_SECTION_RUN] = &s->run,   [SIM_SECTION_POLICY] = &s->policy_keys,
        [SIM_SECTION_NODE] = s->nodes, [SIM_SECTION_GPU] = s->gpus,
        [SIM_SECTION_APP] = s->apps,   [SIM_SECTION_STREAM] = s->streams};
    return (char *)rows[kind] + index * kinds[kind].bytes;
}

void sim_reading_node(struct sim_reading *r, uint32_t number)
{
    uint32_t index;
    enum ga_status status = row_make(r, SIM_SECTION_NODE, &index);
    r->no_memory |= status == GA_NO_MEMORY;
    if (status == GA_OK) {
        scenario_defaults_set(SIM_SECTION_NODE, &r->scenario->nodes[index]);
        r->scenario->nodes[index].number = number;
    }
}

/* The section of this name, made if there is none; NULL after a complaint. */
static struct sim_reading_section *section_find(struct sim_reading *r, const char *name)
{
    /* The last one first: the keys of a section follow each other. */
    for (size_t i = r->section_count; i-- > 0;) {
        if (strcmp(r->sections[i].name, name) == 0) {
            return &r->sections[i];
        }
    }
    const char *rest;
    enum sim_section kind = section_kind(name, &rest);
    if (kind == SIM_SECTIONS) {
        conf_ini_complain(&r->ini, r->ini.line, "[%.80s]: there is no such section; allowed: %s",
                          name, SECTIONS_ALLOWED);
        return NULL;
    }
    struct sim_reading_section section = {.kind = kind, .line = r->ini.line};
    snprintf(section.name, sizeof section.name, "%s", name);
    if (r->section_count == r->section_room) {
        size_t room = r->section_room != 0 ? r->section_room * 2 : 16;
        struct sim_reading_section *more = realloc(r->sections, room * sizeof *more);
        if (more == NULL) {
            r->no_memory = true;
            return NULL;
        }
        r->sections = more;
        r->section_room = room;
    }
    enum ga_status status = row_make(r, kind, &section.row);
    void *row = status == GA_OK ? sim_reading_row(r, kind, section.row) : NULL;
    r->no_memory |= status == GA_NO_MEMORY;
    if (row == NULL) {
        return NULL;
    }
    if (kind != SIM_SECTION_RUN && kind != SIM_SECTION_POLICY) {
        scenario_defaults_set(kind, row);
        section.unusable = !row_name(r, kind, name, rest, row);
    }
    r->sections[r->section_count] = section;
    return &r->sections[r->section_count++];
}

static void key_complain(struct sim_reading *r, enum sim_section kind, const char *section,
                         const char *name)
{
    char allowed[700] = "";
    struct ga_nearest nearest = ga_nearest_to(name, strlen(name));
    for (size_t i = 0; i < sim_key_count; i++) {
        if (sim_keys[i].section == kind) {
            size_t used = strlen(allowed);
            snprintf(allowed + used, sizeof allowed - used, "%s%s", used != 0 ? ", " : "",
                     sim_keys[i].name);
            ga_nearest_offer(&nearest, sim_keys[i].name);
        }
    }
    if (nearest.word != NULL) {
        conf_ini_complain(&r->ini, r->ini.line,
                          "[%.80s] %.80s: there is no such key, did you mean %s?", section, name,
                          nearest.word);
    } else {
        conf_ini_complain(&r->ini, r->ini.line, "[%.80s] %.80s: there is no such key; allowed: %s",
                          section, name, allowed);
    }
}

static void scenario_entry_take(void *user, const char *section, const char *name,
                                const char *value)
{
    struct sim_reading *r = user;
    struct sim_reading_section *at = section_find(r, section);
    if (at == NULL || at->unusable) {
        return;
    }
    size_t k = 0;
    while (k < sim_key_count &&
           (sim_keys[k].section != at->kind || strcmp(sim_keys[k].name, name) != 0)) {
        k++;
    }
    if (k == sim_key_count) {
        key_complain(r, at->kind, section, name);
        return;
    }
    if (at->seen[k] != 0 && !r->overriding) {
        conf_ini_complain(&r->ini, r->ini.line, "[%s] %s: given twice, first in line %u", section,
                          name, at->seen[k]);
        return;
    }
    at->seen[k] = r->ini.line != 0 ? r->ini.line : UINT32_MAX;
    if (!sim_key_read(&sim_keys[k], value, true, sim_reading_row(r, at->kind, at->row))) {
        conf_ini_complain(&r->ini, r->ini.line, "[%s] %s: \"%.80s\" is not allowed; allowed: %s%s",
                          section, name, value, sim_keys[k].allowed,
                          strstr(value, " #") != NULL ? " (a comment behind a value begins with ;)"
                                                      : "");
    }
}

/* "section.key=value" */
static void setting_take(struct sim_reading *r, const char *text)
{
    char copy[1024];
    size_t equals = strcspn(text, "="), dot = equals;
    while (dot > 0 && text[dot] != '.') {
        dot--;
    }
    r->ini.name = text;
    if (text[equals] == 0 || dot == 0 || dot + 1 == equals || strlen(text) >= sizeof copy) {
        conf_ini_complain(&r->ini, 0,
                          "a setting has the form section.key=value, and is shorter "
                          "than 1024 characters");
        return;
    }
    memcpy(copy, text, strlen(text) + 1);
    copy[dot] = copy[equals] = 0;
    scenario_entry_take(r, copy, copy + dot + 1, copy + equals + 1);
}

enum ga_status sim_scenario_read(const char *name, const char *text,
                                 const struct sim_settings *settings, struct sim_scenario *scenario,
                                 conf_complain *complain, void *user)
{
    *scenario = (struct sim_scenario){.policy_keys = sched_settings_default()};
    snprintf(scenario->name, sizeof scenario->name, "%s", name);
    struct sim_reading r = {
        .scenario = scenario,
        .ini = {.name = name, .next = text, .complain = complain, .user = user},
    };
    scenario_defaults_set(SIM_SECTION_RUN, &scenario->run);
    conf_ini_read(&r.ini, scenario_entry_take, &r);
    r.overriding = true;
    r.ini.line = 0;
    for (size_t i = 0; settings != NULL && i < settings->count; i++) {
        setting_take(&r, settings->texts[i]);
    }
    r.ini.name = name;
    if (!r.no_memory) {
        sim_scenario_check(&r);
    } else {
        complain(user, "no memory");
    }
    free(r.sections);
    if (r.no_memory || r.ini.errors != 0) {
        sim_scenario_free(scenario);
    }
    return r.no_memory ? GA_NO_MEMORY : r.ini.errors != 0 ? GA_INVALID : GA_OK;
}

enum ga_status sim_scenario_read_file(const char *path, const struct sim_settings *settings,
                                      struct sim_scenario *scenario, conf_complain *complain,
                                      void *user)
{
    char *text, why[SIM_PATH_BYTES + 200];
    enum ga_status status = GA_INVALID;
    if (strlen(path) >= SIM_PATH_BYTES) {
        complain(user, "the path of the scenario is too long");
        return status;
    }
    status = sim_file_read(path, SIM_FILE_MAX, &text, why, sizeof why);
    if (status != GA_OK) {
        complain(user, status == GA_NO_MEMORY ? "no memory" : why);
        return status;
    }
    status = sim_scenario_read(path, text, settings, scenario, complain, user);
    free(text);
    return status;
}

void sim_scenario_free(struct sim_scenario *scenario)
{
    free(scenario->nodes);
    free(scenario->gpus);
    free(scenario->apps);
    free(scenario->streams);
    *scenario = (struct sim_scenario){.policy = NULL};
}
