/* SPDX-License-Identifier: Apache-2.0 */
/* Note: shares and rates are those of the time between two looks; the first look has none (null).
 * They are made of the counters of each session, so they stay right when sessions come and go. */
#include "ctl/top.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "ctl/value.h"

#define TENANTS_MAX 16u /* that are shown: those that have sessions */

static json_int_t number_at(json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

/* ---- a look */

static json_t *by_id(json_t *sessions)
{
    json_t *found = json_object(), *session;
    size_t at;
    json_array_foreach(sessions, at, session)
    {
        (void)json_object_set(found, json_string_value(json_object_get(session, "id")), session);
    }
    return found;
}

/* The counter `key` of the same GPU in the look before; 0: it has not used it then. */
static json_int_t use_before(json_t *session, const char *uuid, const char *key)
{
    json_t *use;
    size_t at;
    json_array_foreach(json_object_get(session, "use"), at, use)
    {
        const char *known = json_string_value(json_object_get(use, "uuid"));
        if (known != NULL && strcmp(known, uuid) == 0) {
            return number_at(use, key);
        }
    }
    return 0;
}

static json_int_t per_second(json_int_t more, uint64_t passed_ms)
{
    return more <= 0 ? 0 : more * 1000 / (json_int_t)passed_ms;
}

/* Sets the rates of a session, and adds its use to the GPUs' sums (ms by uuid and engine). */
static void session_rates(json_t *session, json_t *old, uint64_t passed_ms, json_t *sums)
{
    static const char *const engines[] = {"compute_ms", "copy_in_ms", "copy_out_ms"};
    json_int_t busy = 0;
    json_t *use;
    size_t at;
    json_array_foreach(json_object_get(session, "use"), at, use)
    {
        const char *uuid = json_string_value(json_object_get(use, "uuid"));
        json_t *sum = json_object_get(sums, uuid);
        for (size_t i = 0; i < 3 && sum != NULL; i++) {
            json_int_t more = number_at(use, engines[i]) - use_before(old, uuid, engines[i]);
            more = more > 0 ? more : 0;
            busy += i == 0 ? more : 0;
            (void)json_object_set_new(sum, engines[i],
                                      json_integer(number_at(sum, engines[i]) + more));
        }
    }
    (void)json_object_set_new(session, "busy_percent",
                              json_integer(busy * 100 / (json_int_t)passed_ms));
    (void)json_object_set_new(
        session, "in_bytes_per_second",
        json_integer(
            per_second(number_at(session, "in_bytes") - number_at(old, "in_bytes"), passed_ms)));
    (void)json_object_set_new(
        session, "out_bytes_per_second",
        json_integer(
            per_second(number_at(session, "out_bytes") - number_at(old, "out_bytes"), passed_ms)));
}

static json_t *sums_of(json_t *gpus)
{
    json_t *sums = json_object(), *gpu;
    size_t at;
    json_array_foreach(gpus, at, gpu)
    {
        const char *uuid = json_string_value(json_object_get(gpu, "uuid"));
        if (uuid != NULL) {
            (void)json_object_set_new(sums, uuid, json_object());
        }
    }
    return sums;
}

static void gpus_rates(json_t *gpus, json_t *sums, uint64_t passed_ms)
{
    static const char *const names[][2] = {{"compute_ms", "compute_percent"},
                                           {"copy_in_ms", "copy_in_percent"},
                                           {"copy_out_ms", "copy_out_percent"}};
    json_t *gpu;
    size_t at;
    json_array_foreach(gpus, at, gpu)
    {
        const char *uuid = json_string_value(json_object_get(gpu, "uuid"));
        json_t *sum = uuid != NULL ? json_object_get(sums, uuid) : NULL;
        for (size_t i = 0; i < 3; i++) {
            json_int_t share =
                passed_ms == 0 ? 0 : number_at(sum, names[i][0]) * 100 / (json_int_t)passed_ms;
            (void)json_object_set_new(gpu, names[i][1],
                                      passed_ms == 0 ? json_null()
                                                     : json_integer(share > 100 ? 100 : share));
        }
    }
}

static void rates_set(struct top *top, json_t *sessions, json_t *gpus, uint64_t passed_ms)
{
    json_t *sums = sums_of(gpus), *session;
    size_t at;
    json_array_foreach(sessions, at, session)
    {
        const char *id = json_string_value(json_object_get(session, "id"));
        if (passed_ms != 0) {
            session_rates(session, json_object_get(top->before, id), passed_ms, sums);
        } else {
            (void)json_object_set_new(session, "busy_percent", json_null());
            (void)json_object_set_new(session, "in_bytes_per_second", json_null());
            (void)json_object_set_new(session, "out_bytes_per_second", json_null());
        }
    }
    gpus_rates(gpus, sums, passed_ms);
    json_decref(sums);
}

/* Those that have sessions. */
static enum admin_code tenants_look(struct top *top, json_t *sessions, json_t *tenants, char *why,
                                    size_t why_size)
{
    json_t *seen = json_object(), *session, *result;
    enum admin_code code = ADMIN_OK;
    size_t at;
    json_array_foreach(sessions, at, session)
    {
        const char *name = json_string_value(json_object_get(session, "tenant"));
        if (name == NULL || json_object_get(seen, name) != NULL ||
            json_object_size(seen) == TENANTS_MAX || code != ADMIN_OK) {
            continue;
        }
        (void)json_object_set_new(seen, name, json_true());
        code = ctl_ask_quietly(top->line, "tenant.show", json_pack("{s:s}", "name", name), &result,
                               why, why_size);
        if (code == ADMIN_OK) {
            (void)json_array_append(tenants, json_object_get(result, "item"));
            json_decref(result);
        }
        code = code == ADMIN_NOT_FOUND ? ADMIN_OK : code; /* it has just been removed */
    }
    json_decref(seen);
    return code;
}

/* The items of all pages. */
static enum admin_code list_look(struct top *top, const char *verb, json_t *items, char *why,
                                 size_t why_size)
{
    json_t *arguments = NULL, *result;
    enum admin_code code;
    do {
        code = ctl_ask_quietly(top->line, verb, arguments, &result, why, why_size);
        if (code != ADMIN_OK) {
            return code;
        }
        (void)json_array_extend(items, json_object_get(result, "items"));
        json_t *next = json_object_get(result, "next");
        arguments = json_is_string(next) ? json_pack("{s:O}", "after", next) : NULL;
        json_decref(result);
    } while (arguments != NULL);
    return ADMIN_OK;
}

enum admin_code ctl_top_look(struct top *top, char *why, size_t why_size)
{
    json_t *health = NULL, *gpus = json_array(), *tenants = json_array(), *sessions = json_array();
    uint64_t now_ns = ga_clock_ns();
    uint64_t passed_ms = top->before != NULL ? (now_ns - top->taken_ns) / GA_NS_PER_MS : 0;
    enum admin_code code = ctl_ask_quietly(top->line, "health", NULL, &health, why, why_size);
    if (code == ADMIN_OK) {
        code = list_look(top, "gpus", gpus, why, why_size);
    }
    if (code == ADMIN_OK) {
        code = list_look(top, "session.list", sessions, why, why_size);
    }
    if (code == ADMIN_OK) {
        code = tenants_look(top, sessions, tenants, why, why_size);
    }
    if (code != ADMIN_OK) {
        json_decref(health);
        json_decref(gpus);
        json_decref(tenants);
        json_decref(sessions);
        return code;
    }
    rates_set(top, sessions, gpus, passed_ms);
    json_decref(top->before);
    json_decref(top->frame);
    top->before = by_id(sessions);
    top->taken_ns = now_ns;
    top->frame = json_pack("{s:o, s:o, s:o, s:o}", "health", health, "gpus", gpus, "tenants",
                           tenants, "sessions", sessions);
    return ADMIN_OK;
}

void ctl_top_fini(struct top *top)
{
    json_decref(top->before);
    json_decref(top->frame);
}

/* ---- the frame as text */

/* A line has what matters most within 80 columns: a narrower terminal cuts the rest off. */
static void share_write(FILE *out, json_t *item, const char *key, int width)
{
    json_t *share = json_object_get(item, key);
    if (json_is_integer(share)) {
        fprintf(out, "%*" JSON_INTEGER_FORMAT "%%  ", width - 1, json_integer_value(share));
    } else {
        fprintf(out, "%*s  ", width, "-");
    }
}

static void cell_write(FILE *out, json_t *item, const char *key, enum ctl_form form, int width)
{
    const struct ctl_column column = {"", key, form, false};
    char *text = ctl_value_text(item, &column, false);
    int columns = text != NULL ? (int)ctl_text_columns(text) : 0, room = width < 0 ? -width : width;
    if (columns > room) { /* cut where characters have one byte; else the line is a bit longer */
        int bytes = room;
        while (bytes > 0 && ((unsigned char)text[bytes] & 0xc0) == 0x80) {
            bytes--;
        }
        text[bytes] = 0;
        columns = (int)ctl_text_columns(text);
    }
    fprintf(out, "%*s%s%*s  ", width > 0 ? width - columns : 0, "", text != NULL ? text : "?",
            width < 0 ? room - columns : 0, "");
    free(text);
}

static void top_gpus_write(FILE *out, json_t *gpus)
{
    json_t *gpu;
    size_t at;
    fprintf(out, "%3s  %-16s  %-8s  %-20s  %7s  %7s  %7s\n", "GPU", "MODEL", "STATE", "MEMORY",
            "COMPUTE", "COPY IN", "OUT");
    json_array_foreach(gpus, at, gpu)
    {
        cell_write(out, gpu, "gpu", FORM_COUNT, 3);
        cell_write(out, gpu, "model", FORM_TEXT, -16);
        cell_write(out, gpu, "state", FORM_TEXT, -8);
        cell_write(out, gpu, "memory_used_bytes|memory_total_bytes", FORM_BYTES_OF, -20);
        share_write(out, gpu, "compute_percent", 7);
        share_write(out, gpu, "copy_in_percent", 7);
        share_write(out, gpu, "copy_out_percent", 7);
        fputc('\n', out);
    }
}

static void top_tenants_write(FILE *out, json_t *tenants)
{
    json_t *tenant;
    size_t at;
    fprintf(out, "%-16s  %-9s  %-12s  %-22s  %s\n", "TENANT", "STATE", "SESSIONS", "GPU MEMORY",
            "GPU TIME (MONTH)");
    json_array_foreach(tenants, at, tenant)
    {
        cell_write(out, tenant, "name", FORM_TEXT, -16);
        cell_write(out, tenant, "state", FORM_TEXT, -9);
        cell_write(out, tenant, "used.sessions|limits.sessions", FORM_COUNT_OF, -12);
        cell_write(out, tenant, "used.gpu_mem_bytes|limits.gpu_mem_bytes", FORM_BYTES_OF, -22);
        cell_write(out, tenant, "used.gpu_time_month_ms|limits.gpu_time_month_ms", FORM_HOURS_OF,
                   -17);
        fputc('\n', out);
    }
}

/* By what `top` sorts; qsort has no argument for it. */
static enum top_order sorted_by;

static int session_compare(const void *one_at, const void *other_at)
{
    json_t *one = *(json_t *const *)one_at, *other = *(json_t *const *)other_at;
    static const char *const keys[] = {"busy_percent", "gpu_mem_bytes", "tenant", "age_ms"};
    const char *key = keys[sorted_by];
    json_int_t a = number_at(one, key), b = number_at(other, key);
    if (sorted_by == TOP_BY_TENANT) {
        int order = strcmp(json_string_value(json_object_get(one, key)),
                           json_string_value(json_object_get(other, key)));
        if (order != 0) {
            return order;
        }
    }
    return a != b ? (a < b) - (a > b)
                  : strcmp(json_string_value(json_object_get(one, "id")),
                           json_string_value(json_object_get(other, "id")));
}

static void sessions_write(const struct top *top, FILE *out, json_t *sessions)
{
    size_t count = json_array_size(sessions);
    json_t **sorted = calloc(count + 1, sizeof(json_t *));
    fprintf(out, "%-8s  %-10s  %-18s  %-4s  %-5s  %10s  %5s  %6s  %10s  %10s  %-10s  %s\n",
            "SESSION", "TENANT", "PROGRAM", "GPUS", "TURN", "MEMORY", "BUSY", "AGE", "IN/S",
            "OUT/S", "USER", "STATE");
    for (size_t i = 0; sorted != NULL && i < count; i++) {
        sorted[i] = json_array_get(sessions, i);
    }
    sorted_by = top->order;
    if (sorted != NULL) {
        qsort(sorted, count, sizeof *sorted, session_compare);
    }
    for (size_t i = 0; sorted != NULL && i < count; i++) {
        cell_write(out, sorted[i], "id", FORM_ID, -8);
        cell_write(out, sorted[i], "tenant", FORM_TEXT, -10);
        cell_write(out, sorted[i], "program", FORM_TEXT, -18);
        cell_write(out, sorted[i], "gpus", FORM_LIST, -4);
        cell_write(out, sorted[i], "turn", FORM_TEXT, -5);
        cell_write(out, sorted[i], "gpu_mem_bytes", FORM_BYTES, 10);
        share_write(out, sorted[i], "busy_percent", 5);
        cell_write(out, sorted[i], "age_ms", FORM_DURATION_MS, 6);
        cell_write(out, sorted[i], "in_bytes_per_second", FORM_BYTES, 10);
        cell_write(out, sorted[i], "out_bytes_per_second", FORM_BYTES, 10);
        cell_write(out, sorted[i], "user", FORM_TEXT, -10);
        cell_write(out, sorted[i], "state", FORM_TEXT, -6);
        fputc('\n', out);
    }
    free(sorted);
}

void ctl_top_write(const struct top *top, FILE *out)
{
    json_t *health = json_object_get(top->frame, "health");
    char now[32] = "";
    time_t seconds = time(NULL);
    struct tm here;
    if (localtime_r(&seconds, &here) != NULL) {
        (void)strftime(now, sizeof now, "%H:%M:%S", &here);
    }
    fprintf(out, "%s  ", now);
    cell_write(out, health, "node", FORM_TEXT, -24);
    cell_write(out, health, "state", FORM_TEXT, -9);
    fprintf(out, "%" JSON_INTEGER_FORMAT " sessions, %" JSON_INTEGER_FORMAT " GPUs, gpuaasd %s\n\n",
            number_at(health, "sessions"), number_at(health, "gpus"),
            json_string_value(json_object_get(health, "version")));
    top_gpus_write(out, json_object_get(top->frame, "gpus"));
    fputc('\n', out);
    top_tenants_write(out, json_object_get(top->frame, "tenants"));
    fputc('\n', out);
    sessions_write(top, out, json_object_get(top->frame, "sessions"));
}
