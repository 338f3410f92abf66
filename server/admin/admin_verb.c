/* SPDX-License-Identifier: Apache-2.0 */
/* The table of verbs, and the way from a line to its reply. */
#include "server/admin/admin_verb.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "server/access/audit.h"
#include "server/admin/admin_list.h"
#include "server/admin/admin_memory.h"
#include "server/gpuaasd/gpuaasd.h"

#define TEXT(name)                                                                                 \
    {                                                                                              \
        name, ADMIN_TEXT, true                                                                     \
    }
#define TEXT_OPTIONAL(name)                                                                        \
    {                                                                                              \
        name, ADMIN_TEXT, false                                                                    \
    }
#define NUMBER(name)                                                                               \
    {                                                                                              \
        name, ADMIN_NUMBER, true                                                                   \
    }
#define GENERATION                                                                                 \
    {                                                                                              \
        "generation", ADMIN_NUMBER, false                                                          \
    }
#define AFTER                                                                                      \
    {                                                                                              \
        "after", ADMIN_TEXT, false                                                                 \
    }

const struct admin_verb admin_verbs[] = {
#define VERB(name, changes, run, arguments, result, ...)                                           \
    {name, changes, false, false, run, {__VA_ARGS__}},
#define READ(name, run, arguments, result, ...) {name, false, true, false, run, {__VA_ARGS__}},
#define LIST(name, run, arguments, result, ...) {name, false, true, true, run, {__VA_ARGS__}},
#include "server/admin/admin_verbs.def"
#undef VERB
#undef READ
#undef LIST
};
const size_t admin_verb_count = sizeof admin_verbs / sizeof *admin_verbs;

/* ---- for the functions of verbs */

enum admin_code admin_fail(struct admin_call *call, enum admin_code code, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vsnprintf(call->why, sizeof call->why, format, values);
    va_end(values);
    return code;
}

const char *admin_text(const struct admin_call *call, const char *name)
{
    return json_string_value(json_object_get(call->arguments, name));
}

uint64_t admin_number(const struct admin_call *call, const char *name, uint64_t standard)
{
    json_t *value = json_object_get(call->arguments, name);
    return value != NULL ? (uint64_t)json_integer_value(value) : standard;
}

bool admin_flag(const struct admin_call *call, const char *name)
{
    return json_is_true(json_object_get(call->arguments, name));
}

json_t *admin_texts(const struct admin_call *call, const char *name)
{
    return json_object_get(call->arguments, name);
}

enum ga_status admin_text_check(const json_t *texts, size_t at, char *why, size_t why_size)
{
    const char *text = json_string_value(json_array_get(texts, at)), *per = strchr(text, '/');
    size_t length = strcspn(text, "=");
    for (size_t i = 0; i < at; i++) {
        const char *before = json_string_value(json_array_get(texts, i));
        const char *before_per = strchr(before, '/');
        bool one_time = per == NULL || before_per == NULL || strcmp(per, before_per) == 0;
        if (one_time && strcspn(before, "=") == length && strncmp(before, text, length) == 0) {
            snprintf(why, why_size, "%.*s: given twice", (int)(length < 40 ? length : 40), text);
            return GA_INVALID;
        }
    }
    return GA_OK;
}

void admin_set(json_t *object, const char *name, json_t *value)
{
    /* An allocation failure shows as a missing member, which admin_answer detects. */
    (void)json_object_set_new(object, name, value);
}

json_t *admin_text_value(const char *text)
{
    json_t *value = json_string(text);
    if (value == NULL) { /* it is not UTF-8: programs name themselves */
        char *plain = strdup(text);
        for (char *at = plain; at != NULL && *at != 0; at++) {
            *at = (signed char)*at < 0 ? '?' : *at;
        }
        value = json_string(plain != NULL ? plain : "?");
        free(plain);
    }
    return value;
}

void admin_set_text(json_t *object, const char *name, const char *text)
{
    admin_set(object, name, text != NULL ? admin_text_value(text) : json_null());
}

void admin_set_number(json_t *object, const char *name, uint64_t number)
{
    admin_set(object, name, number > INT64_MAX ? json_null() : json_integer((json_int_t)number));
}

void admin_set_flag(json_t *object, const char *name, bool flag)
{
    admin_set(object, name, json_boolean(flag));
}

/* ---- arguments */

static bool texts_only(const json_t *value)
{
    bool only = json_is_array(value);
    for (size_t i = 0; i < json_array_size(value); i++) {
        only = only && json_is_string(json_array_get(value, i));
    }
    return only;
}

static bool verb_type_is(const json_t *value, enum admin_type type)
{
    switch (type) {
    case ADMIN_TEXT:
        return json_is_string(value) &&
               strlen(json_string_value(value)) == json_string_length(value);
    case ADMIN_NUMBER:
        return json_is_integer(value) && json_integer_value(value) >= 0;
    case ADMIN_FLAG:
        return json_is_boolean(value);
    default:
        return texts_only(value);
    }
}

