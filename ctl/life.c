/* SPDX-License-Identifier: Apache-2.0 */
/* Commands about the life of the node: drain, undrain, reload. */
#include <poll.h>
#include <string.h>

#include "base/clock.h"
#include "base/digits.h"
#include "ctl/value.h"
#include "ctl/verb.h"

#define LOOK_MS 200

/* "node", or "gpu N". */
static enum admin_code place_read(const struct ctl_line *line, json_t *arguments, char *name,
                                  size_t size)
{
    const char *what = line->words[0], *end;
    uint64_t number;
    bool gpu = strcmp(what, "gpu") == 0;
    if (!gpu && strcmp(what, "node") != 0) {
        return ctl_wrong(ADMIN_USAGE, "%s %s: it is node, or gpu NUMBER", line->command->words,
                         what);
    }
    if (gpu != (line->word_count == 2)) {
        return ctl_wrong(ADMIN_USAGE, gpu ? "which GPU? give its number, as `gpuaasctl gpus` "
                                            "shows it"
                                          : "node has no number: it is the one that is asked");
    }
    if (!gpu) {
        snprintf(name, size, "node");
        return ADMIN_OK;
    }
    if (!ga_digits_read(line->words[1], &end, &number) || *end != 0 || number > UINT32_MAX - 1) {
        return ctl_wrong(ADMIN_USAGE, "gpu %s: give its number, as `gpuaasctl gpus` shows it",
                         line->words[1]);
    }
    (void)json_object_set_new(arguments, "gpu", json_integer((json_int_t)number));
    snprintf(name, size, "gpu %u", (unsigned)number);
    return ADMIN_OK;
}

/* Sets `now` to the drains as they are now, which the caller owns. */
static enum admin_code drain_look(const struct ctl_line *line, json_t *gpu, json_t **now, char *why,
                                  size_t why_size)
{
    json_t *result;
    enum admin_code code =
        ctl_ask_quietly(line, gpu != NULL ? "gpus" : "health", NULL, &result, why, why_size);
    if (code != ADMIN_OK) {
        return code;
    }
    json_t *items = json_object_get(result, "items");
    *now = gpu == NULL ? json_incref(result)
                       : json_incref(json_array_get(items, (size_t)json_integer_value(gpu)));
    json_decref(result);
    return ADMIN_OK;
}

/* Whether the drain is at its end; `*code`: how it has ended. Tells how many are left, when that
 * has changed. */
static bool drain_is_over(const struct ctl_line *line, const char *name, const json_t *now,
                          json_int_t *left, enum admin_code *code)
{
    const char *state = json_string_value(json_object_get(now, "state"));
    json_int_t sessions = json_integer_value(json_object_get(now, "sessions"));
    if (state != NULL && strcmp(state, "drained") == 0) {
        ctl_note(line, "%s: drained", name);
        return true;
    }
    if (state == NULL || strcmp(state, "draining") != 0) {
        *code = ctl_wrong(ADMIN_ERROR, "%s: it does not drain any more", name);
        return true;
    }
    if (sessions != *left) {
        ctl_note(line, "%s: waiting for %d session%s", name, (int)sessions,
                 sessions == 1 ? "" : "s");
        *left = sessions;
    }
    return false;
}

/* Waits until nobody is left: up to --timeout, if it is given. Without it a gpuaasd that is silent
 * for a while is waited for, too. */
static enum admin_code drain_wait(const struct ctl_line *line, const char *name, json_t *gpu)
{
    uint64_t until_ns = ga_clock_ns() + line->timeout_s * GA_NS_PER_S;
    bool silent = false;
    json_int_t left = -1;
    for (;;) {
        json_t *now = NULL;
        char why[1000];
        enum admin_code code = drain_look(line, gpu, &now, why, sizeof why);
        bool timed = ctl_has(line, OPTION_TIMEOUT);
        if (code == ADMIN_TIMEOUT && !timed) {
            if (!silent) {
                ctl_note(line, "%s: %s; still waiting", name, why);
            }
            silent = true;
        } else if (code != ADMIN_OK) {
            return ctl_wrong(code, "%s", why);
        } else if (drain_is_over(line, name, now, &left, &code)) {
            json_decref(now);
            return code;
        }
        json_decref(now);
        if (timed && ga_clock_ns() > until_ns) {
            return ctl_wrong(ADMIN_TIMEOUT, "%s: sessions are left after %u s; it drains on", name,
                             line->timeout_s);
        }
        (void)poll(NULL, 0, LOOK_MS);
    }
}

enum admin_code ctl_drain(const struct ctl_line *line)
{
    char name[40];
    uint64_t seconds = 0;
    json_t *arguments = json_object();
    enum admin_code code = place_read(line, arguments, name, sizeof name);
    if (code == ADMIN_OK && !ctl_has(line, OPTION_REASON)) {
        code = ctl_wrong(ADMIN_USAGE, "drain needs --reason TEXT: programs are told");
    }
    if (code == ADMIN_OK) {
        code = ctl_option_duration(line, OPTION_DEADLINE, 1, CTL_DURATION_MAX, &seconds);
    }
    if (code != ADMIN_OK) {
        json_decref(arguments);
        return code;
    }
    if (seconds != 0) {
        (void)json_object_set_new(arguments, "deadline_s", json_integer((json_int_t)seconds));
    }
    ctl_verb_option(line, arguments, "reason", OPTION_REASON);
    json_t *gpu = json_incref(json_object_get(arguments, "gpu"));
    code = ctl_verb_change(line, "drain", arguments, "DrainChange", name);
    if (code == ADMIN_OK && ctl_has(line, OPTION_WAIT) && !ctl_has(line, OPTION_DRY_RUN)) {
        code = drain_wait(line, name, gpu);
    }
    json_decref(gpu);
    return code;
}

enum admin_code ctl_undrain(const struct ctl_line *line)
{
    char name[40];
    json_t *arguments = json_object();
    enum admin_code code = place_read(line, arguments, name, sizeof name);
    if (code != ADMIN_OK) {
        json_decref(arguments);
        return code;
    }
    return ctl_verb_change(line, "undrain", arguments, "DrainChange", name);
}

enum admin_code ctl_reload(const struct ctl_line *line)
{
    json_t *result;
    enum admin_code code = ctl_ask(line, "reload", NULL, &result);
    if (code != ADMIN_OK) {
        return code;
    }
    const char *keys = json_string_value(json_object_get(result, "restart_needed"));
    if (ctl_has(line, OPTION_JSON)) {
        code = ctl_print_json("Reload", result);
    } else {
        bool dry = ctl_has(line, OPTION_DRY_RUN);
        ctl_note(line, "the configuration %s read%s%s%s", dry ? "would be" : "is",
                 keys != NULL ? "; a restart is needed for: " : "", keys != NULL ? keys : "",
                 dry ? " (dry run: nothing is done)" : "");
    }
    json_decref(result);
    return code;
}
