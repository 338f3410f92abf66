/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/verb.h"

#include "base/digits.h"
#include "ctl/rows.h"

static bool verb_page(void *user, struct ctl_page *page)
{
    return ctl_rows_page(user, page);
}

enum admin_code ctl_verb_list(const struct ctl_line *line, const char *verb, json_t *arguments,
                              const char *kind, const struct ctl_column *columns, size_t count)
{
    struct ctl_rows *rows = ctl_rows_begin(line, kind, columns, count);
    if (rows == NULL) {
        json_decref(arguments);
        return ctl_rows_end(NULL, false);
    }
    enum admin_code code = ctl_page_each(line, verb, arguments, verb_page, rows);
    enum admin_code printed = ctl_rows_end(rows, code == ADMIN_OK);
    return code == ADMIN_OK ? printed : code;
}

enum admin_code ctl_verb_show(const struct ctl_line *line, const char *verb, json_t *arguments,
                              const char *kind, const struct ctl_column *columns, size_t count)
{
    json_t *result;
    enum admin_code code = ctl_ask(line, verb, arguments, &result);
    if (code == ADMIN_OK) {
        code = ctl_print_object(line, kind, columns, count, json_object_get(result, "item"));
        json_decref(result);
    }
    return code;
}

enum admin_code ctl_verb_change(const struct ctl_line *line, const char *verb, json_t *arguments,
                                const char *kind, const char *name)
{
    json_t *result;
    enum admin_code code = ctl_ask(line, verb, arguments, &result);
    if (code == ADMIN_OK) {
        code = ctl_print_change(line, kind, name, result);
        json_decref(result);
    }
    return code;
}

enum admin_code ctl_verb_change_checked(const struct ctl_line *line, const char *verb,
                                        json_t *arguments, const char *kind, const char *name)
{
    enum admin_code code = ctl_verb_number(line, arguments, "generation", OPTION_IF_GENERATION);
    if (code != ADMIN_OK) {
        json_decref(arguments);
        return code;
    }
    return ctl_verb_change(line, verb, arguments, kind, name);
}

void ctl_verb_option(const struct ctl_line *line, json_t *arguments, const char *name,
                     enum ctl_option option)
{
    if (ctl_has(line, option)) {
        (void)json_object_set_new(arguments, name, json_string(line->options[option]));
    }
}

enum admin_code ctl_verb_number(const struct ctl_line *line, json_t *arguments, const char *name,
                                enum ctl_option option)
{
    const char *end, *text = line->options[option];
    uint64_t number;
    if (text == NULL) {
        return ADMIN_OK;
    }
    if (!ga_digits_read(text, &end, &number) || *end != 0 || number > INT64_MAX) {
        return ctl_wrong(ADMIN_USAGE, "--%s %s: give a number, 0 or more", ctl_options[option].word,
                         text);
    }
    (void)json_object_set_new(arguments, name, json_integer((json_int_t)number));
    return ADMIN_OK;
}

json_t *ctl_verb_words(const struct ctl_line *line, unsigned first)
{
    json_t *words = json_array();
    for (unsigned i = first; i < line->word_count; i++) {
        (void)json_array_append_new(words, json_string(line->words[i]));
    }
    return words;
}