static const struct admin_argument *argument_of(const struct admin_verb *verb, const char *name)
{
    for (const struct admin_argument *at = verb->arguments; at->name != NULL; at++) {
        if (strcmp(at->name, name) == 0) {
            return at;
        }
    }
    return NULL;
}

static enum admin_code arguments_check(const struct admin_verb *verb, struct admin_call *call)
{
    static const char *const types[] = {"a text", "a number that is not negative", "true or false",
                                        "an array of texts"};
    const char *name;
    json_t *value;
    json_object_foreach(call->arguments, name, value)
    {
        const struct admin_argument *argument = argument_of(verb, name);
        if (argument == NULL) {
            return admin_fail(call, ADMIN_USAGE, "%s has no argument %.64s", verb->name, name);
        }
        if (!verb_type_is(value, argument->type)) {
            return admin_fail(call, ADMIN_USAGE, "%s: %s must be %s", verb->name, argument->name,
                              types[argument->type]);
        }
    }
    for (const struct admin_argument *at = verb->arguments; at->name != NULL; at++) {
        if (at->needed && json_object_get(call->arguments, at->name) == NULL) {
            return admin_fail(call, ADMIN_USAGE, "%s needs the argument %s", verb->name, at->name);
        }
    }
    if (call->dry_run && !verb->changes) {
        return admin_fail(call, ADMIN_USAGE, "%s changes nothing: there is no dryRun of it",
                          verb->name);
    }
    return ADMIN_OK;
}

/* ---- replies */

static const char *code_word(enum admin_code code)
{
    switch (code) {
#define ADMIN_CODE(name, value, word, text)                                                        \
    case ADMIN_##name:                                                                             \
        return word;
        ADMIN_CODES(ADMIN_CODE)
#undef ADMIN_CODE
    }
    return "error";
}

/* Puts a member into the result, which has others already and ends the text. Takes the text. */
static char *items_put(char *text, const char *items)
{
    static const char name[] = ",\"items\":";
    size_t before = text != NULL ? strlen(text) - 2 : 0, size = strlen(items);
    char *whole = text != NULL ? malloc(before + sizeof name + size + 2) : NULL;
    if (whole != NULL) {
        char *at = mempcpy(mempcpy(whole, text, before), name, sizeof name - 1);
        memcpy(mempcpy(at, items, size), "}}", 3);
    }
    admin_memory_free(text);
    return whole;
}

/* Takes `result`, which may be NULL. `items`: struct admin_call. */
static char *reply(json_t *id, enum admin_code code, const char *message, json_t *result,
                   const char *items)
{
    json_t *document = json_object();
    admin_set_number(document, "apiVersion", ADMIN_VERSION);
    admin_set(document, "id", id != NULL ? json_incref(id) : json_null());
    admin_set_flag(document, "ok", code == ADMIN_OK);
    if (code == ADMIN_OK) {
        admin_set(document, "result", result);
    } else {
        json_t *error = json_object();
        admin_set_text(error, "code", code_word(code));
        admin_set_text(error, "message", message);
        admin_set(document, "error", error);
        json_decref(result);
    }
    char *text = json_dumps(document, JSON_COMPACT);
    json_decref(document);
    return code == ADMIN_OK && items != NULL ? items_put(text, items) : text;
}

char *admin_answer_wrong(json_t *id, enum admin_code code, const char *message)
{
    return reply(id, code, message, NULL, NULL);
}

static const struct admin_verb *verb_find(const char *name, struct admin_call *call)
{
    struct ga_nearest nearest = ga_nearest_to(name, strlen(name));
    for (size_t i = 0; i < admin_verb_count; i++) {
        if (strcmp(admin_verbs[i].name, name) == 0) {
            return &admin_verbs[i];
        }
        ga_nearest_offer(&nearest, admin_verbs[i].name);
    }
    (void)admin_fail(call, ADMIN_USAGE, "the verb %.64s is not in this version%s%s%s", name,
                     nearest.word != NULL ? ", did you mean " : "",
                     nearest.word != NULL ? nearest.word : "", nearest.word != NULL ? "?" : "");
    return NULL;
}

/* The members that `other` has otherwise, and not those that neither has: a line of the log has no
 * room for all. */
static json_t *differing(json_t *object, json_t *other)
{
    json_t *part = json_object(), *value;
    const char *name;
    json_object_foreach(object, name, value)
    {
        json_t *there = json_object_get(other, name);
        if (json_is_object(value)) {
            value = differing(value, there);
            if (json_object_size(value) != 0) {
                (void)json_object_set(part, name, value);
            }
            json_decref(value);
        } else if (there != NULL ? !json_equal(value, there) : !json_is_null(value)) {
            (void)json_object_set(part, name, value);
        }
    }
    return part;
}

/* The difference between the member `name` of the result and `other`, as text; NULL: it is not
 * there. To be freed. */
