/* SPDX-License-Identifier: Apache-2.0 */
/* Requests and replies (docs/admin-protocol.md). */
#include <stdlib.h>
#include <string.h>

#include "ctl/ctl.h"
#include "ctl/link.h"

static json_int_t last_id;

static enum admin_code ask_code_of(const char *word)
{
    static const struct {
        const char *word;
        enum admin_code code;
    } codes[] = {
#define ADMIN_CODE(name_, value_, word_, text_) {word_, ADMIN_##name_},
        ADMIN_CODES(ADMIN_CODE)
#undef ADMIN_CODE
    };
    for (size_t i = 1; word != NULL && i < sizeof codes / sizeof *codes; i++) {
        if (codes[i].word[0] != 0 && strcmp(codes[i].word, word) == 0) {
            return codes[i].code;
        }
    }
    return ADMIN_ERROR;
}

/* Takes the reply. */
static enum admin_code reply_read(json_t *reply, json_t **result, char *why, size_t why_size)
{
    json_t *error = json_object_get(reply, "error");
    json_t *found = json_object_get(reply, "result");
    enum admin_code code = ADMIN_ERROR;
    if (json_is_true(json_object_get(reply, "ok")) && json_is_object(found)) {
        *result = json_incref(found);
        code = ADMIN_OK;
    } else {
        const char *message = json_string_value(json_object_get(error, "message"));
        snprintf(why, why_size, "%s",
                 message != NULL ? message
                                 : "the answer of gpuaasd makes no sense: is it another "
                                   "program?");
        code = ask_code_of(json_string_value(json_object_get(error, "code")));
    }
    json_decref(reply);
    return code;
}

static char *request_text(const struct ctl_line *line, const char *verb, json_t *arguments)
{
    json_t *request =
        json_pack("{s:i, s:I, s:s, s:o}", "apiVersion", ADMIN_VERSION, "id", ++last_id, "verb",
                  verb, "arguments", arguments != NULL ? arguments : json_object());
    if (ctl_has(line, OPTION_DRY_RUN)) {
        (void)json_object_set_new(request, "dryRun", json_true());
    }
    char *text = json_dumps(request, JSON_COMPACT);
    json_decref(request);
    return text;
}

enum admin_code ctl_ask_send(const struct ctl_line *line, const char *verb, json_t *arguments,
                             char *why, size_t why_size)
{
    char *text = request_text(line, verb, arguments);
    if (text == NULL || strlen(text) >= ADMIN_REQUEST_MAX) {
        snprintf(why, why_size,
                 text == NULL ? "no memory, or an argument is no UTF-8"
                              : "the arguments are too long for one request");
        free(text);
        return text == NULL ? ADMIN_ERROR : ADMIN_USAGE;
    }
    size_t size = strlen(text);
    enum admin_code code = ctl_link_begin(line, why, why_size);
    if (code == ADMIN_OK) {
        text[size] = '\n'; /* in the place of its end */
        code = ctl_link_send(text, size + 1, why, why_size);
    }
    free(text);
    if (code != ADMIN_OK) {
        ctl_link_end();
    }
    return code;
}

enum admin_code ctl_ask_wrong(const char *text, size_t size, char *why, size_t why_size)
{
    json_t *result = NULL;
    enum admin_code code = reply_read(json_loadb(text, size, 0, NULL), &result, why, why_size);
    json_decref(result);
    return code;
}

enum admin_code ctl_ask_quietly(const struct ctl_line *line, const char *verb, json_t *arguments,
                                json_t **result, char *why, size_t why_size)
{
    char *answer;
    size_t size;
    enum admin_code code = ctl_ask_send(line, verb, arguments, why, why_size);
    if (code != ADMIN_OK) {
        return code;
    }
    code = ctl_link_receive_line(&answer, &size, why, why_size);
    if (code != ADMIN_OK) {
        ctl_link_end();
        return code;
    }
    return reply_read(json_loadb(answer, size, 0, NULL), result, why, why_size);
}

enum admin_code ctl_ask(const struct ctl_line *line, const char *verb, json_t *arguments,
                        json_t **result)
{
    char why[1000];
    enum admin_code code = ctl_ask_quietly(line, verb, arguments, result, why, sizeof why);
    return code == ADMIN_OK ? ADMIN_OK : ctl_wrong(code, "%s", why);
}

enum admin_code ctl_ask_list(const struct ctl_line *line, const char *verb, json_t *arguments,
                             json_t **items)
{
    json_t *all = json_array(), *next = NULL;
    enum admin_code code;
    do {
        json_t *page = NULL, *these = json_deep_copy(arguments);
        if (next != NULL) {
            these = these != NULL ? these : json_object();
            (void)json_object_set_new(these, "after", next);
        }
        next = NULL;
        code = ctl_ask(line, verb, these, &page);
        if (code == ADMIN_OK) {
            (void)json_array_extend(all, json_object_get(page, "items"));
            next = json_object_get(page, "next");
            next = json_is_string(next) ? json_incref(next) : NULL;
        }
        json_decref(page);
    } while (code == ADMIN_OK && next != NULL);
    json_decref(arguments);
    if (code != ADMIN_OK) {
        json_decref(all);
        return code;
    }
    *items = all;
    return ADMIN_OK;
}
