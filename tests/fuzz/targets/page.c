/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a page of a list, as gpuaasctl reads and prints them: what jansson takes for objects
 * is taken, with the same values, and what is printed of it is the same JSON in ASCII. Nothing is
 * read beyond its end. */
#include <stdlib.h>
#include <string.h>

#include "ctl/indent.h"
#include "ctl/page.h"
#include "tests/fuzz/input.h"

static const char *const keys[] = {"a", "b", "c.d", "c.e.f", "name"};
#define KEYS (sizeof keys / sizeof *keys)

static char *copy_of(const uint8_t *data, size_t size, struct ctl_page *page)
{
    char *text = malloc(size + 2);
    FUZZ_CHECK(text != NULL);
    memcpy(text, data, size);
    memcpy(text + size, "]", 2); /* as in a page */
    *page = (struct ctl_page){.at = text, .end = text + size};
    return text;
}

/* Compact, as gpuaasd writes it: so that both take the same texts. */
static json_t *rows_of(const uint8_t *data, size_t size)
{
    struct ctl_page page;
    char *text = copy_of(data, size, &page), *list = malloc(size + 3);
    FUZZ_CHECK(list != NULL);
    list[0] = '[';
    memcpy(list + 1, text, size + 2);
    json_t *rows = json_loadb(list, size + 2, JSON_REJECT_DUPLICATES, NULL);
    char *compact = rows != NULL ? json_dumps(rows, JSON_COMPACT) : NULL;
    bool same = compact != NULL && strlen(compact) == size + 2 && memcmp(compact, list, size) == 0;
    for (size_t i = 0; same && i < json_array_size(rows); i++) {
        same = json_is_object(json_array_get(rows, i));
    }
    free(compact);
    free(list);
    free(text);
    if (!same) {
        json_decref(rows);
        return NULL;
    }
    return rows;
}

static json_t *member(json_t *row, const char *key)
{
    size_t length = strcspn(key, ".");
    json_t *value = json_object_getn(row, key, length);
    return value != NULL && key[length] == '.' ? member(value, key + length + 1) : value;
}

static void same(const struct ctl_value *found, json_t *wanted)
{
    const char *text = found->kind == CTL_TEXT   ? found->text
                       : found->kind == CTL_TREE ? json_string_value(found->tree)
                                                 : NULL;
    if (json_is_integer(wanted)) {
        FUZZ_CHECK(found->kind == CTL_NUMBER && found->number == json_integer_value(wanted));
    } else if (json_is_string(wanted)) {
        FUZZ_CHECK(text != NULL && strncmp(text, json_string_value(wanted), strlen(text)) == 0);
    } else if (wanted == NULL || json_is_null(wanted)) {
        FUZZ_CHECK(found->kind == CTL_NOTHING);
    } else {
        FUZZ_CHECK(found->kind == CTL_TREE && json_equal(found->tree, wanted));
    }
}

/* Names with dots are taken for parts, and gpuaasd has none. */
static bool dotted(json_t *object)
{
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        if (strchr(key, '.') != NULL || dotted(value)) {
            return true;
        }
    }
    return false;
}

static void rows_check(const uint8_t *data, size_t size, json_t *rows)
{
    struct ctl_value values[KEYS];
    struct ctl_seen seen[CTL_SEEN_MAX] = {0};
    const struct ctl_members members = {keys, KEYS, values, seen};
    struct ctl_page page;
    char *text = copy_of(data, size, &page);
    size_t count = 0;
    while (ctl_page_row(&page, &members)) {
        for (size_t i = 0; rows != NULL && i < KEYS; i++) {
            json_t *row = json_array_get(rows, count);
            if (!dotted(row)) {
                same(&values[i], member(row, keys[i]));
            }
        }
        ctl_members_free(&members);
        count++;
    }
    if (rows != NULL && ctl_page_ended(&page)) {
        FUZZ_CHECK(count == json_array_size(rows));
    }
    free(text);
}

static void print_check(const uint8_t *data, size_t size, json_t *rows)
{
    struct ctl_page page;
    char *text = copy_of(data, size, &page), *printed = NULL;
    size_t printed_size = 0;
    struct ctl_indent indent = {.out = open_memstream(&printed, &printed_size)};
    FUZZ_CHECK(indent.out != NULL);
    ctl_indent_begin(&indent, "List");
    bool fine = ctl_indent_rows(&indent, &page);
    ctl_indent_end(&indent);
    FUZZ_CHECK(fclose(indent.out) == 0);
    for (size_t i = 0; i < printed_size; i++) {
        FUZZ_CHECK(printed[i] == '\n' || (printed[i] >= ' ' && printed[i] <= 0x7f));
    }
    if (rows != NULL && fine) {
        json_t *object = json_loadb(printed, printed_size, 0, NULL);
        FUZZ_CHECK(json_equal(json_object_get(object, "items"), rows));
        char *wanted = json_dumps(object, JSON_INDENT(2) | JSON_ENSURE_ASCII);
        FUZZ_CHECK(wanted != NULL && strlen(wanted) + 1 == printed_size &&
                   memcmp(wanted, printed, printed_size - 1) == 0);
        free(wanted);
        json_decref(object);
    }
    FUZZ_CHECK(fine || rows == NULL);
    free(printed);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *rows = rows_of(data, size);
    rows_check(data, size, rows);
    print_check(data, size, rows);
    json_decref(rows);
    return 0;
}