static char *verb_text_of(const struct admin_call *call, const char *name, const char *other)
{
    json_t *value = json_object_get(call->result, name);
    if (!json_is_object(value)) {
        return NULL;
    }
    json_t *part = differing(value, json_object_get(call->result, other));
    char *text = json_dumps(part, JSON_COMPACT);
    json_decref(part);
    return text;
}

/* Requests of admins go to the audit log, also refused ones; none of these texts has secrets. */
static void admin_note(const struct admin_verb *verb, const struct admin_call *call,
                       enum admin_code code)
{
    if (!verb->changes || call->dry_run) {
        return;
    }
    char *arguments = json_dumps(call->arguments, JSON_COMPACT);
    char *before = verb_text_of(call, "before", "after");
    char *after = verb_text_of(call, "after", "before");
    audit_changed(&call->gpuaasd->access.audit,
                  &(struct audit_change){
                      .who = call->peer->name,
                      .credential = admin_is_remote(call->peer) ? call->peer->credential : NULL,
                      .address = admin_is_remote(call->peer) ? call->peer->address : NULL,
                      .pid = call->peer->pid,
                      .verb = verb->name,
                      .arguments = arguments,
                      .before = before,
                      .after = after,
                      .error = code != ADMIN_OK ? call->why : NULL});
    free(arguments);
    free(before);
    free(after);
}

static const struct admin_verb *verb_of(const struct admin_request *request)
{
    for (size_t i = 0; i < admin_verb_count; i++) {
        if (strcmp(admin_verbs[i].name, request->verb) == 0) {
            return &admin_verbs[i];
        }
    }
    return NULL;
}

enum admin_way admin_answer_way(struct gpuaasd *gpuaasd, const char *line, size_t size, bool keep,
                                struct admin_list **list)
{
    struct admin_request request;
    char why[ADMIN_WHY_MAX];
    bool read = admin_request_read(line, size, &request, why, sizeof why) == GA_OK;
    const struct admin_verb *verb = read ? verb_of(&request) : NULL;
    if (*list != NULL && !admin_list_goes_on(*list, verb, request.arguments)) {
        admin_list_free(*list);
        *list = NULL;
    }
    if (verb != NULL && verb->lists && *list == NULL) {
        *list = admin_list_make(gpuaasd, verb, request.arguments);
        if (*list != NULL) {
            (*list)->kept = keep;
        }
    }
    bool changes = verb != NULL && verb->changes && !request.dry_run;
    admin_request_fini(&request);
    return changes ? ADMIN_CHANGES : verb != NULL && verb->reads ? ADMIN_READS : ADMIN_AT_ONCE;
}

char *admin_answer_unsure(const char *line, size_t size, const char *why)
{
    struct admin_request request;
    char text[ADMIN_WHY_MAX + 100], wrong[ADMIN_WHY_MAX];
    enum ga_status status = admin_request_read(line, size, &request, wrong, sizeof wrong);
    (void)status; /* it was read before */
    snprintf(text, sizeof text, "it is done, but may be gone after a crash: %s", why);
    char *answer = reply(request.id, ADMIN_ERROR, text, NULL, NULL);
    admin_request_fini(&request);
    return answer;
}

/* The verb runs, and what it has done is noted. */
static enum admin_code answer_run(struct admin_call *call, const struct admin_verb *verb)
{
    if (call->result == NULL || (verb->lists && call->list == NULL)) {
        return admin_fail(call, ADMIN_ERROR, "gpuaasd has no memory");
    }
    enum admin_code code = verb->run(call);
    admin_note(verb, call, code);
    return code;
}

char *admin_answer(struct gpuaasd *gpuaasd, const struct admin_peer *peer, const char *line,
                   size_t size, struct admin_list **list)
{
    struct admin_list *own = NULL, **of = list != NULL ? list : &own;
    struct admin_call call = {.gpuaasd = gpuaasd, .peer = peer};
    struct admin_request request;
    enum admin_code code = ADMIN_USAGE;
    if (admin_request_read(line, size, &request, call.why, sizeof call.why) == GA_OK) {
        const struct admin_verb *verb = verb_find(request.verb, &call);
        call.arguments = request.arguments;
        call.dry_run = request.dry_run;
        call.result = json_object();
        code = verb != NULL ? arguments_check(verb, &call) : ADMIN_USAGE;
        if (code == ADMIN_OK && verb->lists && *of == NULL) {
            *of = admin_list_make(gpuaasd, verb, request.arguments);
        }
        call.list = *of;
        code = code == ADMIN_OK ? answer_run(&call, verb) : code;
    }
    store_close(call.reader);
    if (*of != NULL && (*of == own || !(*of)->kept || code != ADMIN_OK || (*of)->rows == NULL)) {
        admin_list_free(*of);
        *of = NULL;
    }
    char *text = reply(request.id, code, call.why, call.result, call.items);
    free(call.items);
    if (text != NULL && strlen(text) >= ADMIN_REPLY_MAX) {
        admin_memory_free(text);
        text = reply(request.id, ADMIN_ERROR, "the reply would be too long", NULL, NULL);
    }
    admin_request_fini(&request);
    return text;
}
